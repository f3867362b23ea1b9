"""Numbers behind the figures."""

from __future__ import annotations

import numpy as np
import pytest

from hpo_envs.benchmarks.papers.nmthpo import figures
from hpo_envs.tables import store
from hpo_envs.tables.datasets.nmthpo.names import PAIRS


def test_correlations_of_figure_4() -> None:
    tables = {pair: store.load(f"nmthpo/{pair}") for pair in PAIRS}
    pairs = list(PAIRS)
    rho = figures.correlations(tables)
    assert len(figures.common_configurations(tables)["zhen"]) == 28
    assert rho[pairs.index("jaen"), pairs.index("soen")] == pytest.approx(0.084, abs=5e-4)
    assert rho[pairs.index("jaen"), pairs.index("enja")] == pytest.approx(0.964, abs=5e-4)


def test_course_of_the_surrogate_error() -> None:
    table = store.load("nmthpo/jaen")
    best, errors = figures.course(table, "jaen", "BO_EI_M", [0, 1], 25)
    assert best.shape == errors.shape == (2, 25)
    assert (np.diff(best, axis=1) >= 0).all()
    assert (errors[:, -1] < errors[:, 0]).all()

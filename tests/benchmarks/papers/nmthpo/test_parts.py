"""Settings, tables and figures of the paper."""

from __future__ import annotations

import numpy as np
import pytest

from hpo_envs.benchmarks.papers.nmthpo import figures, settings, tables
from hpo_envs.tables import store
from hpo_envs.tables.datasets.nmthpo.names import PAIRS


def test_fixed_target_of_the_tied_rows() -> None:
    table = store.load("nmthpo/zhen")
    bleu = table.final("bleu")
    row = settings.target_row(table, "zhen")
    assert (bleu == bleu.max()).sum() == 3
    assert bleu[row] == bleu.max() == 14.66
    assert table.configs[row].tolist() == list(settings.ZHEN_TARGET)


@pytest.mark.parametrize("pair", PAIRS)
def test_every_printed_value_is_that_of_the_table(pair: str) -> None:
    assert [r["verdict"] for r in tables.compare(pair, store.load(f"nmthpo/{pair}"))] == ["agrees"] * 4


def test_another_table_differs() -> None:
    found = tables.compare("soen", store.load("nmthpo/swen"))
    assert {r["verdict"] for r in found} == {"differs"}


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

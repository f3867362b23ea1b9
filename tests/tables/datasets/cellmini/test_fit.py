from __future__ import annotations

import numpy as np
import pytest

from hpo_envs.tables.datasets.cellmini import cost, fit
from hpo_envs.tables.datasets.cellmini.drawn import drawn


def test_the_coefficients_are_those_of_the_trainings_that_ship():
    found, errors = fit.fit()
    assert cost.COEFFICIENTS == pytest.approx([float(f"{c:.3g}") for c in found])
    assert np.median(np.abs(errors)) < 0.15
    assert cost.mean() == pytest.approx(np.mean([cost.epoch(cell) for cell in drawn()]))

"""The comparison under constraints: published optima are feasible, runs repeat, and the table is of stored runs."""

import math

import pandas as pd
import pytest

from hpo_envs.benchmarks.live import constrained

OPTIMA = {
    "gramacy": ({"x": 0.1954, "y": 0.4044}, -0.5998),
    "vessel": ({"shell": 13, "head": 7, "radius": 42.0984, "length": 176.6366}, -3.7825),
}
"""Published best designs: Gramacy et al. 2016, and Mezura-Montes and Coello (2005)."""


@pytest.mark.parametrize("name", OPTIMA)
def test_published_optimum_is_feasible_with_active_constraint(name: str) -> None:
    config, best = OPTIMA[name]
    score, *violations = constrained.CONSTRAINED[name][1](config)
    assert (score, max(violations)) == (pytest.approx(best, abs=1e-3), pytest.approx(0.0, abs=1e-3))


def test_run_is_repeated_and_keeps_to_constraints() -> None:
    best = constrained.play("gramacy", "box-bo", 5)
    assert best == constrained.play("gramacy", "box-bo", 5)
    assert -0.7 < best <= -0.5997
    assert math.isnan(constrained.play("vessel", "random", 5)) or constrained.play("vessel", "random", 5) < -3.78


def test_table_is_of_stored_runs() -> None:
    runs, found = pd.read_csv(constrained.CONSTRAINED_RESULTS), constrained.table()
    assert {*found.index} == {*runs.optimiser}
    assert {*constrained.CONSTRAINED} < {*found.columns}
    assert found.loc["box-bo", "minus"] == 0.0
    assert found.loc["box-bo", "mean"] < found.loc["random", "mean"]

"""Parameters of environments that build cells: spaces, scores and the rules for arguments."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from hpo_envs.engines.cells.params import CellParams
from hpo_envs.engines.cells.simulated import Simulated
from hpo_envs.tables import store
from hpo_envs.tables.cells.grammar import SIZES


def params(**kwargs: Any) -> CellParams:
    table = store.load("nasbenchnlp/wikitext2")
    return CellParams.of(table, Simulated(table), **{"objective": "validation_loss", "budget": 2, **kwargs})


def test_spaces_follow_from_the_bounds_of_the_metrics() -> None:
    p = params(objective=("validation_loss", "parameters"), budget=None)
    assert (p.kind, p.vector, p.cost_unit, p.budget) == ("graph", True, "evaluations", float(len(p.table)))
    assert p.action_space.nvec.tolist() == [*SIZES]
    assert p.observation_space.shape == (247,)
    assert np.array_equal(p.observation_space.low[241:245], np.float32([*p.low, *p.low]))
    assert np.array_equal(p.observation_space.high[241:245], np.float32([*p.high, *p.high]))


def test_an_invalid_cell_has_the_worst_of_everything() -> None:
    p = params()
    report = p.invalid()
    assert (report["status"], report["source"], report["metrics"]["validation_loss"]) == ("failed", "none", 50.0)
    assert p.reward(report) == [-50.0]
    assert set(p.unfinished()) == set(report)


@pytest.mark.parametrize(
    ("kwargs", "message"),
    [
        ({"objective": "test_loss"}, "objective must be one of .*, got 'test_loss'"),
        ({"objective": ()}, "objective must name at least one metric"),
        ({"budget": 0}, "budget must be"),
    ],
)
def test_bad_arguments(kwargs: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        params(**kwargs)

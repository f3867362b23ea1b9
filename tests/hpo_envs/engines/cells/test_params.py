"""Parameters of environments that build cells: spaces, scores and the rules for arguments."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from hpo_envs.engines.cells.params import CellParams
from hpo_envs.engines.cells.simulated import Simulated
from hpo_envs.tables import cells, store
from hpo_envs.tables.cells.grammar import SIZES
from hpo_envs.tables.datasets.nasbenchnlp import model


def params(**kwargs: Any) -> CellParams:
    table = store.load("nasbenchnlp/wikitext2", "surrogate")
    return CellParams.of(table, Simulated(table), **{"objective": "validation_loss", "budget": 2, **kwargs})


def test_spaces_follow_from_the_bounds_of_the_metrics() -> None:
    p = params(objective=("validation_loss", "parameters"), budget=None)
    assert (p.kind, p.vector, p.cost_unit, p.budget) == ("graph", True, "evaluations", float(len(p.table)))
    assert p.action_space.nvec.tolist() == [*SIZES]
    assert p.observation_space.shape == (247,)
    assert np.array_equal(p.observation_space.low[241:245], np.float32([*p.low, *p.low]))
    assert np.array_equal(p.observation_space.high[241:245], np.float32([*p.high, *p.high]))


def test_a_known_cell_is_looked_up_and_another_simulated() -> None:
    p = params()
    name = next(iter(p.scorer.runs))
    row, repeat = p.scorer.runs[name][0]
    known = p.score(cells.Cell.from_text(name), name, 0)
    assert known["metrics"]["seconds"] == np.nanmax(p.table.cost[row, repeat])
    cell = cells.EXAMPLES["LSTM"]
    p.scorer.runs.pop(cells.key(cell), None)
    bits = [(s << 61) + 1 for s in range(8)]
    scores = [p.score(cell, cells.key(cell), b) for b in bits]
    assert {s["source"] for s in scores} == {"surrogate"}
    assert len({s["metrics"]["validation_loss"] for s in scores}) == model.SEEDS
    assert p.score(cell, cells.key(cell), bits[3]) | {"curve": None} == scores[3] | {"curve": None}


def test_an_invalid_cell_has_the_worst_of_everything() -> None:
    p = params()
    report = p.invalid()
    assert (report["status"], report["source"], report["metrics"]["validation_loss"]) == ("failed", "none", 50.0)
    assert p.reward(report).tolist() == [-50.0]
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

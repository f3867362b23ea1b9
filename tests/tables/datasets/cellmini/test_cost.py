from __future__ import annotations

from hpo_envs.tables.cells.recipe import Cell
from hpo_envs.tables.datasets.cellmini import cost
from hpo_envs.tables.datasets.cellmini.drawn import drawn


def test_work_tells_what_is_computed_at_once_from_what_is_computed_step_by_step():
    # One hidden state; l0 reads x alone, then tanh of it; l0,1 reads x and the state, and the sum all before.
    cell = Cell.from_text("1:l0;t2;l0,1;s3,4:5")
    assert cost.work(cell) == (1.0, 1.0, 1.0, 2.0, 2.0)


def test_more_operations_cost_more():
    few, many = (min(drawn(), key=lambda c: len(c.nodes)), max(drawn(), key=lambda c: len(c.nodes)))
    assert 0.0 < cost.epoch(few) < cost.epoch(many)

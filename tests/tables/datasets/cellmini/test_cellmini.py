"""CellMini: cells, text, costs and what was measured."""

from __future__ import annotations

import hashlib
from dataclasses import fields

import numpy as np
import pytest

from hpo_envs.tables import cells
from hpo_envs.tables.cells.recipe import Cell
from hpo_envs.tables.datasets.cellmini import DRAWN, SPLITS, cost, fit, text
from hpo_envs.tables.datasets.cellmini.drawn import draw, drawn
from hpo_envs.tables.datasets.cellmini.measured import PACKING


def test_work_tells_what_is_computed_at_once_from_what_is_computed_step_by_step():
    # One hidden state; l0 reads x alone, then tanh of it; l0,1 reads x and the state, and the sum all before.
    cell = Cell.from_text("1:l0;t2;l0,1;s3,4:5")
    assert cost.work(cell) == (1.0, 1.0, 1.0, 2.0, 2.0)


def test_more_operations_cost_more():
    few, many = (min(drawn(), key=lambda c: len(c.nodes)), max(drawn(), key=lambda c: len(c.nodes)))
    assert 0.0 < cost.epoch(few) < cost.epoch(many)


def test_cells_are_distinct_computations_that_the_generator_accepts():
    kept = drawn()
    assert len({cells.key(cell) for cell in kept}) == len(kept) == DRAWN
    assert all(cells.accepted(cell) and cells.canonical(cell) == cell for cell in kept)


def test_cells_are_drawn_in_their_order():
    assert [cell.text() for cell in drawn()[:12]] == draw(12)


def test_fields_are_those_of_an_epoch():
    pytest.importorskip("torch")
    from hpo_envs.tables.datasets.cellmini.training.run import Epoch

    assert PACKING.fields == PACKING.losses == tuple(field.name for field in fields(Epoch))


def test_trainings_are_named_by_cell_and_seed():
    assert PACKING.place("299-1") == (299, 1)
    assert PACKING.complete(PACKING.pack([])) == {"": 0}


def test_the_text_is_the_beginning_of_the_plays():
    whole = text.text()
    assert whole.startswith("First Citizen:\nBefore we proceed any further, hear me speak.\n")
    assert len(whole) == sum(SPLITS.values()) == 100_000
    assert hashlib.sha256(whole.encode()).hexdigest()[:16] == "caad989adf87f248"
    assert len(text.symbols()) == 61


def test_parts_follow_each_other():
    codes = np.concatenate([text.split(name) for name in SPLITS])
    assert "".join(text.symbols()[code] for code in codes.tolist()) == text.text()


def test_another_file_is_refused(tmp_path):
    (tmp_path / "other.txt").write_bytes(b"To be")
    with pytest.raises(ValueError, match=f"file must have sha256 {text.WHOLE}, got"):
        text.main(str(tmp_path / "other.txt"))


def test_the_coefficients_are_those_of_the_trainings_that_ship():
    found, errors = fit.fit()
    assert cost.COEFFICIENTS == pytest.approx([float(f"{c:.3g}") for c in found])
    assert np.median(np.abs(errors)) < 0.15
    assert cost.mean() == pytest.approx(np.mean([cost.epoch(cell) for cell in drawn()]))

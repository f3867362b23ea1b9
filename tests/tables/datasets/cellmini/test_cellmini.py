"""CellMini: cells, text, costs and measurements."""

import hashlib
from dataclasses import fields

import numpy as np
import pytest

from hpo_envs.tables import cells, store
from hpo_envs.tables.cells.recipe import Cell
from hpo_envs.tables.datasets.cellmini import DRAWN, SPLITS, build, cost, text
from hpo_envs.tables.datasets.cellmini.build import PACKING
from hpo_envs.tables.datasets.cellmini.drawn import draw, drawn, features


def test_work_tells_what_is_computed_at_once_from_what_is_computed_step_by_step():
    # One hidden state; l0 reads x alone, then tanh of it; l0,1 reads x and the state, and the sum all before.
    cell = Cell.from_text("1:l0;t2;l0,1;s3,4:5")
    assert cost.work(cell) == (1.0, 1.0, 1.0, 2.0, 2.0)


def test_more_operations_cost_more():
    few, many = (min(drawn(), key=lambda c: len(c.nodes)), max(drawn(), key=lambda c: len(c.nodes)))
    assert 0.0 < cost.epoch(few) < cost.epoch(many)


def test_cells_are_distinct_computations_that_generator_accepts():
    kept = drawn()
    assert len({cells.key(cell) for cell in kept}) == len(kept) == DRAWN
    assert all(cells.accepted(cell) and cells.canonical(cell) == cell for cell in kept)


def test_cells_are_drawn_in_their_order():
    assert [cell.text() for cell in drawn()[:12]] == draw(12)


def test_fields_are_those_of_epoch():
    pytest.importorskip("torch")
    from hpo_envs.families.cellmini.training.run import EpochLosses

    assert PACKING.fields == PACKING.losses == tuple(field.name for field in fields(EpochLosses))


def test_trainings_are_named_by_cell_and_seed():
    assert (PACKING.place("299-1"), PACKING.complete(PACKING.pack([]))) == ((299, 1), {"": 0})


def test_text_is_beginning_of_plays():
    whole = text.text()
    assert whole.startswith("First Citizen:\nBefore we proceed any further, hear me speak.\n")
    assert len(whole) == sum(SPLITS.values()) == 100_000
    assert (hashlib.sha256(whole.encode()).hexdigest()[:16], len(text.symbols())) == ("caad989adf87f248", 61)


def test_parts_follow_each_other():
    codes = np.concatenate([text.split(name) for name in SPLITS])
    assert "".join(text.symbols()[code] for code in codes.tolist()) == text.text()


def test_coefficients_are_those_of_trainings_that_ship():
    nnls = pytest.importorskip("scipy.optimize").nnls
    arrays = PACKING.load()
    done = arrays["epochs"].astype(float)
    trained = (done > 0).any(axis=1)
    seconds = np.where(done > 0, arrays["seconds"].max(axis=2) / np.maximum(done, 1.0), np.nan)[trained]
    work = np.array([cost.work(cell) for cell in drawn()])[trained]
    parts = work / np.nanmean(seconds, axis=1)[:, None]
    found, _ = nnls(parts, np.ones(len(parts)))
    assert cost.COEFFICIENTS == pytest.approx([float(f"{c:.3g}") for c in found])
    assert np.median(np.abs(parts @ found - 1.0)) < 0.15
    assert cost.mean() == pytest.approx(np.mean([cost.epoch(cell) for cell in drawn()]))


def record(task, loss, status="ok", epochs=15):
    measured = [[loss + 1.0 / e, loss + 2.0 / e, loss + 3.0 / e] for e in range(1, epochs + 1)]
    kept = {"task": task, "status": status, "epochs": measured, "seconds": [float(e + 1) for e in range(epochs)]}
    return kept | {"parameters": 5000, "processor": "a", "versions": {}}


def arrays(rows=3):
    """Some rows with both trainings and one with a single one; one training diverged, another had a very large loss."""
    records = [record(f"{row}-{seed}", 2.0 + row) for row in range(rows) for seed in range(2)]
    records[1] = record("0-1", 2.0, status="diverged", epochs=6)
    records[2] = record("1-0", 300.0)
    return PACKING.pack([*records, record(f"{rows}-0", 9.0)])


def test_table_has_what_was_measured():
    table = build.assemble(arrays())
    assert table.values.shape == (3, 2, 15, len(build.METRICS))
    assert table.values[2, 1, 4].tolist() == pytest.approx([4.2, 4.4, 4.6, 5000.0])
    assert np.isnan(table.values[0, 1]).sum(axis=1).tolist() == [0] * 6 + [3] + [4] * 8  # the seventh epoch diverged
    assert np.isnan(table.cost[0, 1]).tolist() == [False] * 7 + [True] * 8
    assert table.status.tolist() == [[0, 2], [0, 0], [0, 0]]
    assert table.values[1, 0, -1, :3].tolist() == [50.0] * 3  # capped
    assert table.cost[2, 0].tolist() == pytest.approx([e * cost.epoch(drawn()[2]) for e in range(1, 16)])
    assert (table.provenance.kind, table.provenance.licence) == ("measured", "MIT")
    assert set(build.HELD_OUT) < set(table.metric_names)


def test_rows_are_cells():
    table = build.assemble(arrays())
    assert [cells.Cell.from_text(key) for key in table.keys] == [*drawn()[:3]]
    assert table.graph(1).number_of_nodes() == cells.graph(drawn()[1]).number_of_nodes()
    assert table.features.shape == (3, 50)
    assert np.array_equal(features()[::29], cells.embed(drawn()[::29]))


def test_store_has_it():
    assert not store.missing(build.TABLE)
    table = store.load(build.TABLE)
    (rows,) = PACKING.complete(PACKING.load()).values()
    assert (len(table), table.repeats, len(table.levels)) == (rows, 2, 15)


def test_every_linear_and_bias_of_cell_is_counted():
    from hpo_envs.tables.datasets.cellmini import UNITS
    from hpo_envs.tables.datasets.cellmini.text import symbols

    shipped = PACKING.load()
    for row, cell in enumerate(drawn()[: PACKING.complete(shipped)[""]]):
        linears = [len(sources) for op, sources in cell.nodes if cells.OPERATIONS[op] == "linear"]
        size = len(symbols()) * (UNITS + 1) + sum(inputs * UNITS**2 + UNITS for inputs in linears)
        assert shipped["parameters"][row].tolist() == [size, size]

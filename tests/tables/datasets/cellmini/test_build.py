from __future__ import annotations

import numpy as np
import pytest

from hpo_envs.tables import cells, store
from hpo_envs.tables.datasets.cellmini import build, cost
from hpo_envs.tables.datasets.cellmini.drawn import drawn
from hpo_envs.tables.datasets.cellmini.measured import PACKING


def record(task, loss, status="ok", epochs=15):
    measured = [[loss + 1.0 / e, loss + 2.0 / e, loss + 3.0 / e] for e in range(1, epochs + 1)]
    kept = {"task": task, "status": status, "epochs": measured, "seconds": [float(e + 1) for e in range(epochs)]}
    return kept | {"parameters": 5000, "processor": "a", "versions": {}}


def arrays(rows=3):
    """Of some rows with both trainings and one that lacks one; a training diverged, another had a huge loss."""
    records = [record(f"{row}-{seed}", 2.0 + row) for row in range(rows) for seed in range(2)]
    records[1] = record("0-1", 2.0, status="diverged", epochs=6)
    records[2] = record("1-0", 300.0)
    return PACKING.pack([*records, record(f"{rows}-0", 9.0)])


def test_the_table_has_what_was_measured():
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
    assert np.array_equal(table.features, cells.embed(drawn()[:3]))


def test_the_store_has_it():
    assert not store.missing(build.TABLE)
    table = store.load(build.TABLE)
    (rows,) = PACKING.complete(PACKING.load()).values()
    assert (len(table), table.repeats, len(table.levels)) == (rows, 2, 15)


def test_every_linear_and_bias_of_a_cell_is_counted():
    from hpo_envs.tables.datasets.cellmini import UNITS
    from hpo_envs.tables.datasets.cellmini.text import symbols

    shipped = PACKING.load()
    for row, cell in enumerate(drawn()[: PACKING.complete(shipped)[""]]):
        linears = [len(sources) for op, sources in cell.nodes if cells.OPERATIONS[op] == "linear"]
        size = len(symbols()) * (UNITS + 1) + sum(inputs * UNITS**2 + UNITS for inputs in linears)
        assert shipped["parameters"][row].tolist() == [size, size]

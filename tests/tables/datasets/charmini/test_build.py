import numpy as np
import pytest

from hpo_envs.tables.datasets.charmini import build, cost
from hpo_envs.tables.datasets.charmini.build import packing
from hpo_envs.tables.datasets.charmini.space import configuration
from tests.hpo_envs.families.training.test_suite import record

PACKING = packing("eng")


def arrays(rows=3):
    records = [record(task, 100 + draw) for draw in range(rows) for task in (f"eng-lstm-{draw}-{s}" for s in range(3))]
    records[4] = record("eng-lstm-1-1", 10, status="diverged", epochs=6)
    return PACKING.pack(records)


def test_table_has_what_was_measured():
    table = build.assemble("charmini/eng-lstm", arrays())
    assert table.values.shape == (3, 3, 20, len(build.METRICS))
    assert table.values[2, 0, -1, 0] == pytest.approx(20.4)
    assert table.values[0, 0, 0, table.metric("test_accuracy")] == 1.0
    assert np.isnan(table.values[1, 1]).any(axis=1).tolist() == [False] * 6 + [True] * 14
    assert table.status.tolist() == [[0, 0, 0], [0, 2, 0], [0, 0, 0]]
    assert table.config(1)["batch_size"] == configuration("lstm", 1)["batch_size"]
    assert table.cost[2, 0].tolist() == pytest.approx(
        [e * cost.epoch("lstm", configuration("lstm", 2)) for e in range(1, 21)]
    )
    assert (table.provenance.kind, table.provenance.licence) == ("measured", "MIT AND BSD-2-Clause")
    assert {m.name for m in table.metrics} >= set(build.HELD_OUT)


def test_configurations_after_one_that_lacks_seed_are_left_out():
    kept = PACKING.pack(
        [record(f"eng-lstm-{draw}-{seed}", 100) for draw in (0, 1, 3) for seed in range(3 - (draw == 1))]
    )
    assert len(build.assemble("charmini/eng-lstm", kept)) == 1
    assert len(build.assemble("charmini/eng-lstm", PACKING.pack([record("eng-lstm-1-2", 100)], kept))) == 2


def test_error_rates_are_capped():
    accuracy, errors = build.rates(np.array([250.0]), np.array([1e5]), "eng", "development")
    assert (accuracy[0], errors[0]) == (50.0, 200.0)

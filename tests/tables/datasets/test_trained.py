import json
from dataclasses import replace

import numpy as np
import pytest

from hpo_envs.core.engines.lookup.params import LookupParams
from hpo_envs.tables.datasets.charmini.build import packing
from hpo_envs.tables.datasets.trained import by_epoch, machines, table
from hpo_envs.tables.table import Metric, Provenance, searched

PACKING = packing("eng")
EPOCH = [12, 300, 1.25, 2.5, 10, 310]


def record(task, epochs=20, status="ok", processor="a"):
    kept = {"task": task, "status": status, "epochs": [EPOCH] * epochs, "seconds": [1.0] * epochs}
    return {**kept, "parameters": 77, "processor": processor, "versions": {"torch": "2"}}


def test_records_are_packed_where_they_belong():
    arrays = PACKING.pack([record("eng-lstm-3-1"), record("eng-transformer-0-2", 4, "diverged", "b")])
    at = PACKING.place("eng-transformer-0-2")
    assert (at, arrays["counts"][0, 0, 3, 1, 7].tolist()) == ((0, 1, 0, 2), [12, 300, 10, 310])
    assert arrays["losses"][at][:5].tolist() == [[1_250_000, 2_500_000]] * 4 + [[0, 0]]
    assert (arrays["epochs"][at], arrays["status"][at], arrays["parameters"][at]) == (4, 2, 77)
    assert np.count_nonzero(arrays["epochs"]) == 2
    assert json.loads(arrays["machines"][arrays["machine"][at]])["processor"] == "b"


def test_packing_goes_on_from_what_ships():
    before = PACKING.pack([record("eng-lstm-0-0")])
    arrays = PACKING.pack([record("eng-lstm-0-1", processor="b")], before)
    assert (arrays["epochs"][0, 0, 0].tolist(), len(arrays["machines"])) == ([20, 20, 0], 2)
    assert before["epochs"][0, 0, 0].tolist() == [20, 0, 0]


def test_what_ships_is_known(tmp_path):
    packing = replace(PACKING, file=tmp_path / "measured.npz")
    assert packing.shipped_names() == []
    np.savez(packing.file, **packing.pack([record("eng-lstm-3-1"), record("eng-transformer-5-0", 0, "diverged")]))
    assert packing.shipped_names() == ["eng-lstm-3-1", "eng-transformer-5-0"]
    assert packing.has(packing.load(), "eng-lstm-3-1")
    assert not packing.has(packing.load(), "eng-lstm-3-0")


def test_what_trained_is_told_once():
    arrays = PACKING.pack([record("eng-lstm-0-0"), record("eng-lstm-0-1"), record("eng-lstm-0-2", processor="b")])
    assert machines(arrays, arrays["machine"][0, 0, 0]) == "processor a, torch 2; processor b, torch 2"
    assert machines(arrays, arrays["machine"][0, 0, 0, :2]) == "processor a, torch 2"


def test_losses_beyond_all_bounds_are_kept_at_bound():
    big = record("eng-lstm-0-0") | {"epochs": [[0, 1, 1e300, 1.0, 0, 1]], "seconds": [1.0]}
    assert PACKING.pack([big])["losses"][0, 0, 0, 0, 0, 0] == pytest.approx(2e9)


def test_times_are_kept_in_tenths_of_milliseconds_and_compared_by_nobody():
    packing = replace(PACKING, fields=("correct", "spent"), counts=("correct",), losses=(), times=("spent",))
    arrays = packing.pack([record("eng-lstm-0-0") | {"epochs": [[12, 0.01234]] * 20}])
    assert arrays["times"][0, 0, 0, 0, :2].tolist() == [[123], [123]]
    assert "seconds" not in arrays
    assert packing.kept(arrays, (0, 0, 0, 0))[1].shape == (20, 0)


def test_costs_by_epoch_add_up():
    assert by_epoch([0.5, 2.0], 3).tolist() == [[[0.5, 1.0, 1.5]], [[2.0, 4.0, 6.0]]]


def test_repeat_that_failed_counts_before_one_that_did_not():
    metrics = (Metric("score", "%", "max", 0.0, 100.0, ""), Metric("parameters", "", "min", 0.0, 1e8, ""))
    arrays = {"epochs": np.array([[0, 2]]), "status": np.array([[1, 0]], np.uint8), "parameters": np.array([[0, 7]])}
    origin = Provenance("measured", "me", "0" * 40, "MIT", "me")
    scores, costs = np.full((1, 2, 2, 1), 60.0), np.array([[[0.0, 0.0], [1.0, 2.0]]])
    made = table("t", ("a",), metrics, scores, arrays, costs, origin, **searched((), np.zeros((1, 0))))
    params = LookupParams.of(("t",), table=made, objective="score", budget=1)
    assert (params.repeats.tolist(), params.rewards.ravel().tolist()) == ([2], [0.0, 60.0])

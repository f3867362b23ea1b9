from __future__ import annotations

import json

import numpy as np
import pytest

from hpo_envs.tables.datasets.charmini import measured

EPOCH = [12, 300, 1.25, 2.5, 10, 310]


def record(task, epochs=20, status="ok", processor="a"):
    kept = {"task": task, "status": status, "epochs": [EPOCH] * epochs, "seconds": [1.0] * epochs}
    return {**kept, "parameters": 77, "processor": processor, "versions": {"torch": "2"}}


def test_records_are_packed_where_they_belong():
    arrays = measured.pack([record("lstm-3-1"), record("transformer-0-2", 4, "diverged", "b")])
    at = measured.place("transformer-0-2")
    assert at == (1, 0, 2)
    assert arrays["counts"][0, 3, 1, 7].tolist() == [12, 300, 10, 310]
    assert arrays["losses"][at][:5].tolist() == [[1_250_000, 2_500_000]] * 4 + [[0, 0]]
    assert (arrays["epochs"][at], arrays["status"][at], arrays["parameters"][at]) == (4, 2, 77)
    assert np.count_nonzero(arrays["epochs"]) == 2
    assert json.loads(arrays["machines"][arrays["machine"][at]])["processor"] == "b"


def test_packing_goes_on_from_what_ships():
    before = measured.pack([record("lstm-0-0")])
    arrays = measured.pack([record("lstm-0-1", processor="b")], before)
    assert arrays["epochs"][0, 0].tolist() == [20, 20, 0]
    assert len(arrays["machines"]) == 2
    assert before["epochs"][0, 0].tolist() == [20, 0, 0]


def test_what_ships_is_known(monkeypatch, tmp_path):
    monkeypatch.setattr(measured, "FILE", tmp_path / "measured.npz")
    assert measured.known() == []
    np.savez(measured.FILE, **measured.pack([record("lstm-3-1"), record("transformer-5-0", 0, "diverged")]))
    measured.load.cache_clear()
    assert measured.known() == ["lstm-3-1", "transformer-5-0"]
    measured.load.cache_clear()


def test_losses_beyond_all_bounds_are_kept_at_the_bound():
    big = record("lstm-0-0") | {"epochs": [[0, 1, 1e300, 1.0, 0, 1]], "seconds": [1.0]}
    assert measured.pack([big])["losses"][0, 0, 0, 0, 0] == pytest.approx(2e9)

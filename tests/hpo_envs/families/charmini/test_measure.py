import pytest

from hpo_envs.families.charmini import measure
from hpo_envs.tables.datasets.charmini.build import packing


def test_record_is_what_is_packed(monkeypatch):
    torch = pytest.importorskip("torch")
    monkeypatch.setattr(measure, "EPOCHS", 1)
    monkeypatch.setattr(measure, "configuration", lambda architecture, draw: tiny())
    threads = torch.get_num_threads()
    try:
        record = measure.train("eng-lstm-0-2")
    finally:
        torch.set_num_threads(threads)
    assert record["task"] == "eng-lstm-0-2"
    assert (record["status"], len(record["epochs"]), len(record["seconds"])) == ("ok", 1, 1)
    assert packing("eng").pack([record])["epochs"][packing("eng").place("eng-lstm-0-2")] == 1


def tiny():
    from tests.hpo_envs.families.charmini.training.test_training import small

    return small("lstm", batch_size=256)

from __future__ import annotations

import pytest

from hpo_envs.tables.datasets.charmini import measure, measured


def test_every_beginning_of_the_list_is_a_table():
    tasks = measure.tasks(4)
    assert len(set(tasks)) == 24
    assert tasks[:7] == [*(f"{a}-0-{s}" for a in ("lstm", "transformer") for s in range(3)), "lstm-1-0"]


def test_a_record_is_what_is_packed(monkeypatch):
    torch = pytest.importorskip("torch")
    monkeypatch.setattr(measure, "EPOCHS", 1)
    monkeypatch.setattr(measure, "configuration", lambda architecture, draw: tiny())
    threads = torch.get_num_threads()
    try:
        record = measure.train("lstm-0-2")
    finally:
        torch.set_num_threads(threads)
    assert record["task"] == "lstm-0-2"
    assert (record["status"], len(record["epochs"]), len(record["seconds"])) == ("ok", 1, 1)
    assert measured.pack([record])["epochs"][measured.place("lstm-0-2")] == 1


def tiny():
    from tests.tables.datasets.charmini.training.models import small

    return small("lstm", batch_size=256)

import numpy as np
import pytest

from hpo_envs.families.cellmini import measure
from hpo_envs.tables.datasets.cellmini.drawn import drawn


def test_record_is_what_is_packed(monkeypatch):
    torch = pytest.importorskip("torch")
    from hpo_envs.families.cellmini.training import run

    monkeypatch.setattr(measure, "EPOCHS", 1)
    part = run.split("train")[:2001]
    monkeypatch.setattr(run, "split", lambda name: part)
    threads = torch.get_num_threads()
    try:
        record = measure.train("7-1")
        again = measure.begin(drawn()[7].text(), 1).epoch()
    finally:
        torch.set_num_threads(threads)
    assert (record["task"], record["status"], len(record["seconds"])) == ("7-1", "ok", 1)
    assert record["epochs"] == [(again.development, again.loss, again.test)]
    packing = measure.SUITE.packing
    kept = packing.pack([record])["losses"][packing.place("7-1")][0]
    assert kept * 1e-6 == pytest.approx(record["epochs"][0], abs=1e-6)


def test_scores_are_losses():
    losses = np.array([[2.0, 2.1, 2.2]])
    assert measure.scores(np.empty((1, 0)), losses) is losses

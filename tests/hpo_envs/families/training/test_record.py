import pytest

from hpo_envs.families.training.record import processor, record, trainer
from tests.hpo_envs.families.training.falling import begin

pytest.importorskip("torch")


def test_record_is_plain_data():
    kept = record("a", begin(), 2)
    assert (kept["task"], kept["status"], kept["epochs"], kept["parameters"]) == ("a", "ok", [(0.5,), (0.25,)], 7)
    assert len(kept["seconds"]) == 2
    assert kept["processor"] == processor()
    assert kept["versions"]["torch"] == trainer().__version__


def test_training_that_diverges_keeps_epochs_before():
    kept = record("a", begin(1.4), 5)
    assert (kept["status"], len(kept["epochs"]), len(kept["seconds"])) == ("diverged", 3, 3)

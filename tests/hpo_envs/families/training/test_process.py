import importlib.util
import pickle

import pytest

from hpo_envs.families.training import process
from tests.hpo_envs.families.training import falling

MODULE = falling.__name__
TORCH = pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="extra live is not installed")


@TORCH
def test_process_goes_on_from_checkpoint_and_dies_alone(tmp_path):
    trainer = process.Trainer(MODULE, 300.0)
    whole = trainer.train({}, 2)
    first = trainer.train({}, 1, tmp_path)
    second = trainer.train({}, 2, tmp_path)
    ended = {"loss": 0.25, "parameters": 7}
    assert {**whole, "seconds": 0} == {**ended, "epochs": [{"loss": 0.5}, {"loss": 0.25}], "seconds": 0}
    assert {**second, "seconds": 0} == {**ended, "epochs": [{"loss": 0.25}], "seconds": 0}
    assert first["loss"] == 0.5
    with pytest.raises(ChildProcessError, match="epochs must be more than the 2 that are done, got 1"):
        trainer.train({}, 1, tmp_path)
    lost = trainer.train({"factor": 2.0}, 2)
    assert (lost["diverged"], lost["epochs"]) == (True, [{"loss": 2.0}])
    trainer._process.kill()
    trainer._process.wait()
    assert trainer.train({}, 1)["loss"] == 0.5
    trainer.close()


@TORCH
def test_training_that_takes_too_long_is_ended():
    trainer = pickle.loads(pickle.dumps(process.Trainer(MODULE, 0.01)))
    with pytest.raises(TimeoutError, match="a training must end within 0.01 s"):
        trainer.train({"sleep": 60.0}, 1)
    assert trainer._process is None


def test_answer_has_what_last_epoch_measured():
    answer = process.answer(falling.begin, {"of": {"factor": 0.1}, "epochs": 1, "folder": None})
    assert answer == {"loss": 0.1, "epochs": [{"loss": 0.1}], "parameters": 7, "seconds": answer["seconds"]}


@pytest.mark.parametrize("wrong", [0, -1.0, True, "9", float("nan")])
def test_seconds_are_number(wrong):
    with pytest.raises(ValueError, match="seconds must be a number > 0, got"):
        process.Trainer(MODULE, wrong)

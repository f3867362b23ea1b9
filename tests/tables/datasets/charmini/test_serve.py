from __future__ import annotations

import pickle

import pytest

torch = pytest.importorskip("torch")

from hpo_envs.tables.datasets.charmini import serve  # noqa: E402
from tests.tables.datasets.charmini.training.models import small  # noqa: E402


def test_a_process_goes_on_from_a_checkpoint_dies_alone_and_leaves_torch_as_it_is(tmp_path):
    threads = torch.get_num_threads()
    config = small("lstm", batch_size=256)
    trainer = serve.Trainer(300.0)
    whole = trainer.train("lstm", config, 1, 2)
    first = trainer.train("lstm", config, 1, 1, tmp_path)
    second = trainer.train("lstm", config, 1, 2, tmp_path)
    assert {**second, "seconds": 0} == {**whole, "seconds": 0}
    assert first["loss"] > second["loss"]
    with pytest.raises(ChildProcessError, match="epochs must be more than the 2 that are done, got 1"):
        trainer.train("lstm", config, 1, 1, tmp_path)
    trainer._process.kill()
    trainer._process.wait()
    assert trainer.train("lstm", config, 1, 1)["loss"] == first["loss"]
    trainer.close()
    assert torch.get_num_threads() == threads
    assert torch.get_default_dtype() == torch.float32


def test_a_training_that_takes_too_long_is_ended():
    trainer = pickle.loads(pickle.dumps(serve.Trainer(0.01)))
    with pytest.raises(TimeoutError, match="a training must end within 0.01 s"):
        trainer.train("lstm", small("lstm"), 0, 20)
    assert trainer._process is None


def test_divergence_is_an_answer(monkeypatch):
    from hpo_envs.tables.datasets.charmini.training import run

    def diverge(self):
        raise run.Diverged("nan")

    monkeypatch.setattr(run.Training, "epoch", diverge)
    request = {"architecture": "lstm", "config": small("lstm"), "seed": 0, "epochs": 1, "folder": None}
    assert serve.answer(request) == {"diverged": True}

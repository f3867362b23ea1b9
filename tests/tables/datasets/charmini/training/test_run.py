from __future__ import annotations

import hashlib

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from hpo_envs.tables.datasets.charmini.training.batches import corpus  # noqa: E402
from hpo_envs.tables.datasets.charmini.training.run import Diverged, Training, key_of  # noqa: E402
from tests.tables.datasets.charmini.training.models import small  # noqa: E402

GOLDEN = {"lstm": "a76be2ac4340d87a", "transformer": "99c57b562beb0c9d"}
"""Sha256 of the parameters after an epoch on 96 words: the same under AVX-512, AVX2 and SSE."""


def training(architecture, seed=1, **changed):
    return Training(architecture, small(architecture, **changed), seed, train=corpus("eng").parts["train"][:96])


@pytest.mark.parametrize("architecture", ["lstm", "transformer"])
def test_a_tiny_training_has_the_same_bits_everywhere_and_goes_on_from_a_checkpoint(architecture):
    one = training(architecture)
    first = one.epoch()
    state = {name: np.array(value) for name, value in one.state().items()}
    assert hashlib.sha256(state["parameters"].tobytes()).hexdigest()[:16] == GOLDEN[architecture]
    other = training(architecture)
    other.restore(state)
    second = one.epoch()
    assert other.epoch() == second
    assert second.loss != first.loss
    assert 0 <= second.correct <= 500
    assert np.array_equal(one.state()["parameters"], other.state()["parameters"])


def test_seeds_and_active_hyperparameters_alone_say_what_is_drawn():
    config = small("lstm")
    assert key_of("lstm", 0, config) != key_of("lstm", 1, config)
    inactive = {"warmup_samples": 0, "factor": 0.0, "min_lr": 0.0, "patience": 0}
    a, b = Training("lstm", config, 0), Training("lstm", config | inactive, 0)
    assert np.array_equal(a.state()["parameters"], b.state()["parameters"])


def test_an_infinite_loss_has_diverged():
    run = training("lstm")
    run.restore({**run.state(), "parameters": np.full(run.size, 1e308)})
    with pytest.raises(Diverged, match="epoch 1"):
        run.epoch()

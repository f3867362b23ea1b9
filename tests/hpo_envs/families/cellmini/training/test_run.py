import hashlib

import numpy as np
import pytest

pytest.importorskip("torch")

from hpo_envs.families.cellmini.training import run
from hpo_envs.tables import cells
from hpo_envs.tables.datasets.cellmini import STEPS, STREAMS
from hpo_envs.tables.datasets.cellmini.drawn import drawn

GOLDEN = "10dc5b9180df6db0"
"""Sha256 of the parameters after an epoch on 3,001 characters: the same under AVX-512, AVX2 and SSE."""

"""Of what trains: `training/`, the names of sizes and rates, what it shares and what it takes from CharMini."""


@pytest.fixture(autouse=True)
def short(monkeypatch):
    kept = {name: run.split(name)[:1001] for name in ("development", "test")}
    monkeypatch.setattr(run, "split", lambda name: kept[name])


def training(cell=None, seed=1):
    return run.CellTraining(drawn()[77] if cell is None else cell, seed, TEXT)


TEXT = run.split("train")[:3001]


def test_tiny_training_has_same_bits_everywhere_and_goes_on_from_checkpoint():
    one = training()
    first = one.epoch()
    state = {name: np.array(value) for name, value in one.state().items()}
    assert hashlib.sha256(state["parameters"].tobytes()).hexdigest()[:16] == GOLDEN
    other = training()
    other.restore(state)
    second = one.epoch()
    assert other.epoch() == second
    assert second.loss < first.loss < 5.0
    assert np.array_equal(one.state()["parameters"], other.state()["parameters"])


def test_equal_computations_are_one_training():
    one, other = cells.Cell.from_text("1:l0,1;t2:3"), cells.Cell.from_text("1:l1,0;t2:3")
    state, same = (training(cell).state()["parameters"] for cell in (one, other))
    assert np.array_equal(state, same)
    assert not np.array_equal(state, training(one, 2).state()["parameters"])


def test_infinite_loss_has_diverged():
    broken = training()
    broken.restore({**broken.state(), "parameters": np.full(broken.size, 1e308)})
    with pytest.raises(run.Diverged, match="epoch 1"):
        broken.epoch()


def test_streams_go_on_from_stretch_to_stretch():
    part = np.arange(STREAMS * 60 + 1)
    first, second, last = run.stretches(part)
    assert first[0].shape == (STEPS, STREAMS)
    assert first[0][:, 1].tolist() == [*range(60, 60 + STEPS)]
    assert np.array_equal(first[1], first[0] + 1)
    assert (second[0][0, 0], last[0].shape) == (STEPS, (60 - 2 * STEPS, STREAMS))

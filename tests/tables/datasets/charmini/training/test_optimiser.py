from __future__ import annotations

import math

import numpy as np
import pytest

from hpo_envs.tables.datasets.charmini.training.optimiser import BITS, Adam

BASE = {"learning_rate": 0.01, "beta1": 0.9, "beta2": 0.99, "scheduler": "none"}


def test_steps_are_torchs():
    torch = pytest.importorskip("torch")
    ours, rng = np.array([1.0, -2.0, 3.0]), np.random.default_rng(0)
    theirs = torch.tensor(ours.tolist(), dtype=torch.float64, requires_grad=True)
    adam = Adam(BASE, ours)
    reference = torch.optim.Adam([theirs], lr=0.01, betas=(0.9, 0.99))
    for _ in range(20):
        gradient = np.rint(rng.normal(size=3) * 100) / 128  # few bits: rounding changes nothing
        adam.update(gradient, 32)
        theirs.grad = torch.from_numpy(gradient)
        reference.step()
    np.testing.assert_allclose(ours, theirs.detach().numpy(), rtol=1e-12)


def test_derivatives_that_differ_by_what_processors_do_give_the_same_bits():
    gradient = np.random.default_rng(1).normal(size=1000)
    one, two = np.zeros(1000), np.zeros(1000)
    Adam(BASE, one).update(gradient, 1)
    Adam(BASE, two).update(gradient * (1.0 + 1e-14), 1)
    assert np.array_equal(one, two)
    assert BITS < 20


def test_warmup_rises_in_samples_then_falls_with_the_root():
    adam = Adam({**BASE, "scheduler": "warmupinvsqrt", "warmup_samples": 100}, np.zeros(1))
    rates = []
    for _ in range(16):
        adam.update(np.ones(1), 25)
        rates.append(adam.rate())
    assert rates[:4] == pytest.approx([0.0025, 0.005, 0.0075, 0.01])
    assert rates[-1] == pytest.approx(0.005)


def test_a_plateau_longer_than_patience_reduces_the_rate_to_its_floor():
    adam = Adam({**BASE, "scheduler": "reduceonplateau", "patience": 1, "factor": 0.5, "min_lr": 0.004}, np.zeros(1))
    rates = []
    for correct in (5, 6, 6, 6, 7, 7, 7, 7, 7):
        adam.epoch(correct)
        rates.append(adam.rate())
    assert rates == pytest.approx([0.01] * 3 + [0.005] * 3 + [0.004] * 3)


def test_a_floor_above_the_rate_never_raises_it():
    adam = Adam({**BASE, "scheduler": "reduceonplateau", "patience": 1, "factor": 0.5, "min_lr": 0.5}, np.zeros(1))
    for correct in (1, 1, 1, 1):
        adam.epoch(correct)
    assert adam.rate() == 0.01


def test_what_is_restored_goes_on_alike():
    config = {**BASE, "scheduler": "reduceonplateau", "patience": 1, "factor": 0.5, "min_lr": 1e-6}
    one = np.ones(3)
    adam = Adam(config, one)
    adam.update(np.array([0.1, -2.0, 0.3]), 7)
    adam.epoch(3)
    two = one.copy()
    other = Adam(config, two)
    other.restore({k: np.array(v) for k, v in adam.state().items()})
    for each in (adam, other):
        each.update(np.array([0.5, 0.25, math.pi]), 7)
        each.epoch(2)
        each.epoch(2)
    assert np.array_equal(one, two)
    assert adam.rate() == other.rate() == 0.005

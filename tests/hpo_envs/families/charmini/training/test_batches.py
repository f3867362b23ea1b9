"""Batches of words, their scores, and steps of the optimiser."""

import math

import numpy as np
import pytest
from nltk.metrics.distance import edit_distance

from hpo_envs.families.charmini.training.batches import Packed, Sizes, corpus, distances, encoded
from hpo_envs.families.charmini.training.optimiser import BITS, Adam
from hpo_envs.tables.datasets.charmini.words import LETTERS, UNKNOWN, phonemes, sample


def test_english_parts_are_sample_in_order():
    sizes, parts = corpus("eng")
    assert (sizes, sizes.symbols) == (Sizes(26, 39), 40)
    assert {name: len(words) for name, words in parts.items()} == {"train": 1500, "development": 500, "test": 500}
    words, (word, spoken) = parts["development"], sample()[1500]
    assert "".join(LETTERS[i] for i in words.letters[0, : words.spelled[0]]) == word
    assert tuple(phonemes()[i] for i in words.phonemes[0, : words.spoken[0]]) == spoken
    assert (words.phonemes[0, words.spoken[0] :] == 39).all()
    assert len(words[np.array([3, 1])]) == 2


def test_letters_beyond_alphabet_are_unknown_letter():
    parts = {"train": [("ab", ("x",)), ("b", ("y", "x"))], "test": [("cbd", ("x", "y", "z"))]}
    sizes, encoded_parts = encoded(parts, "ab" + UNKNOWN, ("x", "y", "z"))
    assert (sizes, encoded_parts["test"].letters.tolist()) == (Sizes(3, 3), [[2, 1, 2]])
    assert encoded_parts["train"].letters.tolist() == [[0, 1], [1, 3]]
    assert encoded_parts["train"].phonemes.tolist() == [[0, 3], [1, 0]]
    assert encoded_parts["train"].spoken.tolist() == [1, 2]


def test_packed_symbols_come_step_by_step_and_mirror_reverses_each_sequence():
    padded = np.array([[1, 2, 9], [3, 4, 5], [6, 9, 9]])
    packed = Packed(np.array([2, 3, 1]))
    flat = packed.pack(padded)
    assert (packed.sizes, flat.tolist()) == ([3, 2, 1], [3, 1, 6, 4, 2, 5])
    assert flat[packed.mirror].tolist() == [5, 2, 6, 4, 1, 3]
    assert np.where(packed.inside, flat[packed.place], 0).tolist() == [[3, 4, 5], [1, 2, 0], [6, 0, 0]]


BOUNDARY = 39


def padded(rng, width):
    rows = np.full((200, width), BOUNDARY)
    for row in rows:
        n = rng.integers(width + 1)
        row[:n] = rng.integers(4, size=n)
    return rows


def test_distances_are_nltks():
    rng = np.random.default_rng(0)
    a, b = padded(rng, 12), padded(rng, 10)
    words = ([[s for s in row if s != BOUNDARY] for row in rows] for rows in (a.tolist(), b.tolist()))
    assert distances(a, b, BOUNDARY).tolist() == [edit_distance(x, y) for x, y in zip(*words, strict=True)]


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


def test_derivatives_that_differ_by_what_processors_do_give_same_bits():
    gradient = np.random.default_rng(1).normal(size=1000)
    one, two = np.zeros(1000), np.zeros(1000)
    Adam(BASE, one).update(gradient, 1)
    Adam(BASE, two).update(gradient * (1.0 + 1e-14), 1)
    assert np.array_equal(one, two)
    assert BITS < 20


def test_warmup_rises_in_samples_then_falls_with_root():
    adam = Adam({**BASE, "scheduler": "warmupinvsqrt", "warmup_samples": 100}, np.zeros(1))
    rates = []
    assert adam.rate() == 0.0
    for _ in range(16):
        adam.update(np.ones(1), 25)
        rates.append(adam.rate())
    assert (rates[:4], rates[-1]) == (pytest.approx([0.0025, 0.005, 0.0075, 0.01]), pytest.approx(0.005))


@pytest.mark.parametrize(
    "floor, counts, rates",
    [(0.004, (5, 6, 6, 6, 7, 7, 7, 7, 7), [0.01] * 3 + [0.005] * 3 + [0.004] * 3), (0.5, (1, 1, 1, 1), [0.01] * 4)],
)
def test_plateau_longer_than_patience_reduces_rate_to_its_floor_and_never_raises_it(floor, counts, rates):
    adam = Adam({**BASE, "scheduler": "reduceonplateau", "patience": 1, "factor": 0.5, "min_lr": floor}, np.zeros(1))
    for correct, rate in zip(counts, rates, strict=True):
        adam.epoch(correct)
        assert adam.rate() == pytest.approx(rate)


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

"""Weights by ranking loss: counted by hand, and what they make of a good and a bad source."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from hpo_envs.agents import make
from hpo_envs.agents.transfer.rgpe import misranked, misranked_left_out, weights
from tests.agents.transfer.helpers import ALIKE, OTHER, problem, regret


def test_misranked_pairs_are_counted() -> None:
    rng = np.random.default_rng(0)
    y, samples = rng.random(5), rng.random((2, 3, 5))
    for (j, s), found in np.ndenumerate(misranked(samples, y)):
        f = samples[j, s]
        assert found == sum((f[a] < f[b]) != (y[a] < y[b]) for a, b in itertools.product(range(5), repeat=2))
    for s, found in enumerate(misranked_left_out(samples[0], y)):
        f = samples[0, s]
        assert found == sum((f[a] < y[b]) != (y[a] < y[b]) for a, b in itertools.permutations(range(5), 2))


def test_weights_are_shares_of_the_fewest() -> None:
    """Three models, four samples: the first wins one and shares two, the last wins one; the second is diluting."""
    theirs, own = np.array([[0, 1, 2, 5], [9, 9, 9, 9]]), np.array([3, 1, 2, 4])
    assert weights(theirs, own).tolist() == [0.5, 0.0, 0.5]


def test_a_source_that_misleads_has_no_weight() -> None:
    agent: Any = make("rgpe", problem(OTHER, ALIKE), 0)
    assert regret(agent, 8) < 0.02
    other, alike, own = agent.weights
    assert other < 0.1 < alike
    assert np.isclose(other + alike + own, 1.0)

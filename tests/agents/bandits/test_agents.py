"""The bandit agents: what each of them pulls, and when it stops."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from hpo_envs import agents
from hpo_envs.agents.bandits.track_and_stop import optimal_weights
from tests.agents.bandits.helpers import play, problem


def test_batch_is_drawn_from_one_pi() -> None:
    """`batch_size` on single pulls looks at pi only after whole batches."""
    agent: Any = agents.make("bts", problem(2, budget=None), 0, batch_size=4, confidence=0.8)
    pulled = play(agent, [0.5, 0.501], limit=300)
    assert (len(pulled) - 6) % 4 == 0
    vector: Any = agents.make("bts", problem(2, 4, budget=None), 0, confidence=0.8)
    assert len(play(vector, [0.5, 0.501], limit=300)) % 4 == 0


def test_nonadaptive_forms() -> None:
    agent = agents.make("nonadaptive", problem(4, budget=18), 0)
    assert np.bincount(play(agent, [0.5, 0.5, 0.5, 0.5])).tolist() == [4] * 4
    agent = agents.make("nonadaptive", problem(4, budget=None), 0, confidence=0.9)
    pulled = play(agent, [0.5, 0.51, 0.5, 0.5])
    assert len(pulled) % 4 == 0
    assert agent.pi.max() > 0.9


def test_lucb_alternates_best_and_strongest_rival() -> None:
    agent: Any = agents.make("lucb", problem(3, budget=None), 0, confidence=0.9)
    play(agent, [0.5, 0.6, 0.58], 0.05, limit=9)
    first, second = agent.pair()
    assert (agent.ask(), agent.ask()) == (first, second)
    width = agent.half_widths()
    assert (width > 0).all()
    agent.tell(first, 0.6, {})
    assert agent.half_widths()[first] < width[first] * 1.5


def test_optimal_weights_against_a_direct_search() -> None:
    means, variances = np.array([0.5, 0.4, 0.2]), np.array([1.0, 4.0, 1.0])

    def rate(w: np.ndarray) -> float:
        return float(min((means[0] - means[j]) ** 2 / (variances[0] / w[0] + variances[j] / w[j]) for j in (1, 2)))

    w = optimal_weights(means, variances)
    assert w.sum() == pytest.approx(1.0)
    grid = np.linspace(0.01, 0.98, 98)
    best = max(rate(np.array([a, c, 1 - a - c])) for a in grid for c in grid if a + c < 0.995)
    assert rate(w) >= best - 1e-9
    assert optimal_weights(np.array([0.5, 0.5]), np.array([1.0, 1.0])) == pytest.approx([0.5, 0.5], abs=1e-3)

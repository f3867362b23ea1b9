"""Top-two sampling: draws follow pi, a certain leader keeps a challenger."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from hpo_envs import agents
from tests.agents.bandits.helpers import play, problem


def test_top_two_draws_follow_pi() -> None:
    agent: Any = agents.make("ttts", problem(3), 0, confidence=None)
    play(agent, [0.5, 0.502, 0.5], limit=9)
    pi = agent.pi
    n = 4000
    drawn = np.bincount([agent.sample() for _ in range(n)], minlength=3) / n
    # P(m) = pi_m / 2 + sum over leaders l of pi_l / 2 * pi_m / (1 - pi_l).
    expected = [0.5 * pi[m] + sum(0.5 * pi[k] * pi[m] / (1 - pi[k]) for k in range(3) if k != m) for m in range(3)]
    assert drawn == pytest.approx(expected, abs=4 * np.sqrt(0.25 / n))
    thompson: Any = agents.make("bts", problem(3), 0, confidence=None)
    play(thompson, [0.5, 0.502, 0.5], limit=9)
    drawn = np.bincount([thompson.sample() for _ in range(n)], minlength=3) / n
    assert drawn == pytest.approx(thompson.pi, abs=4 * np.sqrt(0.25 / n))


def test_certain_leader_still_has_a_challenger() -> None:
    agent: Any = agents.make("ttts", problem(3), 0, confidence=None)
    for arm, value in ((0, 0.1), (1, 0.9), (2, 0.1)):
        for _ in range(3):
            agent.tell(arm, value, {})
    assert agent.pi[1] == pytest.approx(1.0)
    assert {agent.sample() for _ in range(50)} == {0, 1, 2}

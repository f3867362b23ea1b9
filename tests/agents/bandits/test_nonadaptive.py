"""Uniform allocation."""

from __future__ import annotations

import numpy as np

from hpo_envs import agents
from tests.agents.bandits.helpers import play, problem


def test_nonadaptive_forms() -> None:
    agent = agents.make("nonadaptive", problem(4, budget=18), 0)
    assert np.bincount(play(agent, [0.5, 0.5, 0.5, 0.5])).tolist() == [4] * 4
    agent = agents.make("nonadaptive", problem(4, budget=None), 0, confidence=0.9)
    pulled = play(agent, [0.5, 0.51, 0.5, 0.5])
    assert len(pulled) % 4 == 0
    assert agent.pi.max() > 0.9

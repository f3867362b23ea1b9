"""LUCB alternates the best arm and its strongest rival."""

from __future__ import annotations

from typing import Any

from hpo_envs import agents
from tests.agents.bandits.helpers import play, problem


def test_lucb_alternates_best_and_strongest_rival() -> None:
    agent: Any = agents.make("lucb", problem(3, budget=None), 0, confidence=0.9)
    play(agent, [0.5, 0.6, 0.58], 0.05, limit=9)
    first, second = agent.pair()
    assert (agent.ask(), agent.ask()) == (first, second)
    width = agent.half_widths()
    assert (width > 0).all()
    agent.tell(first, 0.6, {})
    assert agent.half_widths()[first] < width[first] * 1.5

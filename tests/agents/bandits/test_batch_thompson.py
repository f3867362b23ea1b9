"""Batches are drawn from one pi."""

from __future__ import annotations

from typing import Any

from hpo_envs import agents
from tests.agents.bandits.helpers import play, problem


def test_batch_is_drawn_from_one_pi() -> None:
    """`batch_size` on single pulls looks at pi only after whole batches."""
    agent: Any = agents.make("bts", problem(2, budget=None), 0, batch_size=4, confidence=0.8)
    pulled = play(agent, [0.5, 0.501], limit=300)
    assert (len(pulled) - 6) % 4 == 0
    vector: Any = agents.make("bts", problem(2, 4, budget=None), 0, confidence=0.8)
    assert len(play(vector, [0.5, 0.501], limit=300)) % 4 == 0

"""The agents of one run in this process: asked in turn, told copies, and done one by one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from hpo_envs.agents import Agent
from hpo_envs.benchmarks.runs.crew import LocalCrew

BUFFER = np.zeros(1)
"""The one array that all agents of a test answer with."""


class Counts(Agent):
    """Answers with its number and how often it was asked, and keeps what it is told."""

    def __init__(self, number: int) -> None:
        self.number, self.asked, self.told = number, 0, list[tuple[Any, Any, Mapping[str, Any]]]()

    def ask(self) -> Any:
        self.asked += 1
        BUFFER[0] = 10 * self.number + self.asked
        return BUFFER

    def tell(self, action: Any, reward: Any, info: Mapping[str, Any]) -> None:
        self.told.append((action, reward, info))

    def recommend(self) -> Any:
        return self.number

    @property
    def done(self) -> bool:
        return len(self.told) > self.number


def test_each_agent_is_asked_when_its_turn_comes() -> None:
    crew = LocalCrew([Counts(0), Counts(1), Counts(2)])
    assert [float(action[0]) for action in crew.ask([2, 0])] == [21.0, 1.0]  # from one buffer
    assert [float(action[0]) for action in crew.ask([0, 1])] == [2.0, 11.0]
    assert list(crew.recommend()) == [0, 1, 2]


def test_agents_are_told_copies_of_their_outcomes() -> None:
    agents = [Counts(0), Counts(1)]
    action, rewards, info = np.array([3]), np.array([[1.0, 2.0]]), {"a": 1}
    assert LocalCrew(agents).tell([1], [action], [rewards[0]], [info]) == [False]
    action[:], rewards[:] = 0, 0.0
    ((kept, reward, same),) = agents[1].told
    assert (kept.tolist(), reward.tolist()) == ([3], [1.0, 2.0])
    assert same is info
    assert agents[0].told == []


def test_agents_are_done_one_by_one() -> None:
    crew = LocalCrew([Counts(0), Counts(1)])
    assert crew.tell([0, 1], [0, 0], [1.0, 1.0], [{}, {}]) == [True, False]
    assert crew.tell([1], [0], [1.0], [{}]) == [True]

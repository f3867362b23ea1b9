"""The agents of one run in this process: checked actions, order of calls, and separate ends."""

from collections.abc import Mapping
from typing import Any, ClassVar

import gymnasium as gym
import numpy as np
import pytest

from hpo_envs.agents import Agent
from hpo_envs.benchmarks import run
from hpo_envs.benchmarks.runs.episodes import seeds_of
from hpo_envs.benchmarks.runs.pool import AgentPool

BUFFER = np.zeros(1)
"""The only array that all agents of a test return."""


class Counts(Agent):
    """Returns its number and the number of calls, and records its results."""

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
    pool = AgentPool([Counts(0), Counts(1), Counts(2)])
    assert [float(action[0]) for action in pool.ask([2, 0])] == [21.0, 1.0]  # from one buffer
    assert ([float(action[0]) for action in pool.ask([0, 1])], list(pool.recommend())) == ([2.0, 11.0], [0, 1, 2])


def test_agents_are_told_copies_of_their_outcomes() -> None:
    agents = [Counts(0), Counts(1)]
    action, rewards, info = np.array([3]), np.array([[1.0, 2.0]]), {"a": 1}
    assert AgentPool(agents).tell([1], [action], [rewards[0]], [info]) == [False]
    action[:], rewards[:] = 0, 0.0
    ((kept, reward, same),) = agents[1].told
    assert (kept.tolist(), reward.tolist()) == ([3], [1.0, 2.0])
    assert same is info
    assert agents[0].told == []


def test_agents_are_done_one_by_one() -> None:
    pool = AgentPool([Counts(0), Counts(1)])
    assert pool.tell([0, 1], [0, 0], [1.0, 1.0], [{}, {}]) == [True, False]
    assert pool.tell([1], [0], [1.0], [{}]) == [True]


class Watches(Agent):
    """Acts by the mask, once per step, and records observations and masks."""

    observes = True
    seen: ClassVar[list[Any]] = []

    def observe(self, observation: Any, mask: Any) -> None:
        self.row = int(np.flatnonzero(mask)[-1])
        self.seen.append((observation, mask))

    def ask(self) -> Any:
        return self.row

    def tell(self, action: Any, reward: Any, info: Mapping[str, Any]) -> None: ...

    def recommend(self) -> Any:
        return self.row


def test_policies_see_what_environment_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Observations and masks of a run, in this and in a separate process, equal those of the scalar environment."""
    kwargs = {"shuffle": False}
    monkeypatch.setattr(Watches, "seen", [])
    (here,) = run(Watches, "NMTHPO-zhen-v0", [3], budget=4, env_kwargs=kwargs)
    (alone,) = run(f"{__name__}:Watches", "NMTHPO-zhen-v0", [3], budget=4, env_kwargs=kwargs, isolate=True)
    assert here.actions.tolist() == alone.actions.tolist() == [117, 116, 115, 114]
    env = gym.make("NMTHPO-zhen-v0", budget=4, **kwargs)
    observation, info = env.reset(seed=seeds_of("NMTHPO-zhen-v0", 3)[0])
    for (shown, mask), row in zip(Watches.seen, here.actions, strict=True):
        assert np.array_equal(shown, observation)
        assert np.array_equal(mask, info["action_mask"])
        observation, *_, info = env.step(int(row))


def test_who_does_not_observe_is_shown_nothing() -> None:
    assert not AgentPool([Counts(0)]).observes
    assert AgentPool([Counts(0), object.__new__(Watches)]).observes

"""The agents of one run in this process: checked actions, and asked in turn, told copies, done one by one."""

from collections.abc import Mapping
from typing import Any, ClassVar

import gymnasium as gym
import numpy as np
import pytest

from hpo_envs.agents import Agent
from hpo_envs.benchmarks import run
from hpo_envs.benchmarks.runs import pool as actions
from hpo_envs.benchmarks.runs.episodes import seeds_of
from hpo_envs.benchmarks.runs.pool import AgentPool

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
    pool = AgentPool([Counts(0), Counts(1), Counts(2)])
    assert [float(action[0]) for action in pool.ask([2, 0])] == [21.0, 1.0]  # from one buffer
    assert [float(action[0]) for action in pool.ask([0, 1])] == [2.0, 11.0]
    assert list(pool.recommend()) == [0, 1, 2]


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
    """Acts by what it sees: the row that the mask has last, once for each step; keeps observations and masks."""

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
    """Observations and masks of a run, here and in a process of its own, are those of the scalar environment."""
    kwargs = {"shuffle": False}
    monkeypatch.setattr(Watches, "seen", [])
    (here,) = run(Watches, "NMTHPO-zhen-v0", [3], budget=4, env_kwargs=kwargs)
    (alone,) = run(
        "tests.benchmarks.runs.test_pool:Watches", "NMTHPO-zhen-v0", [3], budget=4, env_kwargs=kwargs, isolate=True
    )
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


ROWS = gym.spaces.Discrete(10)
PAIRS = gym.spaces.MultiDiscrete([10, 3])
BOX = gym.spaces.Box(-1.0, 1.0, (2,), np.float32)


@pytest.mark.parametrize(
    "space, value, kept",
    [
        (ROWS, 0, 0),
        (ROWS, np.int32(9), 9),
        (ROWS, np.array(3), 3),
        (gym.spaces.Discrete(3, start=5), 7, 7),
        (PAIRS, np.array([9, 2]), [9, 2]),
        (PAIRS, [0, 1], [0, 1]),
        (BOX, np.array([0.5, -1.0], np.float32), [0.5, -1.0]),
        (BOX, [0, 1], [0, 1]),
    ],
)
def test_elements_are_kept(space: Any, value: Any, kept: Any) -> None:
    got = actions.checker(space)(value)
    assert np.array_equal(got, kept)
    if isinstance(value, np.ndarray) and value.ndim:
        assert got.dtype == value.dtype
        value[:] = 0
        assert np.array_equal(got, kept)  # a copy


class Odd:
    def __repr__(self) -> str:
        raise RuntimeError("no repr")


@pytest.mark.hostile
@pytest.mark.parametrize(
    "value",
    [1.99, "17", True, np.True_, -1, 10, 99, None, [1], np.array([1]), 2**70, np.float64(3), np.timedelta64(3), Odd()],
)
def test_non_row_is_rejected(value: Any) -> None:
    with pytest.raises(ValueError, match=r"must be an int in \[0, 10\), got "):
        actions.checker(ROWS)(value)


OTHER_SHAPES = [1, None, "12", [1], [1, 2, 3], [[1], [2, 3]]]
OTHER_TYPES = [[1.0, 2.0], [True, False], [np.nan, 0], np.array([1, 2], "m8[s]"), np.ma.masked_array([1, 2], [1, 0])]
OUTSIDE = [[10, 0], [0, 3], [-1, 0], [2**64, 0]]


@pytest.mark.hostile
@pytest.mark.parametrize("value", [*OTHER_SHAPES, *OTHER_TYPES, *OUTSIDE])
def test_non_pair_is_rejected(value: Any) -> None:
    with pytest.raises(ValueError, match="must be ints"):
        actions.checker(PAIRS)(value)


@pytest.mark.hostile
@pytest.mark.parametrize(
    "value", [0.5, None, "ab", [0.5], [0.5, np.nan], [0.5, np.inf], [0.5, 1.0001], [True, False], [[0.5, 0.5]], [1j, 0]]
)
def test_what_is_not_in_box_is_rejected(value: Any) -> None:
    with pytest.raises(ValueError, match="must be numbers"):
        actions.checker(BOX)(value)


def test_recommendations_may_be_all_actions_of_candidate_where_it_takes_several() -> None:
    check = actions.checker(PAIRS)
    both = np.array([[1, 2], [3, 0]])
    assert np.array_equal(actions.recommendation(check, both, several=True), both)
    for value, several in ((both, False), (np.array([[1, 2], [3, 9]]), True), (np.empty((0, 2), int), True)):
        with pytest.raises(ValueError, match="must be ints"):
            actions.recommendation(check, value, several=several)


def test_spaces_of_other_kinds_are_rejected() -> None:
    with pytest.raises(ValueError, match="action_space must be"):
        actions.checker(gym.spaces.Dict({"a": ROWS}))

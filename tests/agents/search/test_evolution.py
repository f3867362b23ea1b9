"""Regularised evolution: ages, mutations of features, grammars, members built action by action."""

from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from hpo_envs import agents
from hpo_envs.agents import Problem
from hpo_envs.agents.search import evolution
from hpo_envs.benchmarks import problem_of
from tests.agents import helpers
from tests.agents.multifidelity.helpers import make, play


def test_evolution_is_regularised() -> None:
    """A member is removed after `population` children, even if it is the best."""
    agent = agents.make("regularized-evolution", Problem(gym.spaces.Discrete(50)), 0, population=3, sample=3)
    for k, (row, reward) in enumerate([(1, 9.0), (2, 0.0), (3, 0.0), (4, 0.0)]):
        agent.tell(row, reward, {"status": "ok"})
        assert (9.0 in [score for score, _ in agent._members]) == (k < 3)
    assert agent.recommend() == 1


def test_evolution_mutates_features_to_the_nearest_row_as_released() -> None:
    problem = problem_of(make())
    agent = agents.make("regularized-evolution", problem, 0, population=2, sample=2, fresh=False, evaluations=40)
    trail = play("regularized-evolution", make(), 0, population=2, sample=2, fresh=False, evaluations=40)[1]
    assert len(trail) == 40, "it is done after the given number of evaluations"
    assert agent.metric == "euclidean"
    rows = [row for (row, _), _, _ in trail]
    assert len(set(rows)) < len(rows), "rows met before are met again"


def test_evolution_moves_in_natural_values_where_ranges_are_given() -> None:
    x = np.array([[0.0, 0.5], [1.0, 0.25]])
    assert np.array_equal(evolution.natural(x, [(-2.0, 2.0), (0.0, 8.0)]), [[-2.0, 4.0], [2.0, 2.0]])
    assert np.array_equal(evolution.natural(x, None), [[-1.0, 1.0], [1.0, -1.0]])
    with pytest.raises(ValueError, match="ranges must be .* for each of 2 features"):
        evolution.natural(x, [(0.0, 1.0)])


def test_evolution_follows_the_grammar() -> None:
    """With `mutate` the agent needs neither rows nor features; None requests a random member."""
    calls = []

    def mutate(parent: Any, rng: np.random.Generator) -> int:
        calls.append(parent)
        return int(rng.integers(1000)) if parent is None else parent + int(rng.integers(-5, 6))

    problem = Problem(gym.spaces.Discrete(10**6), mutate=mutate)
    agent = agents.make("regularized-evolution", problem, 0, population=5, sample=3)
    helpers.play(agent, lambda action: float(-abs(action - 500)), 60)
    assert calls[:5] == [None] * 5
    assert None not in calls[5:]


@pytest.mark.parametrize("sizes", [[1, 1], [1, 3]])
def test_evolution_on_grid_of_single_values(sizes: list[int]) -> None:
    agent = agents.make("regularized-evolution", Problem(gym.spaces.MultiDiscrete(sizes)), 0, population=2)
    actions = helpers.play(agent, lambda action: float(np.sum(action)), 20)
    assert {tuple(a) for a in actions} == {(0, k) for k in range(sizes[1])}


def test_evolution_builds_a_member_action_by_action() -> None:
    """With members of three actions, only the step that completes one is an evaluation."""

    def mutate(parent: Any, rng: np.random.Generator) -> Any:
        return rng.integers(10, size=3) if parent is None else np.minimum(parent + rng.integers(0, 2, 3), 9)

    agent = agents.make(
        "regularized-evolution", Problem(gym.spaces.Discrete(10), mutate=mutate), 0, population=4, sample=2
    )
    built: list[list[int]] = []
    for _ in range(30):
        member = []
        for k in range(3):
            member.append(int(agent.ask()))
            agent.tell(member[-1], float(sum(member)) if k == 2 else 0.0, {"finished": k == 2, "cost": float(k == 2)})
        built.append(member)
        assert agent._members[-1][1].tolist() == member
    assert agent.recommend().tolist() == max(built, key=sum)
    assert max(map(sum, built[4:])) > max(map(sum, built[:4]))


def test_the_first_population_takes_a_third_of_the_budget() -> None:
    for budget, first in ((20, 7), (3, 2), (60, 20), (200, 20), (None, 20)):
        agent: Any = agents.make("regularized-evolution", Problem(gym.spaces.Discrete(500), budget=budget), 0)
        random: Any = agents.make("random", Problem(gym.spaces.Discrete(500), budget=budget), 0)
        for k in range(30):
            row, drawn = agent.ask(), random.ask()
            assert (row == drawn) or k >= first
            assert agent.random_first == min(k + 1, first)
            for one in (agent, random):
                one.tell(row, float(row), {"cost": 1.0, "status": "ok"})
        assert agent.population == len(agent._members) == first
    seconds = Problem(gym.spaces.Discrete(500), budget=300.0, unit="seconds")
    agent = agents.make("regularized-evolution", seconds, 0)
    for _ in range(6):
        agent.tell(agent.ask(), 0.0, {"cost": 40.0, "status": "ok"})
    assert agent.population == 3


def test_a_requested_population_size_is_kept() -> None:
    agent: Any = agents.make("regularized-evolution", Problem(gym.spaces.Discrete(99), budget=20), 0, population=20)
    for _ in range(20):
        agent.tell(agent.ask(), 0.0, {"cost": 1.0, "status": "ok"})
    assert agent.random_first == agent.population == 20

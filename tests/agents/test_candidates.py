"""Candidates by number: actions of every kind, tried ones, and failed runs."""

import dataclasses
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from hpo_envs import agents
from hpo_envs.agents.base import Incumbent
from hpo_envs.agents.candidates import Candidates
from hpo_envs.agents.problem import Problem, affordable, resources_of
from tests.agents.multifidelity.helpers import make, play
from tests.contracts.test_agents import missing_extra
from tests.helpers import raises, rejects

OK, FAILED, LATE = {"cost": 1.0, "status": "ok"}, {"cost": 1.0, "status": "failed"}, {"finished": False}
X = np.random.default_rng(0).random((12, 2))
ROWS = Problem(gym.spaces.Discrete(12), X, ("a", "b"))
PAIRS = Problem(gym.spaces.MultiDiscrete([12, 3]), X, ("a", "b"), levels=np.array([2.0, 4.0, 8.0]))
GRID = Problem(gym.spaces.MultiDiscrete([3, 4]))


@pytest.mark.parametrize("problem", [ROWS, PAIRS, GRID], ids=["rows", "pairs", "grid"])
def test_actions_and_candidates_are_one_to_one(problem: Problem) -> None:
    c = Candidates(problem)
    assert (c.count, [c.row(c.action(row)) for row in range(12)]) == (12, list(range(12)))
    assert all(c.action(row) in problem.action_space for row in range(12))
    assert c.features.shape == (12, 2)


@pytest.mark.parametrize("problem", [ROWS, PAIRS, GRID], ids=["rows", "pairs", "grid"])
def test_actions_outside_the_space_are_refused(problem: Problem) -> None:
    c, valid = Candidates(problem), np.atleast_1d(problem.action_space.sample())
    wrong: list[Any] = [valid - 100, valid + 100, valid + 0.5, "3", [*valid, 1], None]
    for action in wrong:
        rejects("action must be that of a candidate", c.note, action, 0.0, OK)


def test_what_is_pending_or_tried_is_not_free() -> None:
    c = Candidates(Problem(gym.spaces.Discrete(3)))
    assert (c.submit(2), c.submit(0), c.free.tolist()) == (2, 0, [False, True, False])
    assert not c.note(0, 0.0, LATE)
    assert c.note(0, 1.0, OK)
    assert c.note(1, 0.5, FAILED)
    assert c.pending == [2]
    assert c.free.all(), "when all were tried, all are free again"
    assert c.draw(np.random.default_rng(0)) in range(3)


def test_resources_are_in_units_of_first_level() -> None:
    assert (Candidates(PAIRS).top, Candidates(PAIRS.with_resource(2.0)).action(5).tolist()) == (2, [5, 1])
    assert ROWS.with_resource(2.0) is ROWS
    with raises("resource must be > 0, got 0"):
        PAIRS.with_resource(0)
    with raises("action_space must be Discrete rows, a grid or (row, level) pairs, got Box(0.0, 1.0, (2,), float32)"):
        Candidates(Problem(gym.spaces.Box(0.0, 1.0, (2,))))


def test_levels_from_0_are_a_step_more() -> None:
    assert resources_of(np.array([0.0, 100.0, 300.0])).tolist() == [100, 200, 400]
    assert (resources_of(np.array([0.0])).tolist(), resources_of(np.array([2.0, 3.0])).tolist()) == ([1], [2, 3])
    assert [affordable(np.array([0.0, 1.0, 2.0, 3.0]), r) for r in (0.5, 1, 2.5, 9)] == [0, 0, 1, 3]


def test_failed_run_is_best_only_until_one_succeeds() -> None:
    best = Incumbent(1)
    for action, reward, info, expected in (("a", 1.0, FAILED, "a"), ("b", 2.0, FAILED, "b"), ("c", 0.0, OK, "c")):
        best.note(action, reward, info)
        assert best.best == (reward, expected)
    best.note("d", 9.0, FAILED)
    assert best.best == (0.0, "c")


MODELS = {
    e.target: n
    for n, e in reversed(agents.AGENTS.items())
    if {"features", "rows"} <= {*e.supports} and not (e.alias_of or e.open or n == "random")
}
"""One agent of each class."""


@pytest.mark.parametrize("name", MODELS.values())
def test_no_model_learns_from_stand_in_of_failed_run(name: str) -> None:
    """The reward of a failed run affects no later action."""
    if missing_extra(name):
        pytest.skip(f"extra {agents.AGENTS[name].extra} not installed")

    def course(stand_in: float) -> list[Any]:
        helped = dataclasses.replace(ROWS, sources=(agents.Source("other", X, X[:, :1], np.ones(len(X))),))
        agent, actions = agents.make(name, helped if agents.AGENTS[name].sources else ROWS, 3), []
        for step in range(8):
            actions.append(agent.ask())
            failed = step in (0, 3)
            agent.tell(actions[-1], stand_in if failed else float(X[actions[-1]].sum()), FAILED if failed else OK)
        return [*actions, agent.recommend()]

    assert course(-1e3) == course(0.25) == course(1e3)


def test_resource_is_checkpoint_of_full_training() -> None:
    for name in ("random", "regularized-evolution", "smac-like"):
        trail = play(name, make(), 0, 5, resource=10)[1]
        assert {level for (_, level), _, _ in trail} == {9}


CELLS = Problem(gym.spaces.Discrete(10), mutate=lambda _, rng: rng.integers(10, size=3))


@pytest.mark.parametrize("name", ["regularized-evolution", "bo-thompson"])
def test_early_recommendation_changes_no_suggestion(name: str) -> None:
    one, two = (agents.make(name, ROWS, 0) for _ in range(2))
    assert one.recommend() in ROWS.action_space
    for _ in range(8):
        action = one.ask()
        assert np.array_equal(action, two.ask())
        for agent in (one, two):
            agent.tell(action, 1.0, OK)


@pytest.mark.parametrize("problem", [ROWS, PAIRS, GRID, Problem(gym.spaces.Box(0, 1, (2,))), CELLS])
def test_early_recommendation_of_random_search_is_next_candidate_and_changes_nothing(problem: Problem) -> None:
    one, two = (agents.make("random", problem, 0) for _ in range(2))
    early, asked = [one.recommend(), one.recommend()], [one.ask() for _ in range(3)]
    assert np.array_equal(asked, [two.ask() for _ in range(3)])
    assert np.array_equal(early, [asked if problem is CELLS else asked[0]] * 2)

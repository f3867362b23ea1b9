"""Agents of other packages on all problems that they support: exhausted tables, repeats, failures, two objectives."""

import dataclasses
from collections.abc import Callable
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from hpo_envs import agents
from hpo_envs.agents import AGENTS, Problem
from hpo_envs.agents.problem import Axis, Space
from tests.helpers import missing_extra

AXES = (
    Axis((1 / 6, 0.5, 5 / 6), name="layers", choices=(1, 2, 4)),
    Axis((0.25, 0.75), categorical=True, name="optimizer", choices=("adam", "sgd")),
    Axis(name="momentum", parent=1, when=(1,)),
    Axis(name="rate", low=1e-5, high=1e-1, log=True),
)
ROWS = 6
COLUMNS = [np.resize([1 / 6, 0.5, 5 / 6], ROWS), np.repeat([0.25, 0.75], ROWS // 2), np.linspace(0, 1, ROWS)]
POINTS = np.column_stack([*COLUMNS, np.linspace(0.9, 0.1, ROWS)])
POINTS[: ROWS // 2, 2] = 0.5  # inactive
LIST = Problem(gym.spaces.Discrete(ROWS), features=POINTS, axes=AXES, points=POINTS, budget=24)
PROBLEMS = {
    "rows": LIST,
    "objectives": dataclasses.replace(LIST, objectives=2),
    "levels": dataclasses.replace(
        LIST, action_space=gym.spaces.MultiDiscrete([ROWS, 3]), levels=np.array([1.0, 3.0, 9.0]), unit="s"
    ),
}
CLAIMED = [
    pytest.param(name, kind, marks=pytest.mark.skipif(missing_extra(name) is not None, reason="package not installed"))
    for name, entry in AGENTS.items()
    if entry.extra and entry.alias_of is None
    for kind in PROBLEMS
    if kind in entry.supports
]


def made(name: str, problem: Problem) -> Any:
    settings = {"sampler": "NSGAIISampler"} if name == "optuna" and problem.objectives > 1 else {}
    return agents.make(name, problem, 0, **settings)


def play(agent: Any, problem: Problem, steps: int, status: Callable[[int], str]) -> list[Any]:
    """Suggested actions; rewards have noise, so that repeats differ, and are bad for failed runs."""
    rng, asked = np.random.default_rng(0), list[Any]()
    while not agent.done and len(asked) < steps:
        asked.append(agent.ask())
        assert asked[-1] in problem.action_space
        told = status(len(asked) - 1)
        reward = -1.0 if told == "failed" else POINTS[np.ravel(asked[-1])[0], 3] + 0.1 * rng.random()
        rewards = np.array([reward, 1 - reward]) if problem.objectives > 1 else float(reward)
        agent.tell(asked[-1], rewards, {"status": told, "cost": 1.0, "finished": True})
    return asked


def test_points_of_small_tables_are_those_of_their_space() -> None:
    space = Space(AXES)
    assert np.allclose([space.point(space.config(p)) for p in POINTS], POINTS)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("name", "kind"), CLAIMED)
def test_agents_continue_or_end_after_every_row_was_tried(name: str, kind: str) -> None:
    problem = PROBLEMS[kind]
    agent = made(name, problem)
    steps = 3 * ROWS if AGENTS[name].supports == ("levels",) else ROWS + 3
    asked = play(agent, problem, steps, lambda k: "ok")
    rows = [int(np.ravel(action)[0]) for action in asked]
    assert agent.recommend() in problem.action_space
    if kind != "levels":
        assert sorted(rows[:ROWS]) == list(range(ROWS))
    assert len(rows) >= ROWS
    assert agent.done or len(rows) == steps


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("name", "kind"), [p for p in CLAIMED if p.values[1] == "levels"])
def test_what_was_evaluated_is_not_evaluated_forever_where_that_is_free(name: str, kind: str) -> None:
    problem = PROBLEMS[kind]
    agent = made(name, problem)
    steps = 12 * ROWS if AGENTS[name].supports == ("levels",) else ROWS + 3  # others train each row to the end
    asked = play(agent, problem, steps, lambda k: "ok")
    complete = {int(row) for row, level in asked if level == 2}
    assert agent.done or complete == set(range(ROWS))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("name", "kind"), CLAIMED)
def test_agents_continue_after_failed_runs(name: str, kind: str) -> None:
    problem = PROBLEMS[kind]
    agent = made(name, problem)
    asked = play(agent, problem, ROWS, lambda k: "ok" if k % 2 else "failed")
    assert str(agent.recommend()) in map(str, asked[1::2])
    all_fail = made(name, problem)
    assert len(play(all_fail, problem, ROWS, lambda k: "failed")) == ROWS
    assert all_fail.recommend() in problem.action_space


@pytest.mark.parametrize("name", dict.fromkeys(p.values[0] for p in CLAIMED))
def test_two_objectives_are_supported_or_refused(name: str) -> None:
    if missing_extra(name):
        pytest.skip("package not installed")
    if "objectives" not in AGENTS[name].supports:
        with pytest.raises(ValueError, match=r"objectives|levels"):
            agents.make(name, PROBLEMS["objectives"], 0)

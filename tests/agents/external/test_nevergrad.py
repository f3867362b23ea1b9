"""Nevergrad's optimizers with delayed results: those that need each result are not asked again before it."""

from typing import Any

import gymnasium as gym
import numpy as np
import pytest

pytest.importorskip("nevergrad")

from hpo_envs import agents
from hpo_envs.agents.external import nevergrad
from hpo_envs.agents.external.packages import package
from hpo_envs.agents.problem import Axis, Space
from hpo_envs.benchmarks.runs import problem_of


def problem(budget: int = 20) -> Any:
    return problem_of(gym.make("CharHPO-v0", disable_env_checker=True, budget=budget))


@pytest.mark.parametrize("waiting", [2, 5])
def test_asking_again_before_result_never_waits_for_it(waiting: int) -> None:
    agent, actions = agents.make("nevergrad", problem(), 0), []
    for k in range(20):
        actions.append(agent.ask())
        if k >= waiting - 1:
            action = actions[k - waiting + 1]
            agent.tell(action, -float(np.square(action).sum()), {"status": "ok"})
    assert len({action.tobytes() for action in actions}) > 5  # what it picks may repeat a configuration
    best = max(actions[: 21 - waiting], key=lambda action: -float(np.square(action).sum()))
    assert np.array_equal(agent.recommend(), best)


def test_one_worker_keeps_the_optimizer_that_was_picked_for_it() -> None:
    agent = agents.make("nevergrad", problem(), 0)
    first = agent._optimizer
    for _ in range(5):
        action = agent.ask()
        agent.tell(action, -float(np.square(action).sum()), {"status": "ok"})
    assert agent._optimizer is first
    agent.ask()
    agent.ask()
    assert agent._optimizer is not first
    assert agent._optimizer.num_tell_not_asked == 5


def test_an_optimizer_for_one_worker_rejects_several() -> None:
    agent = agents.make("nevergrad", problem(), 0, optimizer="Cobyla")
    agent.ask()
    with pytest.raises(ValueError, match="workers must be 1 for optimizer='Cobyla'"):
        agent.ask()


def test_random_search_draws_each_category_integer_and_value_equally_often() -> None:
    """Also within a run: a category at the start would be drawn in more than half of its suggestions."""
    axes = (
        Axis((0.0, 1.0), categorical=True, name="a", choices=("x", "y")),
        Axis(name="b", parent=0, when=(1,), low=1, high=4, whole=True),
        Axis(tuple(np.linspace(0, 1, 12)), name="c", choices=tuple(range(0, 120, 10))),
        Axis((0.0, 0.5, 1.0), name="d", choices=(1, 2, 4)),
        Axis(name="e", low=1, high=3, whole=True, log=True),
    )
    made = nevergrad.parameter_of(Space(axes), np.full(5, 0.1))  # the start of c is its value 10, with index 1
    assert made.value == {"a": made["a"].value, "c": 1, "d": 1, "e": 1}
    made.random_state.seed(0)
    optimizer = package("nevergrad").optimizers.RandomSearch(made, budget=600)
    drawn = [optimizer.ask().value for _ in range(600)]
    b = [v["a"]["b"] for v in drawn if v["a"]["a"] == "y"]
    a, c, d = ([value[name] for value in drawn] for name in "acd")
    for values, count in (([v["a"] for v in a], 2), (b, 4), (c, 12), (d, 3)):
        each = np.unique(values, return_counts=True)[1]
        assert len(each) == count
        assert np.abs(each / len(values) - 1 / count).max() < 4 * np.sqrt(1 / count / len(values))

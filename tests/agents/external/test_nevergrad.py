"""Nevergrad's optimizers with delayed results: those that need each result are not asked again before it."""

from typing import Any

import gymnasium as gym
import numpy as np
import pytest

pytest.importorskip("nevergrad")

from hpo_envs import agents
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

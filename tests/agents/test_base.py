"""Agents written as a loop, and checks shared by agents."""

from collections.abc import Generator
from typing import Any

import gymnasium as gym
import pytest

from hpo_envs.agents import Problem
from hpo_envs.agents.base import Planned, positive, whole


class Twice(Planned):
    """Evaluates row 1, then the row given by its reward."""

    def plan(self) -> Generator[Any, tuple[Any, Any], None]:
        reward, info = yield 1
        self.heard = info["status"]
        yield int(reward)

    def recommend(self) -> int:
        return 1


def test_a_plan_is_asked_and_told() -> None:
    agent = Twice(Problem(gym.spaces.Discrete(4)), 0)
    assert (agent.ask(), agent.ask()) == (1, 1)
    agent.tell(1, 3.0, {"status": "ok"})
    assert (agent.heard, agent.ask(), agent.done) == ("ok", 3, False)
    agent.tell(3, 0.0, {})
    assert agent.done


def test_a_plan_needs_each_result() -> None:
    agent = Twice(Problem(gym.spaces.Discrete(4)), 0)
    agent.ask()
    with pytest.raises(ValueError, match="workers must be 1 for Twice"):
        agent.tell(1, 3.0, {"finished": False})


@pytest.mark.parametrize("value", [0.0, -1.0, float("nan"), float("inf")])
def test_numbers_that_are_not_positive_are_rejected(value: float) -> None:
    assert positive("noise", 2) == 2.0
    with pytest.raises(ValueError, match=f"noise must be a finite number > 0, got {value}"):
        positive("noise", value)


@pytest.mark.parametrize("value", [0, 2.5, "3", True, float("nan"), float("inf"), -float("inf")])
def test_numbers_that_are_not_whole_are_rejected(value: Any) -> None:
    assert (whole("batch", 2.0, 1), whole("batch", 10**400, 1)) == (2, 10**400)
    with pytest.raises(ValueError, match=f"batch must be an int >= 1, got {value!r}"):
        whole("batch", value, 1)

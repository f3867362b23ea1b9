"""Parameters of environments on a box: spaces from the metrics' bounds, and the rules for arguments."""

from __future__ import annotations

from typing import Any

import pytest

from hpo_envs.engines.box.params import WITHOUT_BUDGET
from tests.hpo_envs.engines.box.toy import params


def test_spaces_follow_from_the_bounds_of_the_metrics() -> None:
    p = params(objective=("height", "loss"), cost="duration")
    assert (p.kind, p.vector, p.objectives, p.cost_unit) == ("box", True, ("height", "loss"), "s")
    assert p.reward_bounds.tolist() == [[-5.0, 15.0], [-2.0, 0.0]]
    assert p.action_space.shape == (2,)
    # Action, rewards, cost, best rewards, fact of the task, budget left.
    assert p.observation_space.low.tolist() == [-1, -1, -5, -2, 0, -5, -2, 0, 0]
    assert p.observation_space.high.tolist() == [1, 1, 15, 0, 4, 15, 0, 1, 1]
    one = params()
    assert (one.vector, one.observation_space.high.tolist()) == (False, [1, 1, 15, 1, 15, 1, 1])


def test_the_cost_has_a_name_and_a_unit() -> None:
    assert params(cost="duration").cost == params(cost="s").cost == "duration"
    assert params(cost="s", budget=None).budget == WITHOUT_BUDGET["s"]
    assert params(budget=None).budget == WITHOUT_BUDGET["evaluations"]


@pytest.mark.parametrize(
    ("kwargs", "message"),
    [
        ({"objective": "hight"}, "objective must be one of height, loss, duration, got 'hight', did you mean 'height'"),
        ({"objective": ()}, "objective must name at least one metric"),
        ({"cost": "loss"}, "cost must be one of evaluations, duration, got 'loss'"),
        ({"cost": None}, "cost must be one of evaluations, duration, got None"),
        ({"budget": 0}, "budget must be None or a finite number > 0"),
        ({"budget": 1.5}, "budget must be None or an int >= 1"),
    ],
)
def test_bad_arguments(kwargs: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        params(**kwargs)

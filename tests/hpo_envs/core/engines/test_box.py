"""The box engine, on a function computed by hand."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from gymnasium.error import ResetNeeded

from hpo_envs.core.engines.box.batched import BoxVectorEnv
from hpo_envs.core.engines.box.params import BoxFunction, BoxParams, Evaluations
from hpo_envs.core.engines.box.scalar import BoxEnv
from hpo_envs.tables.table import Hyperparameter, Metric, Provenance, Table
from hpo_envs.testing import batches
from tests.helpers import rejects, started

SPACE = (Hyperparameter("x", "int", 0, 10), Hyperparameter("shape", "categorical", 0, 1, values=("round", "flat")))
METRICS = (
    Metric("height", "m", "max", -5.0, 15.0),
    Metric("loss", "", "min", 0.0, 2.0),
    Metric("duration", "s", "min", 0.0, 4.0),
)


def table(name: str) -> Table:
    """A table of one row that represents a task."""
    return Table(
        name=f"toy/{name}",
        keys=("a",),
        metrics=METRICS[:1],
        values=np.zeros((1, 1, 1, 1)),
        cost=np.zeros((1, 1, 1)),
        provenance=Provenance("surrogate", "", "", "", ""),
    )


class Toy(BoxFunction):
    """Height: x + 5 on task 1, x on task 0; loss: 1 if constant; duration: x, beyond its bound of 4."""

    options = ("hill",)

    def __init__(self) -> None:
        self.tables, self.spaces = (table("low"), table("high")), (SPACE, SPACE)
        self.labels, self.facts = ({"hill": "low"}, {"hill": "high"}), np.array([[0.0], [1.0]])

    def evaluate(self, tasks: npt.NDArray[np.int64], actions: npt.NDArray[np.float64]) -> Evaluations:
        x, flat = np.rint((actions[:, 0] + 1.0) * 5.0), actions[:, 1] > 0.0
        metrics = {"height": x + 5.0 * tasks, "loss": flat.astype(np.float64), "duration": x.copy()}
        return Evaluations(np.column_stack([x, flat]), metrics, {"height": x - 1.0})

    def action_of(self, task: int, config: Any) -> npt.NDArray[np.float32]:
        return np.array([config["x"] / 5.0 - 1.0, 0.5], np.float32)

    def choose(self, options: Mapping[str, Any] | None) -> npt.NDArray[np.int64]:
        return np.array([options["hill"]]) if options else super().choose(options)


def params(**kwargs: Any) -> BoxParams:
    """The parameters of the toy's environment."""
    arguments = {"objective": "height", "cost": "evaluations", "budget": 3, **kwargs}
    return BoxParams.of(Toy(), METRICS, costs=METRICS[2:], **arguments)


def test_an_episode_on_a_box_equals_one_by_hand() -> None:
    env = BoxEnv(params())
    observation, info = env.reset(options={"hill": 1})
    assert observation.tolist() == [0, 0, -5, 0, -5, 1, 1]
    assert (info["table"], info["kind"], info["hill"]) == ("toy/high", "surrogate", "high")
    observation, reward, terminated, truncated, info = env.step(np.array([0.2, -0.5], np.float32))
    assert (reward, terminated, truncated) == (11.0, False, False)
    assert observation == pytest.approx([0.2, -0.5, 11, 1, 11, 1, 2 / 3])
    assert info == {
        "cost": 1.0, "metrics": {"height": 11.0, "loss": 0.0, "duration": 6.0}, "held_out": {"height": 5.0},
        "config": {"x": 6, "shape": "round"}, "status": "ok", "status_code": 0, "clipped": False,
    }  # fmt: skip
    observation, *_, info = env.step([-1.0, 1.0])
    assert (observation, info["config"]) == (pytest.approx([-1, 1, 5, 1, 11, 1, 1 / 3]), {"x": 0, "shape": "flat"})
    assert env.step([0.0, 0.0])[2]
    with pytest.raises(ResetNeeded):
        env.step([0.0, 0.0])


def test_vector_rewards_are_oriented_and_observations_stay_in_their_bounds() -> None:
    env = BoxEnv(params(objective=("loss", "height"), cost="duration", budget=7.5))
    env.reset(options={"hill": 0})
    observation, reward, terminated, _, info = env.step([1.0, 1.0])
    assert (reward.tolist(), info["cost"]) == ([-1.0, 10.0], 10.0)
    assert terminated
    assert observation.tolist() == [1, 1, -1, 10, 4, -1, 10, 0, 0], "cost beyond its bound, budget spent"


def test_actions_of_configurations() -> None:
    env = started(BoxEnv(params()))
    assert env.step(env.action_of({"x": 7}))[4]["config"] == {"x": 7, "shape": "flat"}


@pytest.mark.parametrize("rule", batches.BATCH_RULES)
@pytest.mark.parametrize("kwargs", [{"budget": 4}, {"objective": ("loss", "height"), "cost": "s", "budget": 12.0}])
def test_batched_form_keeps(kwargs: dict[str, Any], rule: str) -> None:
    p = params(**kwargs)
    batches.BATCH_RULES[rule](batches.Subject(lambda: BoxEnv(p), lambda n, **how: BoxVectorEnv(n, p, **how), {}))


def test_actions_outside_box_are_rejected() -> None:
    envs = started(BoxVectorEnv(2, params()))
    rejects(r"actions must be numbers of shape \(2, 2\) without NaN", envs.step, np.full((2, 2), np.nan))
    assert envs.action_of({"x": 5}) == pytest.approx([0.0, 0.5])


def test_spaces_follow_from_bounds_of_metrics() -> None:
    p = params(objective=("height", "loss"), cost="duration")
    assert (p.kind, p.vector, p.objectives, p.cost_unit) == ("box", True, ("height", "loss"), "s")
    assert (p.reward_bounds.tolist(), p.action_space.shape) == ([[-5.0, 15.0], [-2.0, 0.0]], (2,))
    # Action, rewards, cost, best rewards, fact of the task, budget left.
    assert p.observation_space.low.tolist() == [-1, -1, -5, -2, 0, -5, -2, 0, 0]
    assert p.observation_space.high.tolist() == [1, 1, 15, 0, 4, 15, 0, 1, 1]
    one = params()
    assert (one.vector, one.observation_space.high.tolist()) == (False, [1, 1, 15, 1, 15, 1, 1])


def test_cost_has_name_and_unit() -> None:
    assert params(cost="duration").cost == params(cost="s").cost == "duration"
    assert (params(cost="s", budget=None).budget, params(budget=None).budget) == (1e8, 1e4)
    updates = Metric("updates", "updates", "min", 0.0, 9.0)
    assert BoxParams.of(Toy(), METRICS, "height", "updates", 5, (updates,)).cost_unit == "updates"


@pytest.mark.parametrize(
    ("kwargs", "message"),
    [
        ({"objective": "hight"}, "objective must be one of height, loss, duration, got 'hight', did you mean 'height'"),
        ({"objective": ()}, "objective must name at least one of"),
        ({"cost": "loss"}, "cost must be one of evaluations, duration, got 'loss'"),
        ({"cost": None}, "cost must be one of evaluations, duration, got None"),
        ({"budget": 0}, "budget must be None or a finite number > 0"),
        ({"budget": 1.5}, "budget must be None or an int >= 1"),
    ],
)
def test_invalid_arguments_are_rejected(kwargs: dict[str, Any], message: str) -> None:
    rejects(message, params, **kwargs)

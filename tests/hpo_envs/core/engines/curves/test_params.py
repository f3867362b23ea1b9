"""Arguments of learning-curve environments: levels, budgets, units, and the texts of errors."""

from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from hpo_envs.core.engines.curves.params import CurveParams
from hpo_envs.tables.table import Table
from tests.helpers import raises
from tests.hpo_envs.core.engines.curves.model import ROWS, THREE, curves, curves_env, curves_envs


def params_of(table: Table, objective: Any, held_out: Any = (), **kwargs: Any) -> CurveParams:
    return CurveParams.of("toy", table=table, objective=objective, held_out=held_out, **kwargs)


def test_prepared_arrays_have_the_values_of_the_table() -> None:
    p = params_of(THREE, ("accuracy", "loss"), ("test",), levels=3)
    assert p.answers is params_of(curves(), ["accuracy", "loss"], ("test",), levels=3).answers
    assert p.levels.tolist() == [1.0, 3.0, 20.0]
    assert (p.rows, p.repeats, p.objectives, p.shown, p.held_out) == (
        ROWS, 3, ("accuracy", "loss"), ("loss", "accuracy"), ("test",)
    )  # fmt: skip
    assert (p.count.tolist(), p.low.tolist(), p.high.tolist()) == ([3, 3, 1, 3, 2, 3], [0, -20], [1, 0])
    assert (p.cost_unit, p.cost_at) == ("s", 6)
    space = p.observation_space
    assert (space.dtype, space.low.tolist()) == (np.float32, [0, 0, 0, 0, 0, -20, 0, 0, -20, 0])
    assert space.high.tolist() == [1, 1, 1, 1, 1, 0, 1e9, 1, 0, 1]
    for array in (p.costs, p.answers, p.rewards, p.peaks, p.peak_levels, p.peak_hidden, p.status):
        assert not array.flags.writeable
    assert p.status.dtype == np.uint8
    full = p.full
    assert (full.shape, np.isnan(full).tolist()) == ((ROWS, 3), [[k >= count for k in range(3)] for count in p.count])
    assert full[0].tolist() == THREE.cost[0, :, -1].tolist()
    assert params_of(THREE, "loss", levels=3, budget=None).budget == pytest.approx(np.nanmax(full, axis=1).sum())
    assert p.budget == pytest.approx(20 * np.nanmean(full))
    per_step = {"cost": "evaluations", "levels": 3}
    assert params_of(THREE, "loss", budget=None, **per_step).budget == 18.0
    assert params_of(THREE, "loss", **per_step).budget == 20.0
    assert params_of(THREE, "loss", cost="epochs").cost_unit == "epochs"
    assert params_of(THREE, "loss", cost="seconds").cost_unit == "s"
    assert params_of(curves(cost_unit="min"), "loss", cost="min").cost_unit == "min"
    assert params_of(THREE, "loss").shown == ("loss", "test", "accuracy")
    env = curves_env("toy", table=THREE, objective="loss", held_out=["test"])
    assert env.reward_bounds.tolist() == [[-20.0, 0.0]]
    assert (env.objectives, env.cost_unit, env.workers, env.budget) == (
        ("loss",), "s", 1, pytest.approx(20 * np.nanmean(params_of(THREE, "loss").full))
    )  # fmt: skip
    both = curves_env("toy", table=THREE, objective=("accuracy", "loss"))
    many = curves_envs(2, "toy", table=THREE, objective=("accuracy", "loss"))
    for e in (both, many):
        assert (e.reward_dim, e.reward_space) == (2, gym.spaces.Box(p.low, p.high, dtype=np.float64))
        assert e.reward_bounds.tolist() == [[0.0, 1.0], [-20.0, 0.0]]
        assert (e.cost_unit, e.objectives, e.workers) == ("s", ("accuracy", "loss"), 1)
    assert many.metadata["autoreset_mode"] is gym.vector.AutoresetMode.NEXT_STEP
    assert many.copy is True


WORDS: list[tuple[dict[str, Any], str]] = [
    ({"variant": "papers"}, "variant must be one of paper, released, got 'papers', did you mean 'paper'?"),
    ({"levels": 0}, "levels must be None or an int >= 1, got 0"),
    ({"cost": 3}, "cost must be None or the name of a unit, got 3"),
    ({"cost": "epoch"}, "cost must be one of seconds, epochs, evaluations, got 'epoch', did you mean 'epochs'?"),
    ({"objective": "los"}, "objective must be one of loss, accuracy, got 'los', did you mean 'loss'?"),
    ({"objective": ("loss", "x")}, "objective must be one of loss, accuracy, got 'x'"),
    ({"objective": 3}, "objective must be a name or a tuple of names, got 3"),
    ({"objective": ()}, "objective must name at least one of loss, accuracy, got ()"),
    ({"objective": ("loss", "loss")}, "objective must name a metric only once, got ('loss', 'loss')"),
    (
        {"held_out": ("tests",)},
        "metric must be one of loss, test, accuracy in table toy/curves, got 'tests', did you mean 'test'?",
    ),
    ({"table": curves(cost_unit="min"), "cost": "x"}, "cost must be one of min, epochs, evaluations, got 'x'"),
    ({"workers": 0}, "workers must be an int >= 1, got 0"),
    ({"budget": "all"}, "budget must be one of auto, None or a number > 0, got 'all'"),
    ({"budget": 0}, "budget must be None or a finite number > 0 (s), got 0"),
]


@pytest.mark.parametrize(("kwargs", "message"), WORDS)
def test_errors_of_settings_name_argument_and_rule(kwargs: dict[str, Any], message: str) -> None:
    given = {"table": THREE, "objective": "loss", "held_out": ("test",), **kwargs}
    with raises(message):
        curves_env("toy", **given)
    with raises(message):
        curves_envs(2, "toy", **given)


def test_defaults_of_arguments_are_resolved() -> None:
    name, objective = "nmtlc/swen", "log_perplexity"
    for env in (curves_env(name, objective=objective), curves_envs(1, name, objective=objective)):
        p = params_of(env.table, objective)
        assert (env.table.name, env.cost_unit, env.workers, env.budget) == (name, env.table.cost_unit, 1, p.budget)
        assert env.levels.tolist() == env.table.levels.tolist()
        env.reset(seed=0)
    assert "held_out" not in env.step(np.array([[0, 0]]))[-1]


def test_the_truth_is_the_mean_of_the_repeats() -> None:
    p = params_of(THREE, "loss")
    actions = np.array([[row, level] for row in range(p.rows) for level in range(len(p.levels))])
    rewards = p.rewards.reshape(p.rows, p.repeats, len(p.levels))
    by_hand = [sum(rewards[row, k, level] for k in range(p.count[row])) / p.count[row] for row, level in actions]
    assert p.truth(0, actions) == pytest.approx(by_hand, rel=1e-14)

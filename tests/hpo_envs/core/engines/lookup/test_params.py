"""Arguments of look-up environments: spaces, defaults, arrays, and texts of errors on tables, metrics and costs."""

import dataclasses
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode

from hpo_envs.core.engines.curves.params import CurveParams
from hpo_envs.core.engines.lookup.params import LookupParams, grid_sizes
from hpo_envs.core.infos import configs_of
from hpo_envs.tables.store import load_tables
from hpo_envs.tables.table import LOST, STATUSES, ByHash, Provenance
from tests.helpers import raises
from tests.hpo_envs.core.engines.lookup.model import (
    METRICS,
    ONE,
    SETTINGS,
    SINGLE,
    SPACE,
    TWO,
    arguments,
    lookup,
    lookups,
    tiny,
)


def params_of(tables_: Any, objective: Any, cost: Any) -> LookupParams:
    return LookupParams.of((), table=tables_, objective=objective, cost=cost, budget=None)


SOURCE = Provenance("surrogate", "nobody/nothing", "0" * 40, "none", "none")


@pytest.mark.parametrize("setting", SETTINGS)
def test_spaces_of_both_forms_agree(setting: str) -> None:
    one, many = lookup((), **arguments(setting)), lookups(2, (), **arguments(setting))
    tables_, objective, cost, _, grid = SETTINGS[setting]
    names = (objective,) if isinstance(objective, str) else objective
    p = params_of(tuple(tables_), objective, cost)
    action_space = gym.spaces.MultiDiscrete([2, 3]) if grid else gym.spaces.Discrete(6)
    for env, spaces in (
        (one, (one.action_space, one.observation_space)),
        (many, (many.single_action_space, many.single_observation_space)),
    ):
        assert spaces == (action_space, p.observation_space)
        assert (env.cost_unit, env.objectives, env.reward_dim) == (p.cost_unit, names, len(names))
        assert env.reward_bounds.tolist() == np.stack([p.low, p.high], axis=1).tolist()
        if not isinstance(objective, str):
            assert env.reward_space == gym.spaces.Box(p.low, p.high, dtype=np.float64)
            assert env.reward_space.dtype == np.float64


def test_defaults_of_arguments_are_resolved() -> None:
    names = ("nmthpo/swen",)
    one, many = lookup(names), lookups(1, names)
    for env in (one, many):
        assert env.table.name == "nmthpo/swen"
        assert (env.objectives, env.cost_unit, env.budget) == (("bleu",), "evaluations", 20.0)
        env.reset(seed=0)
    assert one.action_space == many.single_action_space == gym.spaces.Discrete(len(one.table))
    assert many.copy
    assert many.metadata["autoreset_mode"] is AutoresetMode.NEXT_STEP
    with raises("budget must be one of auto, None or a number > 0, got 'all'"):
        lookup((), table=ONE, objective="score", budget="all")


def test_errors_of_tables_and_metrics_name_argument_and_rule() -> None:
    for given in (3, (), [1], "nmthpo/zhen"):
        with raises(f"table must be a Table, or a tuple or list of some, got {given!r}"):
            load_tables((), given)
    assert (load_tables((), ONE), load_tables((), [ONE, TWO])) == ((ONE,), (ONE, TWO))
    for objective, message in (
        ((), "objective must name at least one of score, seconds, got ()"),
        ("scor", "objective must be one of score, seconds, got 'scor', did you mean 'score'?"),
        (3, "objective must be a name or a tuple of names, got 3"),
        (("score", 3), "objective must be a name or a tuple of names, got ('score', 3)"),
    ):
        with raises(message):
            params_of((ONE,), objective, "evaluations")
    for cost, message in (
        ("secnds", "cost must be one of evaluations, score, seconds, got 'secnds', did you mean 'seconds'?"),
        ("score", "cost must be evaluations or a metric to minimise, got 'score'"),
        (None, "cost must be evaluations or the name of a metric, got None"),
    ):
        with raises(message):
            params_of((ONE,), "score", cost)
    message = "shuffle and subsample must be left out for actions on a grid, got View(shuffle=True, subsample=1.0)"
    with raises(message):
        LookupParams.of((), table=ONE, grid=True, shuffle=True)
    with raises("tables must share space, rows and metrics, got toy/one and toy/single"):
        params_of((ONE, SINGLE), "score", "evaluations")
    for change in (
        {"metrics": (METRICS[0], dataclasses.replace(METRICS[1], high=99.0))},
        {"space": (SPACE[0], dataclasses.replace(SPACE[1], values=("adam", "sgd", "lion")))},
    ):
        with raises("tables must share space, rows and metrics, got toy/one and toy/two"):
            params_of((ONE, tiny(name="toy/two", **change)), "score", "evaluations")


def test_prepared_arrays() -> None:
    p = params_of((ONE, TWO), ["score"], "evaluations")
    assert p.rewards is params_of((tiny(), TWO), ("score",), "evaluations").rewards
    assert p.rewards is not params_of((TWO, ONE), ("score",), "evaluations").rewards
    assert (p.objectives, p.labels, p.repeats.tolist()) == (("score",), ("one", "two"), [2, 2, 2, 2, 2, 1] * 2)
    assert (p.repeats.dtype, p.rows, p.max_repeats, p.cost_unit) == (np.int64, 6, 2, "evaluations")
    assert (p.budget, p.low.tolist(), p.high.tolist()) == (12.0, [0.0], [10.0])
    assert p.metrics[11].tolist() == [0.0, 100.0]  # never measured: the worst
    assert [STATUSES[code] for code in p.status[[0, 7, 11]]] == ["ok", "truncated", "failed"]
    for array in (p.metrics, p.rewards, p.costs, p.templates, p.status, p.repeats):
        assert not array.flags.writeable
    seconds = params_of((ONE,), "score", "seconds")
    assert seconds.cost_unit == "s"
    usual = LookupParams.of((), table=ONE, objective="score", cost="seconds").budget
    assert (usual, seconds.observation_space.high[5]) == (20.0 * seconds.costs.mean(), 100.0)
    assert params_of((ONE,), "score", "s").observation_space.high[5] == np.float32(1e9)
    space = params_of((ONE,), ("seconds", "score"), "evaluations").observation_space
    assert space.low.tolist() == [0, 0, 0, 0, -100, 0, 0, -100, 0, 0]
    assert (space.high.tolist(), space.dtype) == ([1, 1, 1, 1, 0, 10, 1, 0, 10, 1], np.float32)
    unnamed = tiny(metrics=(METRICS[0], dataclasses.replace(METRICS[1], unit="")), cost_unit="evaluations")
    assert (params_of((unnamed,), "score", "seconds").cost_unit, ByHash(ONE)) == ("seconds", ByHash(tiny()))
    assert ByHash(ONE) != ByHash(TWO)
    assert ByHash(ONE) != ONE
    natural = configs_of(SPACE)(ONE.configs)
    assert [column.dtype for column in natural.values()] == [np.float64, object]
    assert set(natural[SPACE[1].name]) <= {"adam", "sgd", "none"}
    assert grid_sizes(ONE).tolist() == [2, 3]
    with raises("table must be a complete grid, got toy/one with 5 rows"):
        grid_sizes(ONE.subset(range(5)))
    with raises("table must have its rows in grid order (last hyperparameter fastest), got toy/one"):
        grid_sizes(ONE.subset([1, 0, 2, 3, 4, 5]))
    with raises("table must be a complete grid, got toy/one with 1 rows"):
        grid_sizes(dataclasses.replace(ONE.subset([0]), space=(), configs=np.zeros((1, 0)), provenance=SOURCE))


def test_diverged_and_failed_runs_have_worst_value() -> None:
    values, status = SINGLE.values.copy(), np.zeros((6, 1), np.uint8)
    values[0, 0, 1] = values[1, 0, 1, 0] = values[2, 0, 1] = np.nan
    status[:4, 0] = [STATUSES.index(name) for name in ("diverged", "failed", "truncated", "diverged")]
    table = dataclasses.replace(SINGLE, values=values, status=status, provenance=SOURCE)
    p = params_of((table,), ("score", "seconds"), "evaluations")
    assert p.metrics[0].tolist() == [0.0, 100.0]  # lost after its first level
    assert p.metrics[1].tolist() == [0.0, values[1, 0, 1, 1]]  # at the level at which it was lost
    assert p.metrics[2].tolist() == values[2, 0, 0].tolist()
    assert p.metrics[3].tolist() == values[3, 0, 1].tolist()  # known to the end
    curves = CurveParams.of("", table=table, objective=("score", "seconds"))
    assert np.array_equal(p.metrics[[0, 1, 3]], curves.answers[np.arange(6) * 2 + curves.ends][[0, 1, 3], 3:])


@pytest.mark.parametrize(
    "env_id, lost, worst",
    [("TaskSet-irnn64-v0", 245, -10.0), ("CellMini-v0", 59, -50.0), ("TextMini-names-joint-v0", 26, 0.0)],
)
def test_diverged_runs_of_recorded_tables_have_documented_value(env_id: str, lost: int, worst: float) -> None:
    p = gym.make(env_id).unwrapped.params
    assert p.rewards[np.isin(p.status, LOST), 0].tolist() == [worst] * lost

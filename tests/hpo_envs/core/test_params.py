"""`Params`: one record for both forms, agents and pictures; checks of actions and budgets."""

from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from hpo_envs.agents import Problem
from hpo_envs.core.params import (
    bounds_of,
    box,
    check_action,
    check_box,
    check_budget,
    check_int,
    check_ints,
    check_options,
    checker,
    kind_of,
    ordinals,
    recommendation,
    rewarded,
    shown,
)
from hpo_envs.tables.table import Metric
from tests.helpers import IDS, raises, rejects, short

METRICS = (Metric("loss", "nats", "min", 0.0, 20.0), Metric("bleu", "BLEU", "max", -1.0, 100.0))


def test_bounds_of_rewards_are_those_of_metrics_turned_where_lower_is_better() -> None:
    assert bounds_of(METRICS).tolist() == [[-20.0, 0.0], [-1.0, 100.0]]


def test_rewarded_metrics_by_name() -> None:
    assert rewarded("bleu", METRICS) == (METRICS[1],)
    assert rewarded(("bleu", "loss"), METRICS) == (METRICS[1], METRICS[0])
    rejects(r"objective must name at least one of loss, bleu, got \(\)", rewarded, (), METRICS)
    rejects("objective must be one of loss, bleu, got 'bleuu'.*bleu", rewarded, "bleuu", METRICS)


def test_both_forms_are_made_of_same_record() -> None:
    env, envs = (gym.make("NMTHPO-zhen-v0"), gym.make_vec("NMTHPO-zhen-v0", num_envs=2))
    one, many = env.unwrapped, envs.unwrapped
    assert kind_of(env) == kind_of(envs) == "rows"
    assert one.params.rewards is many.params.rewards
    for name in ("cost_unit", "budget", "objectives", "levels", "workers", "reward_dim"):
        assert getattr(one, name) == getattr(many, name) == getattr(one.params, name)
    assert one.reward_bounds.tolist() == many.reward_bounds.tolist() == [[0.0, 100.0]]
    assert not hasattr(one, "reward_space")
    assert (type(many).__name__, type(many).__module__) == ("NMTHPOVectorEnv", type(one).__module__)
    assert kind_of(gym.make("CartPole-v1")) is None


def test_spaces_of_two_environments_are_seeded_apart() -> None:
    one, other = gym.make("NMTHPO-zhen-v0"), gym.make("NMTHPO-zhen-v0")
    one.action_space.seed(1)
    expected = [one.action_space.sample() for _ in range(5)]
    one.action_space.seed(1)
    other.action_space.seed(2)
    assert [one.action_space.sample() for _ in range(5)] == expected


def test_what_agents_may_know() -> None:
    params = gym.make("NMTHPO-zhen-v0").unwrapped.params
    problem = params.problem()
    assert problem["features"] is problem["base"] is params.table.features
    assert (problem["unit"], problem["budget"], problem["objectives"]) == ("evaluations", 20.0, 1)
    rows = np.array([3, 1])
    assert Problem(**params.problem(rows)).features.tolist() == params.table.features[[3, 1]].tolist()
    assert Problem(**params.problem(rows)).index.tolist() == [3, 1]
    grid = gym.make("NMTHPO-v0").unwrapped.params.problem()
    assert grid["features"] is None
    assert gym.make("NMTHPO-v0").unwrapped.params.problem(rows)["index"] is None
    assert grid["feature_names"] == ()


def test_batched_form_takes_scalar_forms_arguments() -> None:
    from hpo_envs.families.nmthpo.page import NMTHPOEnv, NMTHPOVectorEnv

    assert (NMTHPOVectorEnv.__name__, NMTHPOVectorEnv.__module__) == ("NMTHPOVectorEnv", NMTHPOEnv.__module__)
    assert "NMTHPOEnv" in NMTHPOVectorEnv.__doc__
    both: dict[str, Any] = {"objective": "perplexity", "cost": "updates", "shuffle": True}
    one, many = NMTHPOEnv("zhen", **both).params, NMTHPOVectorEnv(2, "zhen", **both).params
    assert (many.objectives, many.cost_unit, many.view) == (one.objectives, one.cost_unit, one.view)
    assert (NMTHPOVectorEnv(3, "zhen", budget=5).budget, NMTHPOVectorEnv().num_envs) == (5.0, 1)


@pytest.mark.parametrize(
    ("budget", "unit", "message"),
    [
        (True, "s", "budget must be None or a number > 0, got True"),
        ("3", "s", "budget must be None or a number > 0, got '3'"),
        (0, "s", "budget must be None or a finite number > 0 (s), got 0"),
        (-2.5, "s", "budget must be None or a finite number > 0 (s), got -2.5"),
        (float("inf"), "s", "budget must be None or a finite number > 0 (s), got inf"),
        (1.5, "evaluations", "budget must be None or an int >= 1 (evaluations), got 1.5"),
    ],
)
def test_errors_of_budgets_name_argument_and_rule(budget: Any, unit: str, message: str) -> None:
    with raises(message):
        check_budget(budget, 9.0, unit)


def test_budgets() -> None:
    assert check_budget(None, 9.0, "s") == 9.0
    assert [check_budget(b, 9.0, "s") for b in (2, 0.5, np.float32(0.25), np.int8(3))] == [2.0, 0.5, 0.25, 3.0]
    assert type(check_budget(np.int8(3), 9.0, "evaluations")) is float
    assert check_budget(1.0, 9.0, "evaluations") == 1.0


def test_errors_of_reset_options_name_argument_and_rule() -> None:
    check_options(None, ())
    check_options({"table": 1}, ("table",))
    with raises("options must be None or a mapping, got [1]"):
        check_options([1], ("table",))
    with raises("keys of options must be among (none), got 'tabel'"):
        check_options({"tabel": 1}, ())
    with raises("keys of options must be among table, rows, got 'tabel', did you mean 'table'?"):
        check_options({"table": 1, "tabel": 1}, ("table", "rows"))


def test_numbers_of_workers() -> None:
    assert check_int("workers", 1, high=1_000_000) == check_int("workers", np.int64(1), high=1_000_000) == 1
    assert type(check_int("workers", np.int64(1_000_000), high=1_000_000)) is int
    for wrong in (0, True, np.True_, 1.5, "2"):
        with raises(f"workers must be an int >= 1, got {wrong!r}"):
            check_int("workers", wrong, high=1_000_000)
    with raises("workers must be at most 1000000, got 1000001"):
        check_int("workers", 1_000_001, high=1_000_000)
    for none in (0, True, 1.5):
        with raises(f"n must be None or an int >= 1, got {none!r}"):
            check_int("n", none, optional=True)


def test_ordinals_are_counted_by_key_whatever_order() -> None:
    values, keys = np.array([3, 3, 0, 3, 0, 3, 2]), np.array([1, 2, 1, 1, 1, 2, 0], np.uint64)
    assert ordinals(values, keys).tolist() == [0, 0, 0, 1, 1, 1, 0]
    assert ordinals(values[:0], keys[:0]).tolist() == []


def test_box_is_made_of_parts_in_float32() -> None:
    space = box((1, 0.0, 2.0), (2, (-1.0, -2.0), np.inf))
    assert (space.low.tolist(), space.high.tolist()) == ([0.0, -1.0, -2.0], [2.0, np.inf, np.inf])
    assert (space.dtype, space.low.dtype, space.high.dtype) == (np.float32, np.float32, np.float32)


@pytest.mark.parametrize(
    "env_id", ["NMTHPO-zhen-v0", "NMTHPO-v0", "CharHPO-v0", "FIESTA-ner-v0", "NASBenchNLP-cell-v0"]
)
def test_environments_are_shown_in_few_words(env_id: str) -> None:
    for env in (gym.make(env_id), gym.make_vec(env_id, num_envs=2)):
        text = repr(env.unwrapped)
        tables = env.unwrapped.tables
        assert text.startswith(f"<{env_id}: table {tables[0].name if len(tables) == 1 else 'one of'} ")
        assert f", actions {env.unwrapped.params.action_space}, " in text
        assert f", objectives {', '.join(env.unwrapped.objectives)}, budget {env.unwrapped.budget:g}" in text
        assert len(text) < 300
        assert env_id in env.unwrapped._repr_html_()


def test_actions_are_ints_of_any_type() -> None:
    assert check_action(3, 4) == check_action(np.uint64(3), 4) == check_action(np.array(3, np.int8), 4) == [3]
    for action in ([0, 2], (0, 2), [np.int8(0), np.uint32(2)], np.array([0, 2], np.uint8)):
        assert check_action(action, [2, 3]) == [0, 2]
    for action in (-1, 4, 10**30, 1.0, "x", None, True, [1], np.array([1]), [0, 2]):
        with raises(f"action must be an int in [0, 4), got {action!r}"):
            check_action(action, 4)
    for action in (3, [0], [0, 0, 0], [0, 3], [-1, 0], [0.0, 1.0], "ab", np.array([[0, 1]]), [[0], [1]], [True, False]):
        with raises(f"action must be 2 ints in [0, [2, 3]), got {action!r}"):
            check_action(action, [2, 3])


@pytest.mark.parametrize(
    ("actions", "shape", "limits", "message"),
    [
        ([0], (2,), 6, "of shape (2,), got shape (1,) and dtype int64"),
        ([0.0, 1.0], (2,), 6, "of shape (2,), got shape (2,) and dtype float64"),
        ([0, 6], (2,), 6, "in [0, 6), got 6"),
        ([-1, 0], (2,), 6, "in [0, 6), got -1"),
        ([0, 0], (2, 2), [2, 3], "of shape (2, 2), got shape (2,) and dtype int64"),
        ([[0, 0], [0, 3]], (2, 2), [2, 3], "in [0, [2, 3]), got [0, 3]"),
        ([[0, -1], [0, 0]], (2, 2), [2, 3], "in [0, [2, 3]), got [0, -1]"),
    ],
)
def test_batches_of_actions_are_ints(actions: Any, shape: tuple[int, ...], limits: Any, message: str) -> None:
    for given in (actions, np.array(actions)):
        with raises(f"actions must be ints {message}"):
            check_ints(given, shape, limits)
    for good in (np.ones(shape, np.uint8), np.ones(shape, np.int32).tolist()):
        assert (check_ints(good, shape, limits).dtype, check_ints(good, shape, limits).min()) == (np.int64, 1)


BOXES = [s for s in IDS if isinstance(gym.make(s).action_space, gym.spaces.Box)]


@pytest.mark.parametrize("action", [[0.0], [0.0, np.nan], "ab", None, [[0.0, 0.0]], [0, 10**400], ["0", "1"]])
def test_non_point_is_rejected(action: Any) -> None:
    with raises(f"action must be numbers of shape (2,) without NaN, got {shown(action)}"):
        check_box(action, (2,), "action")


def test_numbers_beyond_bound_are_set_to_it() -> None:
    points, clipped = check_box([[0.5, 1], [1.5, -0.25], [-np.inf, np.inf]], (3, 2), "actions")
    assert (points.tolist(), clipped.tolist()) == ([[0.5, 1.0], [1.0, -0.25], [-1.0, 1.0]], [False, True, True])


@pytest.mark.parametrize("spec_id", BOXES)
def test_environments_is_reported(spec_id: str) -> None:
    make = {**short(spec_id)}
    env, envs = gym.make(spec_id, **make), gym.make_vec(spec_id, num_envs=2, **make)
    at = np.linspace(-1, 1, env.action_space.shape[0], dtype=np.float32)
    at[0], beyond = 1.0, at.copy()
    beyond[0] = 101.0
    env.reset(seed=3)
    inside = env.step(at)
    env.reset(seed=3), envs.reset(seed=[3, 3])
    outside, both = env.step(beyond), envs.step(np.stack([at, beyond]))
    assert (inside[0].tolist(), inside[1]) == (outside[0].tolist(), outside[1])
    assert (inside[4]["clipped"], outside[4]["clipped"]) == (False, True)
    assert (both[4]["clipped"].tolist(), both[0][0].tolist()) == ([False, True], both[0][1].tolist())


ROWS = gym.spaces.Discrete(10)
PAIRS = gym.spaces.MultiDiscrete([10, 3])
BOX = gym.spaces.Box(-1.0, 1.0, (2,), np.float32)


@pytest.mark.parametrize(
    "space, value, kept",
    [
        (ROWS, 0, 0), (ROWS, np.int32(9), 9), (ROWS, np.array(3), 3), (gym.spaces.Discrete(3, start=5), 7, 7),
        (PAIRS, np.array([9, 2]), [9, 2]), (PAIRS, [0, 1], [0, 1]),
        (BOX, np.array([0.5, -1.0], np.float32), [0.5, -1.0]), (BOX, [0, 1], [0, 1]),
    ],
)  # fmt: skip
def test_elements_are_kept(space: Any, value: Any, kept: Any) -> None:
    got = checker(space)(value)
    assert np.array_equal(got, kept)
    if isinstance(value, np.ndarray) and value.ndim:
        assert got.dtype == value.dtype
        value[:] = 0
        assert np.array_equal(got, kept)  # a copy


class Odd:
    def __repr__(self) -> str:
        raise RuntimeError("no repr")


OTHER_ROWS = [1.99, "17", True, np.True_, -1, 10, 99, None, [1], np.array([1]), 2**70, np.float64(3), np.timedelta64(3)]
OTHER_PAIRS = [1, None, "12", [1], [1, 2, 3], [[1], [2, 3]], [1.0, 2.0], [True, False], [np.nan, 0], [10, 0], [0, 3]]
OTHER_PAIRS += [[-1, 0], [2**64, 0], np.array([1, 2], "m8[s]"), np.ma.masked_array([1, 2], [1, 0])]
OTHER_POINTS = [0.5, None, "ab", [0.5], [0.5, np.nan], [0.5, np.inf], [0.5, 1.1], [True, False], [[0.5, 0.5]], [1j, 0]]
OTHERS = [(ROWS, value, r"an int in \[0, 10\), got ") for value in (*OTHER_ROWS, Odd())]
OTHERS += [(PAIRS, value, "ints") for value in OTHER_PAIRS] + [(BOX, value, "numbers") for value in OTHER_POINTS]


@pytest.mark.hostile
@pytest.mark.parametrize(("space", "value", "rule"), OTHERS)
def test_what_is_not_in_space_is_rejected(space: Any, value: Any, rule: str) -> None:
    rejects(f"must be {rule}", checker(space), value)


def test_recommendations_may_be_all_actions_of_candidate_where_it_takes_several() -> None:
    check = checker(PAIRS)
    both = np.array([[1, 2], [3, 0]])
    assert np.array_equal(recommendation(check, both, several=True), both)
    for value, several in ((both, False), (np.array([[1, 2], [3, 9]]), True), (np.empty((0, 2), int), True)):
        rejects("must be ints", recommendation, check, value, several=several)


def test_spaces_of_other_kinds_are_rejected() -> None:
    rejects("action_space must be", checker, gym.spaces.Dict({"a": ROWS}))

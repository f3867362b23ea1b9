"""Spaces, and the points of a space."""

import enum
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

from hpo_envs.agents.problem import Axis, Space
from hpo_envs.tables.table import Hyperparameter
from hpo_envs.tables.user.space import Points, axes_of, space_of, to_configspace, to_plain
from hpo_envs.tuning.record import decoded, encoded
from tests.helpers import rejects
from tests.tables.user.helpers import PLAIN


def test_plain_dicts() -> None:
    lr, layers, width, optimizer, momentum, nesterov, data = space_of(PLAIN)
    assert (lr.kind, lr.log, lr.low, lr.high) == ("float", True, 1e-5, 1e-1)
    assert (layers.kind, layers.log, layers.values) == ("int", False, ())
    assert (width.kind, width.values) == ("int", (32, 64, 128))
    assert (optimizer.kind, optimizer.values) == ("categorical", ("sgd", "adam"))
    assert momentum.condition == ("optimizer", ("sgd",)) == nesterov.condition
    assert (data.values, space_of((lr, layers))) == (("small",), (lr, layers))
    assert space_of({"x": [1e-3, 1.0, "log"], "y": {"low": 1, "high": 9, "step": 4}}) == (
        Hyperparameter("x", "float", 1e-3, 1.0, True),
        Hyperparameter("y", "int", 1.0, 9.0, False, (1, 5, 9)),
    )
    (zero,) = space_of({"a": {"values": [0, 1, 10], "log": True}})
    assert space_of({"a": to_plain(zero)}) == (zero,)
    assert [h.kind for h in space_of({"a": (0, 1, "float"), "b": {"values": [1, 1000]}, "c": {"choices": [1, 2]}})] == [
        "float", "int", "categorical",
    ]  # fmt: skip
    assert space_of({"x": range(1, 4)}) == space_of({"x": np.array([1, 2, 3])}) == space_of({"x": [1, 2, 3]})
    (dropout,) = space_of({"x": {"low": 0, "high": 1, "step": 0.25}})
    assert (dropout.kind, dropout.values) == ("float", (0.0, 0.25, 0.5, 0.75, 1.0))


def test_distributions_of_optuna() -> None:
    d = pytest.importorskip("optuna").distributions
    given = {
        "lr": d.FloatDistribution(1e-4, 1.0, log=True),
        "drop": d.FloatDistribution(0.0, 0.5, step=0.25),
        "depth": d.IntDistribution(1, 7, step=2),
        "opt": d.CategoricalDistribution(["a", None]),
    }
    lr, drop, depth, opt = space_of(given)
    assert lr == Hyperparameter("lr", "float", 1e-4, 1.0, True)
    assert (drop.values, depth.values, opt.values) == ((0.0, 0.25, 0.5), (1, 3, 5, 7), ("a", None))


def test_configuration_spaces_with_their_conditions() -> None:
    cs = pytest.importorskip("ConfigSpace")
    space = cs.ConfigurationSpace()
    opt = cs.CategoricalHyperparameter("opt", ["sgd", "adam"])
    size = cs.OrdinalHyperparameter("size", [1, 2, 4])
    beta = cs.UniformFloatHyperparameter("z_beta", 0.1, 10.0, log=True)
    space.add(opt, size, beta, cs.Constant("seed", 3))
    space.add(cs.EqualsCondition(beta, opt, "sgd"))
    by_name = {h.name: h for h in space_of(space)}
    assert by_name["z_beta"] == Hyperparameter("z_beta", "float", 0.1, 10.0, True, (), ("opt", ("sgd",)))
    assert (by_name["size"].values, by_name["seed"].values) == ((1, 2, 4), (3,))
    space.add(cs.ForbiddenEqualsClause(opt, "adam"))
    rejects("space must not have forbidden clauses", space_of, space)


@pytest.mark.parametrize(
    "space, message",
    [
        ({}, "space must have at least one hyperparameter, got none"),
        (3, "space must be a dict, a ConfigurationSpace or a sequence of Hyperparameter, got 3"),
        ({"a": (3, 1)}, "range of a must be finite numbers, low <= high, got 3 to 1"),
        ({"a": (0.0, 1.0, "log")}, "range of a must be 0 < low <= high, got 0 to 1"),
        ({"a": (0, 1, "lag")}, r"a must be \(low, high\), optionally followed by log, int, float"),
        ({"a": []}, "choices of a must be distinct and not empty"),
        ({"a": [1, 1]}, "choices of a must be distinct"),
        ({"a": {"choices": "sgd"}}, "choices of a must be a list, got 'sgd'"),
        ({"a": {"values": 3}}, "values of a must be a list, got 3"),
        ({"a": {"low": 0.5, "high": 3, "kind": "int"}}, "ends and step of a must be whole for ints, got 0.5 to 3"),
        ({"a": {"low": 1, "high": 9, "step": 1.5, "kind": "int"}}, "must be whole for ints, got 1 to 9 by 1.5"),
        ({"a": {"low": 1, "high": 2, "log": "false"}}, "log of a must be True or False, got 'false'"),
        ({"a": enum.IntEnum("Kind", "one two")}, "a must be a range .*, got <enum 'Kind'>"),
        ({"a": {1, 2}}, r"a must be a range \(low, high\), a list of choices or a constant, got \{1, 2\}"),
        ({"a": iter([1, 2])}, "a must be a range .*, got <list_iterator"),
        ({"a": scipy.stats.expon()}, "a must be a range .*, got <scipy.stats"),
        ({"a": {"low": 1}}, "a must have numeric low and high, choices or values"),
        ({"a": {"low": 1, "hihg": 2}}, "key of a must be one of .*, got 'hihg', did you mean 'high'"),
        ({"a": {"values": ["x"]}}, "values of a must be numbers"),
        ({"a": {"low": 1, "high": 2, "if": {"b": [1]}}}, "condition of a must name a hyperparameter before it"),
        ({"b": ["x"], "a": {"choices": [1], "if": {"b": ["y"]}}}, "condition of a must name values of b .*, got 'y'"),
        ({"a": {"low": 0, "high": 1, "step": -1, "kind": "float"}}, "step of a must be a number > 0"),
        ({"a": {"low": 0, "high": 1e9, "step": 1e-3}}, "range of a must be at most 1000000 steps, got 0 to 1000000000"),
        ({"a": {"low": 1, "high": 0, "step": 0.5}}, "range of a must be at most 1000000 steps, got 1 to 0 by 0.5"),
        ({"a": {"low": 0, "high": 1.0, "step": 1.5}}, "step of a must be .* at most high - low, .*, got 1.5"),
        *(
            ({"a": {"choices": [1], **more}}, "a must have either choices, values, or low and high, got {'cho")
            for more in ({"step": 2}, {"values": [1]})
        ),
        ({"a": (-1e308, 1e308)}, r"range of a must be finite numbers, low <= high, got -1e\+308 to 1e\+308"),
        ({"a": (0, 10**5000)}, r"a must be \(low, high\), .*, got <tuple>"),
        ({"a": (2**53, 2**53 + 10)}, r"a must have ints up to 2\*\*53, .*, got 9007199254741002"),
        ({"a": (-(2**54), 0)}, r"a must have ints up to 2\*\*53, .*, got -18014398509481984"),
        ({"a": [2**53, 2**53 + 1]}, r"a must have ints up to 2\*\*53"),
        ({"a": ["x", "\ud800"]}, r"names and choices in space must be valid Unicode, got '\\ud800'"),
        ({"b": [True, False], "a": {"choices": [1], "if": {"b": [1]}}}, "must name values of b .*, got 1"),
        ({"b": [1, 2, 4], "a": {"choices": [1], "if": {"b": [True]}}}, "must name values of b .*, got True"),
        ({"a": (np.ma.masked, 1.0)}, r"a must be \(low, high\), .*, got \(masked, 1.0\)"),
    ],
)  # fmt: skip
def test_non_space_is_rejected(space: Any, message: str) -> None:
    rejects(message, space_of, space)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.floats(0.0, 1.0), min_size=7, max_size=7))
def test_coordinates_lead_to_configuration_and_back(unit: list[float]) -> None:
    points = Points(space_of(PLAIN))
    raw = points.raw(np.array([unit]))
    config = points.config(raw[0])
    assert ("momentum" in config) == ("nesterov" in config) == (config["optimizer"] == "sgd")
    assert 1e-5 <= config["lr"] <= 1e-1
    assert type(config["layers"]) is int
    assert np.array_equal(points.row(config), raw[0])
    again = points.raw(points.unit(raw))
    assert np.allclose(again, raw, rtol=1e-12)


def test_wrong_configurations_are_named() -> None:
    points = Points(space_of({"lr": (0.0, 1.0), "layers": (1, 3), "opt": ["a", "b"]}))
    for config, message in (
        ({"lr": 2.0, "layers": 1, "opt": "a"}, r"lr must be a number in \[0, 1\], got 2.0"),
        ({"lr": 0.5, "layers": 1.5, "opt": "a"}, r"layers must be an int in \[1, 3\]"),
        ({"lr": 0.5, "layers": 1, "opt": "c"}, "opt must be one of 'a', 'b', got 'c'"),
        ({"lr": 0.5, "layers": 1}, "config must have opt"),
        ({"lr": 0.5, "layer": 1}, "got 'layer', did you mean 'layers'"),
    ):
        rejects(message, points.row, config)


def test_candidates_are_distinct_seeded_and_grow() -> None:
    points = Points(space_of(PLAIN))
    few, many = points.candidates(50, seed=1), points.candidates(200, seed=1)
    assert (len(few), len(many)) == (50, 200)
    assert np.array_equal(few, many[:50])
    assert len(np.unique(many, axis=0)) == 200
    assert not np.array_equal(points.candidates(50, seed=2), few)
    # Each half of each range has its share.
    unit = points.unit(many)
    assert abs((unit[:, 0] < 0.5).mean() - 0.5) < 0.05


def test_export_to_configspace_keeps_ranges_and_conditions() -> None:
    pytest.importorskip("ConfigSpace")
    env: Any = gym.make("CharHPO-v0", architecture="transformer").unwrapped
    env.reset(seed=0)
    exported = to_configspace(env.table.space, seed=1)
    assert (len(exported), exported["learning_rate"].log, len(exported.conditions)) == (16, True, 4)
    for configuration in exported.sample_configuration(40):
        config = dict(configuration)
        assert ("factor" in config) == (config["scheduler"] == "reduceonplateau")
        got = env.step(env.action_of(config))[4]["config"]
        assert (got["hidden_size"], got["attention_heads"]) == (config["hidden_size"], config["attention_heads"])
        assert got["warmup_samples"] // 100 == config.get("warmup_samples", 0) // 100
    assert to_configspace((Hyperparameter("heads", "int", 1.0, 1.0),))["heads"].value == 1


def test_several_parents_of_a_condition_must_all_hold() -> None:
    cs = pytest.importorskip("ConfigSpace")
    plain = {
        "opt": ["sgd", "adam"],
        "cycles": {"choices": ["none", "cosine", "step"], "if": {"opt": ["sgd"]}},
        "size": [1, 2, 4],
        "momentum": {"low": 0.0, "high": 1.0, "if": {"cycles": ["cosine", "step"], "size": [2, 4]}},
    }
    space = space_of(plain)
    assert space_of({h.name: to_plain(h) for h in space}) == space
    assert {h.name: h for h in space_of(to_configspace(space))} == {h.name: h for h in space}
    assert [type(c) for c in to_configspace(space).conditions].count(cs.AndConjunction) == 1
    assert Hyperparameter(**{k: decoded(encoded(v)) for k, v in vars(space[3]).items()}) == space[3]
    points, unit = Points(space), np.random.default_rng(0).random((64, 4))
    raw = points.raw(unit)
    for row in raw:
        config = points.config(row)
        assert ("momentum" in config) == (config.get("cycles") in ("cosine", "step") and config["size"] > 1)
        assert np.array_equal(points.row(config), row)
    agents_space = Space([Axis(**axis) for axis in axes_of(space)])
    assert np.array_equal(agents_space.active(unit), points.active(raw))
    with pytest.raises(ValueError, match="condition of momentum must name values of size .*, got 3"):
        space_of({**plain, "momentum": {"low": 0.0, "high": 1.0, "if": {"opt": ["sgd"], "size": [3]}}})


def test_condition_on_one_of_equal_choices_holds_for_it_alone() -> None:
    space = space_of({"b": {"choices": [True, 1, "x"]}, "a": {"low": 0.0, "high": 1.0, "if": {"b": [1]}}})
    points = Points(space)
    assert ["a" in points.config(row) for row in points.raw(np.array([[u, 0.5] for u in (0.1, 0.5, 0.9)]))] == [
        False, True, False,
    ]  # fmt: skip
    assert axes_of(space)[1]["when"] == (1,)


def test_small_space_is_listed_as_whole() -> None:
    points = Points(space_of({"a": ["x", "y"], "b": {"values": [1, 2, 3], "if": {"a": ["x"]}}}))
    grid = points.candidates(100, seed=0)
    configs = {tuple(points.config(row).items()) for row in grid}
    assert len(grid) == 4
    assert configs == {(("a", "x"), ("b", 1)), (("a", "x"), ("b", 2)), (("a", "x"), ("b", 3)), (("a", "y"),)}


def test_plain_form_of_a_decay_rate_has_its_natural_range() -> None:
    stored = Hyperparameter("beta", "float", 1e-3, 0.1, log=True, complement=True)
    assert to_plain(stored) == {"low": 0.9, "high": 0.999, "kind": "float"}


def test_members_of_enumerations_are_choices() -> None:
    kinds = [*enum.IntEnum("Kind", "one two three")][::-1]
    space = space_of({"kind": kinds})
    assert (space[0].kind, space[0].values) == ("categorical", (*kinds,))
    assert [Points(space).config(row)["kind"] for row in Points(space).grid()] == kinds


def test_branches_are_as_likely_as_their_values() -> None:
    space = space_of({
        "kind": ["a", "b"], "x": {"low": 0.0, "high": 1.0, "if": {"kind": ["b"]}},
        "n": {"values": [1, 2, 3], "if": {"kind": ["b"]}}, "y": {"low": 0.0, "high": 1.0, "if": {"n": [1]}},
    })  # fmt: skip
    points = Points(space)
    raw = points.candidates(200, 0)
    weights = points.weights(raw)
    assert weights is not None
    assert (raw[:, 0] == 0).sum() == 1
    assert weights[raw[:, 0] == 0].sum() == pytest.approx(0.5)
    assert [weights[raw[:, 2] == n].sum() for n in (1, 2, 3)] == pytest.approx([1 / 6] * 3)
    assert Points(space_of({"x": (0.0, 1.0)})).weights(np.zeros((2, 1))) is None


def test_steps_are_decimal() -> None:
    (h,) = space_of({"drop": {"low": 0.0, "high": 0.5, "step": 0.1}})
    assert h.values == (0.0, 0.1, 0.2, 0.3, 0.4, 0.5)
    (h,) = space_of({"n": {"low": 2, "high": 9, "step": 3}})
    assert (h.values, {*map(type, h.values)}) == ((2, 5, 8), {int})

"""Coordinates, stored numbers and configurations of a search space, and its candidates."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hpo_envs.tables.user.points import Points
from hpo_envs.tables.user.space import space_of
from tests.tables.user.helpers import PLAIN


@settings(max_examples=60, deadline=None)
@given(st.lists(st.floats(0.0, 1.0), min_size=7, max_size=7))
def test_coordinates_lead_to_a_configuration_and_back(unit: list[float]) -> None:
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
        with pytest.raises(ValueError, match=message):
            points.row(config)


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


def test_a_small_space_is_listed_as_a_whole() -> None:
    points = Points(space_of({"a": ["x", "y"], "b": {"values": [1, 2, 3], "if": {"a": ["x"]}}}))
    grid = points.candidates(100, seed=0)
    configs = {tuple(points.config(row).items()) for row in grid}
    assert len(grid) == 4
    assert configs == {(("a", "x"), ("b", 1)), (("a", "x"), ("b", 2)), (("a", "x"), ("b", 3)), (("a", "y"),)}

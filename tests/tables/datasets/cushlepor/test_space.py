"""Boxes of hLEPOR's parameters and the map from [-1, 1]^6 to them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hpo_envs.tables import hlepor
from hpo_envs.tables.datasets.cushlepor.space import ParameterBox

POINT = st.lists(st.floats(-1, 1), min_size=6, max_size=6)


@settings(max_examples=100, deadline=None)
@given(POINT, st.sampled_from(["published", "wide"]))
def test_box_map_is_inverted_by_action(point, bounds):
    box = ParameterBox(bounds)
    vector = box.natural(np.array([point]))[0]
    back = box.natural(box.action(vector)[None])[0]
    assert back == pytest.approx(vector, rel=1e-12)
    assert ((vector >= box.low) & (vector <= box.high)).all()


def test_parts_of_the_axis_of_n_are_equal():
    grid = np.zeros((4000, 6))
    grid[:, 2] = np.linspace(-1, 1, 4000)
    n, counts = np.unique(ParameterBox("published").natural(grid)[:, 2], return_counts=True)
    assert n.tolist() == [1, 2, 3, 4]
    assert counts.tolist() == [1000] * 4


def test_the_box_as_hyperparameters():
    space = ParameterBox("wide").space
    assert tuple(h.name for h in space) == hlepor.NAMES
    assert [(h.kind, h.low, h.high, h.log) for h in space[1:3]] == [("float", 0.1, 10.0, True), ("int", 0, 8, False)]
    assert ParameterBox({"alpha": (0, 2)}).space[0].high == 2


def test_a_vector_outside_the_box_has_no_action():
    with pytest.raises(ValueError, match="vector must lie in the box"):
        ParameterBox("published").action([11.0, 1, 1, 1, 1, 1])

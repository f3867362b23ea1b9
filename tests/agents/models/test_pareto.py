"""The Pareto front is what its definition says, in two dimensions and in more."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hpo_envs.agents.models.acquisition import pareto_front
from tests.helpers import raises


@settings(deadline=None, max_examples=200)
@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=1, max_size=30))
def test_pareto_front_equals_the_definition(points: list[tuple[int, int]]) -> None:
    r = np.array(points, dtype=float)
    naive = [not any((q >= p).all() and (q > p).any() for q in r) for p in r]
    assert pareto_front(r).tolist() == naive
    three = np.c_[r, np.zeros(len(r))]
    assert pareto_front(three).tolist() == naive


def test_pareto_front_refuses_nan() -> None:
    with pytest.raises(ValueError, match="without NaN"):
        pareto_front([[0.0, float("nan")]])


def test_no_points_have_an_empty_front() -> None:
    assert pareto_front(np.empty((0, 2))).tolist() == pareto_front(np.empty((0, 3))).tolist() == []


def test_fronts_by_hand() -> None:
    with raises("rewards must be a (n, m) matrix without NaN, got shape (3,)"):
        pareto_front([1.0, 2.0, 3.0])
    with raises("rewards must be a (n, m) matrix without NaN, got shape (1, 2)"):
        pareto_front([[1.0, np.nan]])
    assert pareto_front([[1, 1], [1, 1], [0, 2], [0, 1], [2, 0], [2, -1]]).tolist() == [1, 1, 1, 0, 1, 0]
    assert pareto_front([[1.0], [2.0], [2.0]]).tolist() == [False, True, True]
    assert pareto_front([["1", "2"], ["2", "1"]]).all()

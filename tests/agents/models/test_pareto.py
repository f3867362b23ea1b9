"""Pareto fronts and hypervolumes: by hand, and by definition."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hpo_envs.agents.models.pareto import front, hypervolume, pareto_front
from tests.helpers import raises

POINTS = st.lists(st.tuples(st.integers(0, 8), st.integers(0, 8)), min_size=0, max_size=12)
REFERENCE = np.array([7.0, 6.0])


@settings(max_examples=80, deadline=None)
@given(POINTS)
def test_hypervolume_counts_cells(points: list[tuple[int, int]]) -> None:
    """With integer points the area is the number of unit cells that a point dominates."""
    cells = sum(any(a <= i and b <= j for a, b in points) for i in range(7) for j in range(6))
    array = np.array(points, dtype=float).reshape(-1, 2)
    assert hypervolume(array, REFERENCE) == cells


@settings(max_examples=200, deadline=None)
@given(POINTS)
def test_a_front_has_the_points_that_nothing_dominates(points: list[tuple[int, int]]) -> None:
    """`front` sorts values (lower is better) without duplicates; `pareto_front` marks every row of rewards on it."""
    array = np.array(points, dtype=float).reshape(-1, 2)
    naive = [not any((q <= p).all() and (q < p).any() for q in array) for p in array]
    found = front(array)
    assert found.tolist() == np.unique(array[naive], axis=0).tolist()
    assert (np.diff(found[:, 1]) < 0).all()
    assert pareto_front(-array).tolist() == pareto_front(np.c_[-array, np.zeros(len(array))]).tolist() == naive


def test_hypervolume_agrees_with_moocore() -> None:
    moocore = pytest.importorskip("moocore")
    rng = np.random.default_rng(0)
    for n in (1, 3, 10, 60):
        points = rng.random((n, 2))
        reference = np.array([0.9, 1.1])
        assert hypervolume(points, reference) == pytest.approx(moocore.hypervolume(points, ref=reference), abs=1e-12)


def test_fronts_equal_those_by_hand() -> None:
    with raises("rewards must be a (n, m) matrix without NaN, got shape (3,)"):
        pareto_front([1.0, 2.0, 3.0])
    with raises("rewards must be a (n, m) matrix without NaN, got shape (1, 2)"):
        pareto_front([[1.0, np.nan]])
    assert pareto_front([[1, 1], [1, 1], [0, 2], [0, 1], [2, 0], [2, -1]]).tolist() == [1, 1, 1, 0, 1, 0]
    assert pareto_front([[1.0], [2.0], [2.0]]).tolist() == [False, True, True]
    assert pareto_front([["1", "2"], ["2", "1"]]).all()

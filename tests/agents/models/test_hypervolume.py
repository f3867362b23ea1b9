"""Hypervolume and its expected improvement against independent computations."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hpo_envs.agents.models.acquisition import expected_hypervolume_improvement, front, hypervolume

POINTS = st.lists(st.tuples(st.integers(0, 8), st.integers(0, 8)), min_size=0, max_size=12)
REFERENCE = np.array([7.0, 6.0])


@settings(max_examples=80, deadline=None)
@given(POINTS)
def test_hypervolume_counts_cells(points: list[tuple[int, int]]) -> None:
    """On integer points the area is the number of unit cells that some point dominates."""
    cells = sum(any(a <= i and b <= j for a, b in points) for i in range(7) for j in range(6))
    array = np.array(points, dtype=float).reshape(-1, 2)
    assert hypervolume(array, REFERENCE) == cells


@settings(max_examples=80, deadline=None)
@given(POINTS)
def test_front_is_what_nothing_dominates(points: list[tuple[int, int]]) -> None:
    expected = {p for p in points if not any(q != p and q[0] <= p[0] and q[1] <= p[1] for q in points)}
    found = front(np.array(points, dtype=float).reshape(-1, 2))
    assert {(int(a), int(b)) for a, b in found} == expected
    assert (np.diff(found[:, 0]) > 0).all()
    assert (np.diff(found[:, 1]) < 0).all()


def test_hypervolume_agrees_with_moocore() -> None:
    moocore = pytest.importorskip("moocore")
    rng = np.random.default_rng(0)
    for n in (1, 3, 10, 60):
        points = rng.random((n, 2))
        reference = np.array([0.9, 1.1])
        assert hypervolume(points, reference) == pytest.approx(moocore.hypervolume(points, ref=reference), abs=1e-12)


def test_expected_improvement_is_exact_sum_over_cells() -> None:
    """Another exact form: the gain is an integral over the non-dominated area of P(f1 <= x) P(f2 <= y)."""
    from scipy.special import ndtr

    rng = np.random.default_rng(9)
    points, reference = rng.random((4, 2)), np.array([1.1, 1.2])
    mean, deviation = np.array([[0.4], [0.5]]), np.array([[0.2], [0.3]])
    edges = np.concatenate([[-4.0], np.sort(points[:, 0]), [reference[0]]])
    x, wx = np.polynomial.legendre.leggauss(200)
    total = 0.0
    for left, right in itertools.pairwise(edges):
        top = min([reference[1], *(b for a, b in points if a <= left)])
        xs, ys = (0.5 * (high - low) * x + 0.5 * (high + low) for low, high in ((left, right), (-4.0, top)))
        first = 0.5 * (right - left) * (wx * ndtr((xs - 0.4) / 0.2)).sum()
        second = 0.5 * (top + 4.0) * (wx * ndtr((ys - 0.5) / 0.3)).sum()
        total += first * second
    assert expected_hypervolume_improvement(mean, deviation, points, reference)[0] == pytest.approx(total, abs=1e-8)


def test_certain_predictions_gain_what_they_add() -> None:
    points, reference = np.array([[0.2, 0.8], [0.6, 0.3]]), np.array([1.0, 1.0])
    for candidate in ([0.1, 0.1], [0.4, 0.5], [0.7, 0.9], [2.0, 0.0]):
        gain = hypervolume(np.vstack([points, candidate]), reference) - hypervolume(points, reference)
        found = expected_hypervolume_improvement(np.array(candidate)[:, None], np.zeros((2, 1)), points, reference)
        assert found[0] == pytest.approx(gain, abs=1e-12)

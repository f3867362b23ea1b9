"""Acquisition functions compared with values by hand, definitions and integrals."""

import itertools

import numpy as np
import pytest
from scipy import integrate, stats

from hpo_envs.agents.models.acquisition import (
    expected_hypervolume_improvement,
    expected_improvement,
    log_expected_improvement,
)
from hpo_envs.agents.models.pareto import hypervolume
from tests.agents.helpers import RNG


def test_acquisition_functions_equal_values_by_hand() -> None:
    mean, deviation = np.array([0.0, 1.0, 2.0, -50.0, 1.0]), np.array([1.0, 2.0, 0.0, 1.0, 0.0])
    assert expected_improvement(mean, deviation, 1.5)[2:].tolist() == [0.5, 0.0, 0.0]
    with np.errstate(all="raise", under="ignore"):  # far out, and with hardly any deviation
        tiny = expected_improvement(np.array([-9.0, 9.0, 0.0]), np.array([1e-250, 1e-250, 0.0]), 0.0)
    assert tiny.tolist() == [0.0, 9.0, 0.0]


def test_expected_improvement_equals_its_integral() -> None:
    rng = RNG(3)
    mean, deviation = rng.normal(size=8), rng.uniform(0.1, 2.0, size=8)
    grid_points = np.linspace(-12.0, 12.0, 200_001)
    for m, s, score in zip(mean, deviation, expected_improvement(mean, deviation, 0.3), strict=True):
        density = np.exp(-0.5 * ((grid_points - m) / s) ** 2) / (s * np.sqrt(2 * np.pi))
        assert score == pytest.approx(np.trapezoid(np.maximum(grid_points - 0.3, 0.0) * density, grid_points), abs=1e-7)


def test_log_expected_improvement_equals_that_of_the_integral_far_out_too() -> None:
    for gap, scale in [*itertools.product((-0.5, 0.0, 0.7, 5.0), (0.3, 2.0)), (-3.0, 2.0)]:
        law = stats.norm(gap, scale)
        value, _ = integrate.quad(lambda v, law=law: v * law.pdf(v), 0.0, max(gap, 0.0) + 12 * scale, epsabs=0)
        found = np.exp(log_expected_improvement(np.array([gap]), np.array([scale])))
        assert found[0] == pytest.approx(value, rel=1e-5)
    far = log_expected_improvement(np.array([-40.0, -2000.0, -1e6]), np.ones(3))
    assert np.isfinite(far).all()
    assert (np.diff(far) < 0).all()
    x = np.array([-2e3, -1e7])  # x Phi(x) + phi(x) tends to phi(x) / x^2
    limit = -0.5 * x * x - 0.5 * np.log(2.0 * np.pi) - 2.0 * np.log(-x)
    np.testing.assert_allclose(log_expected_improvement(x, np.ones(2)), limit, rtol=0, atol=0.02)


def test_expected_hypervolume_improvement_equals_the_sum_over_cells() -> None:
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


def test_certain_predictions_improve_by_what_they_add() -> None:
    points, reference = np.array([[0.2, 0.8], [0.6, 0.3]]), np.array([1.0, 1.0])
    for candidate in ([0.1, 0.1], [0.4, 0.5], [0.7, 0.9], [2.0, 0.0]):
        gain = hypervolume(np.vstack([points, candidate]), reference) - hypervolume(points, reference)
        found = expected_hypervolume_improvement(np.array(candidate)[:, None], np.zeros((2, 1)), points, reference)
        assert found[0] == pytest.approx(gain, abs=1e-12)

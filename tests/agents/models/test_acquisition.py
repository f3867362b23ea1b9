"""Acquisition functions by hand and by integration."""

import numpy as np
import pytest
from scipy import stats

from hpo_envs.agents.models.acquisition import expected_improvement, log_expected_improvement, upper_confidence_bound
from tests.agents.helpers import RNG


def test_acquisitions_by_hand() -> None:
    mean, deviation = np.array([0.0, 1.0, 2.0, -50.0, 1.0]), np.array([1.0, 2.0, 0.0, 1.0, 0.0])
    value = expected_improvement(mean, deviation, 1.5)
    z = np.array([-1.5, -0.25])
    closed = (mean[:2] - 1.5) * stats.norm.cdf(z) + deviation[:2] * stats.norm.pdf(z)
    assert value[:2] == pytest.approx(closed, rel=1e-12)
    assert value[2:].tolist() == [0.5, 0.0, 0.0]
    with np.errstate(all="raise", under="ignore"):  # far out, and with hardly any deviation
        tiny = expected_improvement(np.array([-9.0, 9.0, 0.0]), np.array([1e-250, 1e-250, 0.0]), 0.0)
    assert tiny.tolist() == [0.0, 9.0, 0.0]
    assert upper_confidence_bound(mean, deviation, 9.0).tolist() == [3.0, 7.0, 2.0, -47.0, 1.0]


def test_expected_improvement_is_integral() -> None:
    rng = RNG(3)
    mean, deviation = rng.normal(size=8), rng.uniform(0.1, 2.0, size=8)
    grid_points = np.linspace(-12.0, 12.0, 200_001)
    for m, s, score in zip(mean, deviation, expected_improvement(mean, deviation, 0.3), strict=True):
        density = np.exp(-0.5 * ((grid_points - m) / s) ** 2) / (s * np.sqrt(2 * np.pi))
        assert score == pytest.approx(np.trapezoid(np.maximum(grid_points - 0.3, 0.0) * density, grid_points), abs=1e-7)
    certain = expected_improvement(np.array([1.0, -1.0]), np.zeros(2), 0.25)
    assert certain.tolist() == [0.75, 0.0]


def test_its_logarithm_is_integrals_far_out_too() -> None:
    from scipy import integrate, stats

    for gap in (-3.0, -0.5, 0.0, 0.7, 5.0):
        for scale in (0.3, 2.0):
            if gap / scale < -8:
                continue
            law = stats.norm(gap, scale)
            value, _ = integrate.quad(lambda v, law=law: v * law.pdf(v), 0.0, max(gap, 0.0) + 12 * scale, epsabs=0)
            assert np.exp(log_expected_improvement(np.array([gap]), np.array([scale])))[0] == pytest.approx(
                value, rel=1e-5
            )
    far = log_expected_improvement(np.array([-40.0, -2000.0, -1e6]), np.ones(3))
    assert np.isfinite(far).all()
    assert (np.diff(far) < 0).all()
    x = np.array([-2e3, -1e7])  # x Phi(x) + phi(x) tends to phi(x) / x^2
    limit = -0.5 * x * x - 0.5 * np.log(2.0 * np.pi) - 2.0 * np.log(-x)
    np.testing.assert_allclose(log_expected_improvement(x, np.ones(2)), limit, rtol=0, atol=0.02)

"""Acquisition functions of one objective, for maximisation."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

_SQRT_2PI = float(np.sqrt(2.0 * np.pi))


def density(z: Floats) -> Floats:
    """Standard normal density, any shape."""
    return np.exp(-0.5 * z * z) / _SQRT_2PI


def expected_improvement(mean: Floats, deviation: Floats | float, best: Floats | float) -> Floats:
    """E[max(f - best, 0)] of normal predictions (Zhang and Duh 2020, equation 3, for maximisation).

    Args:
        mean: Predictions, any shape; the others are broadcast with it.
        deviation: Standard deviations, >= 0; where 0, the improvement of the mean itself.
        best: Best value observed.

    Returns:
        float64 >= 0.
    """
    from scipy.special import ndtr

    gain = mean - best
    safe = np.maximum(deviation, 1e-300)
    z = np.clip(gain / safe, -1e8, 1e8)
    out: Floats = np.maximum(gain * ndtr(z) + deviation * density(z), 0.0)
    return out


def log_expected_improvement(gap: Floats, scale: Floats) -> Floats:
    """Logarithm of E[max(N(gap, scale^2), 0)]; increasing in it, and finite far out in the tail."""
    from scipy.special import erfcx, ndtr

    x = gap / scale
    # f(x) = x Phi(x) + phi(x) = phi(x) (1 + x Phi(x) / phi(x)); the bracket tends to 1/x^2 far below 0.
    below, above = np.minimum(x, 0.0), np.maximum(x, 0.0)
    density = -0.5 * x * x - 0.5 * np.log(2.0 * np.pi)
    bracket = 1.0 + below * np.sqrt(np.pi / 2.0) * erfcx(-below / np.sqrt(2.0))
    log_below = density + np.where(
        below < -1e3, -2.0 * np.log(np.maximum(-below, 1e3)), np.log(np.maximum(bracket, 1e-12))
    )
    log_above = np.log(above * ndtr(above) + np.exp(-0.5 * above * above) / np.sqrt(2.0 * np.pi))
    return np.asarray(np.log(scale) + np.where(x > 0.0, log_above, log_below))


def upper_confidence_bound(mean: Floats, deviation: Floats, beta: float) -> Floats:
    """(n,) mean + sqrt(beta) deviation (GP-UCB, Srinivas et al. 2010)."""
    out: Floats = mean + np.sqrt(beta) * deviation
    return out

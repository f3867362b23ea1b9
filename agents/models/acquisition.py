"""Acquisition functions of one objective, for maximisation."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

_SQRT_2PI = float(np.sqrt(2.0 * np.pi))


def density(z: Floats) -> Floats:
    """Standard normal density, any shape."""
    return np.exp(-0.5 * z * z) / _SQRT_2PI


def expected_improvement(mean: Floats, deviation: Floats, best: float) -> Floats:
    """E[max(f - best, 0)] of normal predictions (Zhang and Duh 2020, equation 3, for maximisation).

    Args:
        mean: (n,) predictions.
        deviation: (n,) standard deviations, >= 0; where 0, the improvement of the mean itself.
        best: Best value observed.

    Returns:
        (n,) float64 >= 0.
    """
    from scipy.special import ndtr

    gain = mean - best
    safe = np.maximum(deviation, 1e-300)
    z = np.clip(gain / safe, -1e8, 1e8)
    return np.maximum(gain * ndtr(z) + deviation * density(z), 0.0)


def upper_confidence_bound(mean: Floats, deviation: Floats, beta: float) -> Floats:
    """(n,) mean + sqrt(beta) deviation (GP-UCB, Srinivas et al. 2010)."""
    return mean + np.sqrt(beta) * deviation

"""Acquisition functions, for maximisation: of one objective, and expected hypervolume improvement of two."""

import numpy as np
import numpy.typing as npt

from hpo_envs.agents.models import Floats

_SQRT_2PI = float(np.sqrt(2.0 * np.pi))


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
    out: Floats = np.maximum(gain * ndtr(z) + deviation * (np.exp(-0.5 * z * z) / _SQRT_2PI), 0.0)
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


def front(points: Floats) -> Floats:
    """Non-dominated points.

    Args:
        points: (n, 2) objectives, both minimised.

    Returns:
        (m, 2) distinct non-dominated points, the first objective rising and the second falling.
    """
    kept = points[pareto_front(-points)]
    ordered = kept[np.argsort(kept[:, 0], kind="stable")]
    # Two points of a front that are equal in one objective are equal in both.
    return ordered[np.diff(ordered[:, 0], prepend=-np.inf) > 0]


def hypervolume(points: Floats, reference: Floats) -> float:
    """Area dominated by (n, 2) points and bounded by the (2,) reference point; O(n log n)."""
    inside = front(points[(points < reference).all(axis=1)])
    if not len(inside):
        return 0.0
    right = np.append(inside[1:, 0], reference[0])
    return float(((right - inside[:, 0]) * (reference[1] - inside[:, 1])).sum())


def expected_hypervolume_improvement(mean: Floats, deviation: Floats, points: Floats, reference: Floats) -> Floats:
    """Exact expected gain in hypervolume of independent normal predictions (Emmerich et al. 2011).

    The region that would be new is a row of vertical strips between neighbouring points of the front, each bounded
    above by the point on its left. With psi(a) = E[max(a - f, 0)], an expected improvement, the answer is the sum
    over strips of [psi1(right) - psi1(left)] psi2(top).

    Args:
        mean: (2, n) predictions of the minimised objectives.
        deviation: (2, n) standard deviations, >= 0.
        points: (t, 2) observations; those not better than the reference point do not count.
        reference: (2,) reference point.

    Returns:
        (n,) float64 >= 0.
    """
    inside = front(points[(points < reference).all(axis=1)])
    edges = np.append(inside[:, 0], reference[0])
    tops = np.concatenate([[reference[1]], inside[:, 1]])
    first = expected_improvement(-mean[0], deviation[0], -edges[:, None])
    second = expected_improvement(-mean[1], deviation[1], -tops[:, None])
    widths = np.diff(first, axis=0, prepend=0.0)
    out: Floats = np.maximum((np.maximum(widths, 0.0) * second).sum(axis=0), 0.0)
    return out


def pareto_front(rewards: npt.ArrayLike) -> npt.NDArray[np.bool_]:
    """(n,) bool: which of (n, m) rewards no other dominates (section 4.2); higher is better, equal points all stay.

    Raises:
        ValueError: Not a matrix, or NaN in it.
    """
    r = np.asarray(rewards, dtype=float)
    if r.ndim != 2 or np.isnan(r).any():
        raise ValueError(f"rewards must be a (n, m) matrix without NaN, got shape {r.shape}")
    if r.shape[1] == 2:
        return _front_of_two(r)
    dominated = np.zeros(len(r), bool)
    for i, point in enumerate(r):
        dominated[i] = bool(((r >= point).all(axis=1) & (r > point).any(axis=1)).any())
    return ~dominated


def _front_of_two(r: npt.NDArray[np.float64]) -> npt.NDArray[np.bool_]:
    """A sweep in O(n log n): a point stays if its second reward beats all with a better or equal first one."""
    order = np.lexsort((-r[:, 1], -r[:, 0]))
    first, second = r[order, 0], r[order, 1]
    running = np.maximum.accumulate(second)
    # Best second reward among points whose first reward is strictly better, and among those with the same first one.
    start = np.flatnonzero(np.r_[True, np.diff(first) != 0])
    group = np.repeat(start, np.diff(np.r_[start, len(first)]))
    before = np.where(group > 0, running[np.maximum(group - 1, 0)], -np.inf)
    stays = (second > before) & (second == second[group])
    front = np.zeros(len(r), bool)
    front[order] = stays
    return front

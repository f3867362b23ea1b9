"""Two objectives: Pareto fronts, hypervolume, and its expected improvement in closed form. Both are minimised here."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from hpo_envs.agents.models.acquisition import density

Floats = npt.NDArray[np.float64]


def front(points: Floats) -> Floats:
    """Non-dominated points.

    Args:
        points: (n, 2) objectives, both minimised.

    Returns:
        (m, 2) distinct non-dominated points, the first objective rising and the second falling.
    """
    ordered = points[np.lexsort((points[:, 1], points[:, 0]))]
    if not len(ordered):
        return ordered
    # Sorted by the first objective, a point survives if it is strictly better in the second than all before it.
    before = np.concatenate([[np.inf], np.minimum.accumulate(ordered[:, 1])[:-1]])
    return ordered[ordered[:, 1] < before]


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
    above by the point on its left. With psi(a) = E[max(a - f, 0)] the answer is the sum over strips of
    [psi1(right) - psi1(left)] psi2(top).

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
    first = _expected_shortfall(edges[:, None], mean[0], deviation[0])
    second = _expected_shortfall(tops[:, None], mean[1], deviation[1])
    widths = np.diff(first, axis=0, prepend=0.0)
    return np.maximum((np.maximum(widths, 0.0) * second).sum(axis=0), 0.0)


def _expected_shortfall(a: Floats, mean: Floats, deviation: Floats) -> Floats:
    """E[max(a - f, 0)], the shapes broadcast; a certain prediction falls short by exactly a - mean, if at all."""
    from scipy.special import ndtr

    gap = a - mean
    safe = np.maximum(deviation, 1e-300)
    z = np.clip(gap / safe, -1e8, 1e8)
    return np.where(deviation > 0, np.maximum(gap * ndtr(z) + deviation * density(z), 0.0), np.maximum(gap, 0.0))

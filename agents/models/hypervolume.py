"""Two objectives: Pareto fronts, hypervolume, and its expected improvement in closed form. Both are minimised here."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from hpo_envs.agents.models.acquisition import expected_improvement
from hpo_envs.pareto import pareto_front

Floats = npt.NDArray[np.float64]


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

"""Pareto fronts and hypervolumes, for agents and for scores."""

import numpy as np
import numpy.typing as npt

from hpo_envs.agents.models import Floats


def pareto_front(rewards: npt.ArrayLike) -> npt.NDArray[np.bool_]:
    """Return the (n,) mask of the non-dominated rows of (n, m) rewards; higher is better, and equal rows are all kept.

    Raises:
        ValueError: The rewards are not a matrix, or contain NaN.
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
    """Return `pareto_front` of (n, 2) rewards, by an O(n log n) sweep over the rows sorted by their first reward."""
    order = np.lexsort((-r[:, 1], -r[:, 0]))
    first, second = r[order, 0], r[order, 1]
    running = np.maximum.accumulate(second)
    # `before`: best second reward of the rows with a better first one; `second[group]`: of those with the same one.
    start = np.flatnonzero(np.r_[True, np.diff(first) != 0])
    group = np.repeat(start, np.diff(np.r_[start, len(first)]))
    before = np.where(group > 0, running[np.maximum(group - 1, 0)], -np.inf)
    front = np.zeros(len(r), bool)
    front[order] = (second > before) & (second == second[group])
    return front


def front(points: Floats) -> Floats:
    """Return the (m, 2) distinct non-dominated points of (n, 2) minimised ones, by ascending first objective."""
    kept = points[pareto_front(-points)]
    ordered = kept[np.argsort(kept[:, 0], kind="stable")]
    # Two points of a front that are equal in one objective are equal in both.
    return ordered[np.diff(ordered[:, 0], prepend=-np.inf) > 0]


def hypervolume(points: Floats, reference: Floats) -> float:
    """Return the area dominated by (n, 2) minimised points, up to the (2,) reference point, in O(n log n)."""
    inside = front(points[(points < reference).all(axis=1)])
    if not len(inside):
        return 0.0
    widths = np.diff(inside[:, 0], append=reference[0])
    return float((widths * (reference[1] - inside[:, 1])).sum())

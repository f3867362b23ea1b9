"""The Pareto front: one definition for every layer."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt


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

"""Scores of runs: pure functions of what was saved.

Fixed-target best and close, fixed budget (Zhang and Duh 2020, section 4.1); all, one and budget on the Pareto front
(section 4.2). Runtime is counted in evaluations.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


def first_reaching(reached: npt.ArrayLike) -> float:
    """1-based position of the first True, inf if there is none."""
    hits = np.flatnonzero(np.asarray(reached, dtype=bool))
    return float(hits[0] + 1) if len(hits) else float("inf")


def ftb(rewards: npt.ArrayLike, best: float) -> float:
    """Fixed-target best: evaluations until the best reward of the table is met (section 4.1).

    Args:
        rewards: (k,) rewards in the order of evaluation.
        best: The table's best reward.

    Returns:
        Number of evaluations, inf if the run ended before.
    """
    return first_reaching(np.asarray(rewards, dtype=float) >= best)


def ftc(rewards: npt.ArrayLike, best: float, tolerance: float = 0.5) -> float:
    """Fixed-target close: evaluations until `best - tolerance` is met; 0.5 BLEU in Table 3, 1 for en-ja (note 17)."""
    # A hair of slack: 26.09 - 0.5 is no exact binary number.
    return first_reaching(np.asarray(rewards, dtype=float) >= best - tolerance - 1e-9)


def fb(rewards: npt.ArrayLike, best: float, budget: int = 20) -> float:
    """Fixed budget: best of the table minus best of the first `budget` evaluations (section 4.1; 20 in Table 3)."""
    return float(best - np.max(np.asarray(rewards, dtype=float)[:budget]))


def fto(rewards: npt.ArrayLike, front: npt.ArrayLike) -> float:
    """Fixed-target one: evaluations until one point of the Pareto front is met (section 4.2).

    Args:
        rewards: (k, m) rewards in the order of evaluation.
        front: (J, m) rewards of the table's Pareto front.
    """
    return first_reaching(_members(rewards, front).any(axis=1))


def fta(rewards: npt.ArrayLike, front: npt.ArrayLike) -> float:
    """Fixed-target all: evaluations until every point of the Pareto front is met (section 4.2)."""
    found = np.logical_or.accumulate(_members(rewards, front), axis=0)
    return first_reaching(found.all(axis=1))


def fbp(rewards: npt.ArrayLike, front: npt.ArrayLike, budget: int) -> float:
    """Fixed budget: points of the Pareto front met in the first `budget` evaluations (section 4.2)."""
    return float(_members(np.asarray(rewards, dtype=float)[:budget], front).any(axis=0).sum())


def _members(rewards: npt.ArrayLike, front: npt.ArrayLike) -> npt.NDArray[np.bool_]:
    """(k, J) bool: which evaluation is which point of the front."""
    r, f = np.asarray(rewards, dtype=float), np.asarray(front, dtype=float)
    return (r[:, None, :] == f[None, :, :]).all(axis=2)


def attainment(sets: Sequence[npt.ArrayLike], grid: npt.ArrayLike, share: float = 0.5) -> Floats:
    """The surface that a share of the runs attains: for each first reward the best second one to go with it.

    An empirical attainment surface (Fonseca, Grunert da Fonseca and Paquete 2005): at least `share` of the runs found
    a point that is as good in both rewards.

    Args:
        sets: Per run (k, 2) rewards, higher is better.
        grid: (g,) first rewards.
        share: Above 0, at most 1.

    Returns:
        (g,) second rewards, -inf where too few runs got that far.
    """
    levels = np.asarray(grid, dtype=float)
    best = np.full((len(sets), len(levels)), -np.inf)
    for i, points in enumerate(sets):
        p = np.asarray(points, dtype=float)
        p = p[np.argsort(-p[:, 0], kind="stable")]
        # Points whose first reward is at least the level are a prefix.
        count = np.searchsorted(-p[:, 0], -levels, "right")
        running = np.concatenate([[-np.inf], np.maximum.accumulate(p[:, 1])])
        best[i] = running[count]
    needed = max(int(np.ceil(share * len(sets) - 1e-9)), 1)
    return np.asarray(-np.sort(-best, axis=0)[needed - 1])

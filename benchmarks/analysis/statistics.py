"""Descriptive statistics of scores: interquartile mean, probability of improvement, expected running time, ECDF."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from hpo_envs.tables.table import Floats


def iqm(values: npt.ArrayLike) -> Floats:
    """Interquartile mean over the last axis: the mean without the lowest and highest quarter (Agarwal et al. 2021)."""
    from scipy.stats import trim_mean  # not needed by runs

    return np.asarray(trim_mean(values, 0.25, axis=-1))


def probability_of_improvement(scores: Floats) -> Floats:
    """Return P(a run of a is better than one of b), ties counted half; mean over environments (Agarwal et al. 2021).

    Args:
        scores: (agents, environments, seeds) scores, lower is better, NaN where a seed was not run; each agent has a
            run on each environment.

    Returns:
        (agents, agents) probabilities, entry [a, b] for a against b.
    """
    count = len(scores)
    total = np.zeros((count, count))
    for s in np.moveaxis(scores, 1, 0):
        agent, seed = np.nonzero(np.isfinite(s))
        values, index = np.unique(s[agent, seed], return_inverse=True)
        share = np.bincount(agent * len(values) + index, minlength=count * len(values)).reshape(count, -1)
        share = share / share.sum(axis=1, keepdims=True)
        worse = 1.0 - share.cumsum(axis=1) + share / 2
        total += share @ worse.T
    return np.asarray(total / scores.shape[1])


def expected_runtime(costs: npt.ArrayLike, reached: npt.ArrayLike) -> float:
    """Expected cost of restarting until a target is reached (ERT or aRT of COCO, Hansen et al. 2021, section 4).

    The total cost of all runs is divided by the number of runs that reached the target; inf if none did.

    Args:
        costs: (n,) cost of each run until it reached the target, or until its end.
        reached: (n,) bool, whether it reached the target.
    """
    met = int(np.sum(reached))
    return float(np.sum(costs)) / met if met else np.inf


def ecdf(values: npt.ArrayLike, grid: npt.ArrayLike) -> Floats:
    """Return the fraction of all values <= each grid point; inf, a target never reached, is above every point."""
    v = np.sort(np.asarray(values, dtype=float).ravel())
    return np.searchsorted(v, np.asarray(grid, dtype=float), "right") / len(v)

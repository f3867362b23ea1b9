"""Random search without replacement, exactly: what the mean over ever more seeds of the agent `random` tends to.

The targets of Zhang and Duh (2020) are order statistics and counts of draws without replacement.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hpo_envs.agents.models.acquisition import pareto_front
from hpo_envs.benchmarks.analysis.statistics import expected_best

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Exact:
    """Mean and standard deviation of a score over the runs of random search."""

    mean: float
    std: float


def first_of(rows: int, wanted: int, least: int = 1) -> Exact:
    """Evaluations until one of the wanted rows is met: ftb, ftc, fto. Mean (n + 1) / (k + 1) with `least` 1.

    Args:
        rows: Number of rows n.
        wanted: How many of them are wanted, k.
        least: Runs count as at least so long (3 in Zhang and Duh 2020, note 18).

    Raises:
        ValueError: `wanted` is not in 1 to `rows`.
    """
    return _moments(_later(rows, wanted), least)


def all_of(rows: int, wanted: int, least: int = 1) -> Exact:
    """Evaluations until all wanted rows are met: fta. Mean k (n + 1) / (k + 1), the mirror image of `first_of`."""
    later = _later(rows, wanted)
    return _moments(1.0 - later[::-1], least)


def count_of(rows: int, wanted: int, budget: int) -> Exact:
    """Wanted rows among the first `budget`: fbp, hypergeometric."""
    share, budget = wanted / rows, min(budget, rows)
    left = (rows - budget) / max(rows - 1, 1)
    return Exact(budget * share, math.sqrt(budget * share * (1.0 - share) * left))


def _later(rows: int, wanted: int) -> Floats:
    """(n + 1,) P(first wanted row comes after t), t = 0 to n: C(n - t, k) / C(n, k)."""
    if not 1 <= wanted <= rows:
        raise ValueError(f"wanted must be in 1 to {rows}, the number of rows, got {wanted}")
    t = np.arange(rows)
    return np.concatenate([[1.0], np.cumprod(np.maximum(rows - wanted - t, 0) / (rows - t))])


def _moments(later: Floats, least: int) -> Exact:
    """Mean and variance of max(T, least), from P(T > t), t = 0, 1, ..."""
    p = np.concatenate([np.ones(least), later[least:]])
    mean = float(p.sum())
    square = float(((2 * np.arange(len(p)) + 1) * p).sum())
    return Exact(mean, math.sqrt(max(square - mean**2, 0.0)))


def of_values(values: npt.ArrayLike, tolerance: float, budget: int, least: int = 1) -> dict[str, Exact]:
    """ftb, ftc and fb of a table with one objective (Zhang and Duh 2020, section 4.1).

    Args:
        values: (n,) rewards.
        tolerance: Below the best that counts as close.
        budget: Evaluations of fb.
        least: See `first_of`.
    """
    v = np.asarray(values, dtype=np.float64)
    close = int((v >= v.max() - tolerance - 1e-9).sum())
    mean, std = expected_best(v, [budget], replacement=False)
    best = int((v == v.max()).sum())
    return {
        "ftb": first_of(len(v), best, least),
        "ftc": first_of(len(v), close, least),
        "fb": Exact(float(v.max() - mean[0]), float(std[0])),
    }


def of_points(points: npt.ArrayLike, budget: int, least: int = 1) -> dict[str, Exact]:
    """fto, fta and fbp of a table with several objectives (section 4.2), whose front has no point twice."""
    p = np.asarray(points, dtype=np.float64)
    rows, front = len(p), int(pareto_front(p).sum())
    return {
        "fto": first_of(rows, front, least),
        "fta": all_of(rows, front, least),
        "fbp": count_of(rows, front, budget),
    }


def selected(criterion: npt.ArrayLike, values: npt.ArrayLike, rows: npt.ArrayLike, budget: int) -> float:
    """Mean value of the best of random rows by another criterion: test loss of the best by validation.

    A row with several repeats gives one of them by chance. The best of b rows is at most c with the probability that
    all are, which is a mean of products over subsets of b rows.

    Args:
        criterion: (k,) of each repeat of each row, higher is better; NaN is worst.
        values: (k,) what is reported.
        rows: (k,) row of each repeat.
        budget: Number of rows b; no more than there are.
    """
    order = np.argsort(np.nan_to_num(np.asarray(criterion, dtype=np.float64), nan=-np.inf), kind="stable")
    row = np.unique(np.asarray(rows)[order], return_inverse=True)[1]
    drawn = np.arange(1, budget + 1)
    # products[c, j]: mean over subsets of j of the rows so far of the probability that all are at most c.
    products = np.zeros((len(order), budget + 1))
    products[:, 0] = 1.0
    for k in range(1, int(row.max()) + 2):
        mine = row == k - 1
        share = np.minimum(drawn / k, 1.0)
        at_most = (np.cumsum(mine) / mine.sum())[:, None]
        products[:, 1:] = (1.0 - share) * products[:, 1:] + share * at_most * products[:, :-1]
    weights = np.diff(products[:, budget], prepend=0.0)
    return float(weights @ np.asarray(values, dtype=np.float64)[order])

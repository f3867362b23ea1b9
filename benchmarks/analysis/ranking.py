"""Ranks of several methods over several problems: Friedman's test and Nemenyi's critical difference.

Follows Demsar (2006), "Statistical Comparisons of Classifiers over Multiple Data Sets", JMLR 7:1-30.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Ranking:
    """Methods over problems.

    Attributes:
        methods: Names, from the best average rank to the worst.
        ranks: (methods,) average ranks, 1 = best, in that order.
        problems: Number of problems N.
        statistic: Friedman's chi-square, corrected for ties.
        p: Its p-value, chi-square with k - 1 degrees of freedom.
        difference: Nemenyi's critical difference: average ranks further apart differ significantly.
        alpha: Its level.
        cliques: Maximal groups of methods that do not differ significantly.
    """

    methods: tuple[str, ...]
    ranks: tuple[float, ...]
    problems: int
    statistic: float
    p: float
    difference: float
    alpha: float
    cliques: tuple[tuple[str, ...], ...]

    def record(self) -> dict[str, Any]:
        """As JSON values."""
        return {
            "average ranks": {m: round(r, 3) for m, r in zip(self.methods, self.ranks, strict=True)},
            "problems": self.problems,
            "friedman": round(self.statistic, 3),
            "p": float(f"{self.p:.3g}"),
            "critical difference": round(self.difference, 3),
            "alpha": self.alpha,
            "not significantly different": [list(c) for c in self.cliques],
        }


def average_ranks(scores: npt.ArrayLike) -> Floats:
    """(problems, methods) ranks of (problems, methods) scores, 1 = highest, ties averaged."""
    from scipy.stats import rankdata

    return np.asarray(rankdata(-_matrix(scores), axis=1))


def friedman(scores: npt.ArrayLike) -> tuple[float, float]:
    """Friedman's chi-square and p-value (Demsar 2006, section 3.2.2), corrected for ties.

    Args:
        scores: (problems, methods), higher is better; at least 2 problems and 3 methods.
    """
    from scipy.stats import friedmanchisquare

    s = _matrix(scores)
    if s.shape[1] < 3:
        raise ValueError(f"scores must have 3 methods or more, got {s.shape[1]}")
    if (np.ptp(s, axis=1) == 0.0).all():  # no problem tells methods apart, and SciPy divides by zero
        return 0.0, 1.0
    result = friedmanchisquare(*s.T)
    return max(float(result.statistic), 0.0), float(result.pvalue)


def critical_difference(methods: int, problems: int, alpha: float = 0.05) -> float:
    """Nemenyi's critical difference q sqrt(k (k + 1) / 6N) of average ranks (Demsar 2006, section 3.2.2)."""
    from scipy.stats import studentized_range

    if methods < 2 or problems < 2:
        raise ValueError(f"methods and problems must be ints >= 2, got {methods} and {problems}")
    if not 0 < alpha < 1:
        raise ValueError(f"alpha must be in (0, 1), got {alpha}")
    q = float(studentized_range.ppf(1.0 - alpha, methods, np.inf)) / math.sqrt(2.0)
    return q * math.sqrt(methods * (methods + 1) / (6.0 * problems))


def rank(scores: Mapping[str, Sequence[float]], alpha: float = 0.05) -> Ranking:
    """Ranks methods by their scores on the same problems.

    Args:
        scores: Method -> one score a problem, higher is better.
        alpha: Level of the critical difference.

    Raises:
        ValueError: Fewer than 3 methods or 2 problems, unequal lengths, or NaN.
    """
    names = list(scores)
    lengths = {len(v) for v in scores.values()}
    if len(lengths) > 1:
        raise ValueError(f"scores must have one value a problem for every method, got lengths {sorted(lengths)}")
    matrix = np.array([list(scores[name]) for name in names], dtype=np.float64).T
    statistic, p = friedman(matrix)
    mean = average_ranks(matrix).mean(axis=0)
    order = np.argsort(mean, kind="stable")
    difference = critical_difference(len(names), len(matrix), alpha)
    sorted_names, sorted_ranks = [names[i] for i in order], mean[order]
    cliques: list[tuple[str, ...]] = []
    last = -1
    for i, r in enumerate(sorted_ranks):
        j = int(np.searchsorted(sorted_ranks, r + difference, side="right")) - 1
        if j > max(last, i):
            cliques.append(tuple(sorted_names[i : j + 1]))
            last = j
    return Ranking(
        tuple(sorted_names), tuple(map(float, sorted_ranks)), len(matrix), statistic, p, difference, alpha,
        tuple(cliques),
    )  # fmt: skip


def _matrix(scores: npt.ArrayLike) -> Floats:
    s = np.asarray(scores, dtype=np.float64)
    if s.ndim != 2 or min(s.shape) < 2:
        raise ValueError(f"scores must have shape (problems >= 2, methods >= 2), got {s.shape}")
    if not np.isfinite(s).all():
        raise ValueError(f"scores must be finite, got {int((~np.isfinite(s)).sum())} that are not")
    return s

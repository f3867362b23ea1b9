"""Ranks of several methods over several problems: Friedman's test, Nemenyi's critical difference, signed ranks.

Follows Demsar (2006), "Statistical Comparisons of Classifiers over Multiple Data Sets", JMLR 7:1-30.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

EXACT = 15
"""Up to this many non-zero differences the signed-rank test enumerates all signs."""


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
    s = _matrix(scores)
    better = (s[:, None, :] > s[:, :, None]).sum(axis=2)
    equal = (s[:, None, :] == s[:, :, None]).sum(axis=2)
    return np.asarray(better + (equal + 1) / 2.0)


def friedman(scores: npt.ArrayLike) -> tuple[float, float]:
    """Friedman's chi-square and p-value (Demsar 2006, section 3.2.2), corrected for ties.

    Args:
        scores: (problems, methods), higher is better; at least 2 problems and 2 methods.
    """
    from scipy.special import gammaincc

    s = _matrix(scores)
    n, k = s.shape
    ranks = average_ranks(s)
    spread = float((ranks**2).sum() - n * k * (k + 1) ** 2 / 4.0)
    if spread == 0.0:
        return 0.0, 1.0
    between = float(((ranks.mean(axis=0) - (k + 1) / 2.0) ** 2).sum())
    statistic = (k - 1) * n**2 * between / spread
    return statistic, float(gammaincc((k - 1) / 2.0, statistic / 2.0))


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
        ValueError: Fewer than 2 methods or problems, unequal lengths, or NaN.
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


def signed_rank(x: npt.ArrayLike, y: npt.ArrayLike) -> float:
    """Two-sided p-value of Wilcoxon's signed-rank test on pairs; pairs without a difference are left out.

    Exact, ties included, up to `EXACT` pairs; the normal approximation with tie correction beyond.
    """
    d = np.asarray(x, dtype=np.float64) - np.asarray(y, dtype=np.float64)
    if d.ndim != 1 or not np.isfinite(d).all():
        raise ValueError(f"x and y must be finite and of the same shape (n,), got differences {d}")
    d = d[d != 0]
    n = len(d)
    if n == 0:
        return 1.0
    _, inverse, counts = np.unique(np.abs(d), return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts - 1) / 2.0)[inverse]
    plus, centre = float(ranks[d > 0].sum()), float(ranks.sum()) / 2.0
    if n <= EXACT:
        signs = (np.arange(2**n)[:, None] >> np.arange(n)) & 1
        return float(np.mean(np.abs(signs @ ranks - centre) >= abs(plus - centre) - 1e-9))
    deviation = math.sqrt(float((ranks**2).sum()) / 4.0)
    return math.erfc(abs(plus - centre) / deviation / math.sqrt(2.0))


def pairs(scores: Mapping[str, Sequence[float]]) -> list[dict[str, Any]]:
    """Signed-rank tests of all pairs of methods, p-values adjusted by Holm (1979)."""
    records: list[dict[str, Any]] = [
        {"first": a, "second": b, "wins": int((np.array(scores[a]) > np.array(scores[b])).sum()),
         "losses": int((np.array(scores[a]) < np.array(scores[b])).sum()), "p": signed_rank(scores[a], scores[b])}
        for a, b in itertools.combinations(scores, 2)
    ]  # fmt: skip
    worst = 0.0
    for i, record in enumerate(sorted(records, key=lambda r: r["p"])):
        worst = max(worst, min(1.0, record["p"] * (len(records) - i)))
        record["p_holm"] = worst
    return records


def _matrix(scores: npt.ArrayLike) -> Floats:
    s = np.asarray(scores, dtype=np.float64)
    if s.ndim != 2 or min(s.shape) < 2:
        raise ValueError(f"scores must have shape (problems >= 2, methods >= 2), got {s.shape}")
    if not np.isfinite(s).all():
        raise ValueError(f"scores must be finite, got {int((~np.isfinite(s)).sum())} that are not")
    return s

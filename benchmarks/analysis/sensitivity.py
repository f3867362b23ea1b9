"""Sensitivity to hyperparameters by the metrics of Wiemerslage, Gorman and von der Wense (2024): Rel@k, ROPE.

Performance-based metrics (section 3.2) measure how many runs of a random search come close to its best run:
`relative_at`, `mean_at`, `best_equivalent`, `expected_equivalent`. Similarity-based metrics (section 3.3) measure
whether similar configurations have similar scores: `rank_similarity` places the runs, and `performance_correlation`,
`maxima` and `average_change` use these ranks. `analyse` returns all but the ranks for arrays, a DataFrame or a Table.

Scores are (n,) floats, higher is better; shares are per cent. Functions have up to two variants: `paper` (default) is
the definition in the text, `published` the one behind the numbers in the paper's tables, found by recomputing them.

Time is O(n log n) and memory O(n) in the number of runs, for every function.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from hpo_envs.tables.checks import one_of
from hpo_envs.tables.table import Floats, Table

Variant = Literal["paper", "published"]
VARIANTS = get_args(Variant)

KS = (25, 50, 100, 150)
"""The k of Rel@k and mean@k in Tables 3, 4, 10 and 11."""

ROPE = 1.0
"""Half-width of the region of practical equivalence, in points of accuracy (section 3.2)."""

SHARE = 0.1
"""Half-width of `rope_of`, as a fraction of the distance from the median to the best score."""


def relative_at(scores: npt.ArrayLike, k: int, variant: Variant = "paper") -> float:
    """Rel@k of (n,) scores: the k-th highest in per cent of the highest (section 3.2).

    `paper` counts the best run as the first, k = 1; `published` as the zeroth, so its Rel@k is the paper's Rel@(k + 1).

    Raises:
        ValueError: Unknown variant, k out of range, scores empty, NaN or infinite, or best score <= 0.
    """
    a, zeroth = np.sort(_scores(scores))[::-1], _published(variant)
    return float(100.0 * a[_k(k, 1, len(a) - zeroth, len(a)) - 1 + zeroth] / _positive(a[0]))


def mean_at(scores: npt.ArrayLike, k: int, variant: Variant = "paper") -> float:
    """mean@k of (n,) scores: the mean of the k highest in per cent of the highest (equation 1).

    `paper` averages runs 2 to k (k >= 2); `published` averages runs 1 to k, the best included.

    Raises:
        ValueError: Unknown variant, k out of range, scores empty, NaN or infinite, or best score <= 0.
    """
    a, first = np.sort(_scores(scores))[::-1], 1 - _published(variant)
    return float(100.0 * a[first : _k(k, first + 1, len(a), len(a))].mean() / _positive(a[0]))


def best_equivalent(scores: npt.ArrayLike, rope: float = ROPE, variant: Variant = "paper") -> float:
    """Percentage of (n,) scores at most `rope` below the best, itself included: best-equivalent runs (section 3.2).

    `paper` divides by the number of runs n, `published` by n - 1.

    Raises:
        ValueError: Unknown variant, scores empty, NaN or infinite, rope < 0, or fewer than 2 scores (`published`).
    """
    a = _scores(scores)
    return float(100.0 * np.count_nonzero(a.max() - a <= _rope(rope)) / _others(len(a), variant))


def expected_equivalent(scores: npt.ArrayLike, rope: float = ROPE, variant: Variant = "paper") -> float:
    """Mean percentage of (n,) scores within `rope` of a score: expected equivalent runs (section 3.2).

    `paper` counts each run among its equivalents and divides by n; `published` leaves it out and divides by n - 1.

    Raises:
        ValueError: Unknown variant, scores empty, NaN or infinite, rope < 0, or fewer than 2 scores (`published`).
    """
    a = np.sort(_scores(scores))
    n, rope = len(a), _rope(rope)
    # For each run, the end of the block of equivalents above it, by bisection on the very predicate of the
    # definition: rounded differences grow with a[j], so counts equal those of the n x n comparison.
    low, high = np.arange(n), np.full(n, n)
    while (open_ := high - low > 1).any():
        middle = (low + high) // 2
        inside = a[middle] - a <= rope
        low = np.where(open_ & inside, middle, low)
        high = np.where(open_ & ~inside, middle, high)
    pairs = 2 * int((low - np.arange(n)).sum()) + n * (1 - _published(variant))
    return float(100.0 * pairs / (n * _others(n, variant)))


def rank_similarity(configs: Any) -> Floats:
    """Return the (n,) average ranks of runs over their d hyperparameters (equation 2), multiples of 1/d.

    Every hyperparameter's values are sorted from the largest (rank 1) to the smallest; equal values share a rank and
    the next value has the next integer (dense ranks). `configs` are (n, d) numbers, or a DataFrame of n runs and d
    hyperparameters, in which columns that are not numeric must be ordered categoricals of pandas.

    Raises:
        ValueError: Wrong shape, NaN, a column without an order, or a constant column, which has to be left out.
    """
    return np.asarray(_rank_sums(configs) / np.shape(configs)[1])


def performance_correlation(
    ranks: npt.ArrayLike, scores: npt.ArrayLike, best: int | None = None, variant: Variant = "paper"
) -> float:
    """Spearman's rho between distance in rank and loss in score, both to the best of n runs (section 3.3).

    `paper` leaves the best run itself out, `published` keeps it. The (n,) `ranks` are those of `rank_similarity`, or
    any numbers that are close for similar runs; `best` is the index of the best run, by default of the first one, as
    rho depends on it if several are tied.

    Raises:
        ValueError: NaN or infinite values, unequal lengths, `best` not a best run, or constant distances or losses (rho
            is undefined).
    """
    distance, loss = _to_best(ranks, scores, best, variant)
    for name, values in (("ranks", distance), ("scores", loss)):
        if _constant(values):
            raise ValueError(f"{name} must not all be equally far from the best run's, got constant distances")
    from scipy.stats import spearmanr

    return float(np.clip(spearmanr(distance, loss).statistic, -1.0, 1.0))


def maxima(ranks: npt.ArrayLike, scores: npt.ArrayLike) -> int:
    """Number of runs with a better score than both neighbours in rank (section 3.3); ranks and scores are (n,).

    Runs are sorted by rank and, within equal ranks, from the best to the worst score. A maximum is strict and interior.

    Raises:
        ValueError: No values, NaN or infinite ones, or unequal lengths.
    """
    a = _along(ranks, scores)
    return int(np.count_nonzero((a[1:-1] > a[:-2]) & (a[1:-1] > a[2:])))


def average_change(ranks: npt.ArrayLike, scores: npt.ArrayLike, variant: Variant = "paper") -> float:
    """Average absolute change of the score between neighbours in rank (equation 3); ranks and scores are (n,).

    Runs are sorted as for `maxima`. `paper` divides the n - 1 changes by n, `published` by n - 1.

    Raises:
        ValueError: NaN or infinite values, unequal lengths, or fewer than 2 runs.
    """
    a = _along(ranks, scores)
    if len(a) < 2:
        raise ValueError(f"scores must have at least 2 runs, got {len(a)}")
    return float(np.abs(np.diff(a)).sum() / _others(len(a), variant))


def rope_of(scores: npt.ArrayLike) -> float:
    """Return the half-width of a region of practical equivalence: `SHARE` of the distance from median to best score."""
    a = _scores(scores)
    return SHARE * float(a.max() - np.median(a))


def analyse(
    configs: Any, scores: Any = None, *, ks: Sequence[int] = KS, rope: float | None = None, metric: str | None = None
) -> dict[str, float | None]:
    """Return all metrics of a random search, in the variant `paper`.

    Args:
        configs: (n, d) numbers or a DataFrame, with `scores`; or a `hpo_envs.tables.table.Table`, whose rows are the
            runs (without those never measured and without constant hyperparameters; choices of a categorical are ranked
            in the order of the space).
        scores: (n,) scores, higher is better; the name of the DataFrame's column that has them; None for a Table.
        ks: The k of Rel@k and mean@k, from 2 to the number of runs.
        rope: Half-width of the region of practical equivalence, in units of the score; default: see `rope_of`. The
            paper's is `ROPE`.
        metric: Metric of a Table, by default the first.

    Returns:
        `rel@k` and `mean@k` for each k, `best`, `equivalent`, `rho`, `maxima`, `change`. `rel@k` and `mean@k` are
        None where the best score is not positive, `rho` where it is undefined.

    Raises:
        ValueError: See the functions; or the Table lacks the metric or has no hyperparameter that varies.
    """
    if isinstance(configs, Table):
        configs, scores = _of_table(configs, metric)
    elif isinstance(scores, str):
        configs, scores = configs.drop(columns=scores), configs[scores]
    a = _scores(scores)
    rope = rope_of(a) if rope is None else rope
    ranks = _rank_sums(configs)
    relative = a.max() > 0
    result: dict[str, float | None] = {}
    for label, function, first in (("rel", relative_at, 1), ("mean", mean_at, 2)):
        for k in ks:
            _k(k, first, len(a), len(a))
            result[f"{label}@{k}"] = function(a, k) if relative else None
    undefined = any(_constant(values) for values in _to_best(ranks, a, None, "paper"))
    rho = None if undefined else performance_correlation(ranks, a)
    result |= {"best": best_equivalent(a, rope), "equivalent": expected_equivalent(a, rope), "rho": rho}
    return result | {"maxima": maxima(ranks, a), "change": average_change(ranks, a)}


def _of_table(table: Table, metric: str | None) -> tuple[Floats, Floats]:
    m = table.metrics[0 if metric is None else table.metric(metric)]
    scores = m.sign * table.final(m.name)
    measured = ~np.isnan(scores)
    # A hyperparameter with one value in the whole table moves every rank alike.
    varied = [j for j in range(len(table.space)) if np.ptp(table.configs[measured, j]) > 0]
    if not varied:
        raise ValueError(f"table {table.name} must have a hyperparameter that varies, got {len(table.space)} columns")
    return table.configs[measured][:, varied], scores[measured]


def _rank_sums(configs: Any) -> Floats:
    """(n,) sums of dense ranks, which are integers, so that equal averages are exactly equal."""
    import pandas as pd

    if np.ndim(configs) != 2 or not np.shape(configs)[1]:
        raise ValueError(f"configs must have shape (runs, hyperparameters >= 1), got {np.shape(configs)}")
    frame = pd.DataFrame(configs)
    for label, column in frame.items():
        if not (pd.api.types.is_numeric_dtype(column) or getattr(column.dtype, "ordered", False)):
            raise ValueError(f"column {label!r} must be numbers or an ordered categorical, got {column.dtype}")
        if column.isna().any():
            raise ValueError(f"configs must not contain NaN, got {int(column.isna().sum())} in column {label!r}")
        if column.nunique() < 2:
            raise ValueError(f"configs must vary in every column, got one value in {label!r}: leave the column out")
    return np.asarray(frame.rank(method="dense", ascending=False).sum(axis=1))


def _to_best(ranks: npt.ArrayLike, scores: npt.ArrayLike, best: int | None, variant: str) -> tuple[Floats, Floats]:
    """Distance in rank and loss in score of runs to the best one; `paper` leaves out the best run itself."""
    r, a = _pair(ranks, scores)
    top = int(a.argmax()) if best is None else best
    if not (0 <= top < len(a) and a[top] == a.max()):
        raise ValueError(f"best must be the index of a run with the best score, {a.max()}, got {best!r}")
    without = [] if _published(variant) else [top]
    return np.delete(np.abs(r[top] - r), without), np.delete(a[top] - a, without)


def _constant(values: Floats) -> bool:
    return len(values) == 0 or bool((values == values[0]).all())


def _along(ranks: npt.ArrayLike, scores: npt.ArrayLike) -> Floats:
    r, a = _pair(ranks, scores)
    return a[np.lexsort((-a, r))]


def _pair(ranks: npt.ArrayLike, scores: npt.ArrayLike) -> tuple[Floats, Floats]:
    r, a = _scores(ranks, "ranks"), _scores(scores)
    if len(r) != len(a):
        raise ValueError(f"ranks and scores must have the same length, got {len(r)} and {len(a)}")
    return r, a


def _scores(values: Any, name: str = "scores") -> Floats:
    a = np.asarray(values, dtype=np.float64)
    if a.ndim != 1 or len(a) == 0:
        raise ValueError(f"{name} must have shape (runs,) with at least one run, got {a.shape}")
    if not np.isfinite(a).all():
        raise ValueError(f"{name} must be finite, got {int((~np.isfinite(a)).sum())} that are NaN or infinite")
    return a


def _published(variant: str) -> bool:
    return one_of("variant", variant, VARIANTS) == "published"


def _others(n: int, variant: str) -> int:
    if (count := n - _published(variant)) < 1:
        raise ValueError(f"scores must have at least 2 runs in variant 'published', got {n}")
    return count


def _k(k: Any, low: int, high: int, n: int) -> int:
    if isinstance(k, bool) or not isinstance(k, (int, np.integer)) or not low <= k <= high:
        raise ValueError(f"k must be an int from {low} to {high} for {n} runs, got {k!r}")
    return int(k)


def _rope(rope: float) -> float:
    if not rope >= 0:
        raise ValueError(f"rope must be >= 0, got {rope!r}")
    return float(rope)


def _positive(best: float) -> float:
    if not best > 0:
        raise ValueError(f"the best score must be > 0 for a relative metric, got {best}")
    return float(best)

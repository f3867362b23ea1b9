"""Statistics of scores, lower is better: one number per run, runs grouped by environment.

`Strata` are the runs of one agent: one array per environment, its first axis the runs. Whatever is resampled is
resampled within each environment (Agarwal et al. 2021, "Deep reinforcement learning at the edge of the statistical
precipice", section 4.1), because which environments are compared on is a choice and not chance.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Strata = Sequence[Floats]

DRAWS = 2000
"""Bootstrap resamples."""

EXACT = 15
"""Up to this many non-zero differences the signed-rank test enumerates all signs."""


def iqm(values: npt.ArrayLike) -> Floats:
    """Interquartile mean over the last axis: the mean without the lowest and highest quarter (Agarwal et al. 2021).

    `int(n / 4)` values are left out at each end, as `scipy.stats.trim_mean` does.
    """
    v = np.sort(np.asarray(values, dtype=float), axis=-1)
    cut = v.shape[-1] // 4
    return np.asarray(v[..., cut : v.shape[-1] - cut].mean(axis=-1))


@functools.lru_cache(maxsize=8)
def _weights(sizes: tuple[int, ...], draws: int, seed: int) -> list[Floats]:
    """(draws, n) of each environment: how often a resample has each of its n runs, as a share of n."""
    rng = np.random.default_rng(seed)
    return [rng.multinomial(n, np.full(n, 1.0 / n), size=draws) / n for n in sizes]


def _sizes(strata: Strata) -> tuple[int, ...]:
    if not len(strata) or not all(len(s) for s in strata):
        raise ValueError("strata must be at least one environment with at least one run each")
    if not all(np.isfinite(s).all() for s in strata):
        raise ValueError("scores must be finite; a target never met has no score, count how many runs met it instead")
    return tuple(len(s) for s in strata)


def band(strata: Strata, confidence: float = 0.95, draws: int = DRAWS, seed: int = 0) -> tuple[Floats, Floats, Floats]:
    """Mean over environments of the mean over runs, and its stratified percentile bootstrap interval.

    Args:
        strata: Per environment (n,) scores, or (n, points) curves on a common grid.
        confidence: Between 0 and 1.
        draws: Bootstrap resamples.
        seed: Seed of the resampling; the same seed resamples the same runs, so that differences stay paired.

    Returns:
        Mean, lower and upper end, each of the shape of one run.

    Raises:
        ValueError: No runs, or scores that are not finite.
    """
    weights = _weights(_sizes(strata), draws, seed)
    mean = np.mean([np.mean(s, axis=0) for s in strata], axis=0)
    resampled = np.mean([w @ s for w, s in zip(weights, strata, strict=True)], axis=0)
    low, high = np.quantile(resampled, [(1 - confidence) / 2, (1 + confidence) / 2], axis=0)
    return np.asarray(mean), low, high


def aggregates(
    strata: Strata, confidence: float = 0.95, draws: int = DRAWS, seed: int = 0
) -> dict[str, tuple[float, float, float]]:
    """Mean, median and interquartile mean of all runs together: (estimate, lower, upper) of each.

    Raises:
        ValueError: No runs, or scores that are not finite.
    """
    _sizes(strata)
    pooled, resampled = np.concatenate(list(strata)), _resampled(strata, draws, seed)
    statistics = {"mean": _mean, "median": _median, "iqm": iqm}
    return {name: (float(f(pooled)), *_ends(f(resampled), confidence)) for name, f in statistics.items()}


def bootstrap_interval(
    values: npt.ArrayLike, confidence: float = 0.95, draws: int = DRAWS, seed: int = 0
) -> tuple[float, float]:
    """Percentile bootstrap interval of the mean of (n,) values; that of `aggregates` for one environment.

    Raises:
        ValueError: No values, or values that are not finite.
    """
    v = np.asarray(values, dtype=float)
    if not len(v) or not np.isfinite(v).all():
        raise ValueError(f"values must be finite and at least one, got {v!r}")
    return _ends(_mean(_resampled([v], draws, seed)), confidence)


def _resampled(strata: Strata, draws: int, seed: int) -> Floats:
    """(draws, runs) scores drawn with replacement, as many of each environment as it has."""
    rng = np.random.default_rng(seed)
    return np.concatenate([s[rng.integers(len(s), size=(draws, len(s)))] for s in strata], axis=1)


def _ends(resampled: Floats, confidence: float) -> tuple[float, float]:
    low, high = np.quantile(resampled, [(1 - confidence) / 2, (1 + confidence) / 2])
    return float(low), float(high)


def _mean(v: Floats) -> Floats:
    return np.asarray(v.mean(axis=-1))


def _median(v: Floats) -> Floats:
    return np.asarray(np.median(v, axis=-1))


def wilcoxon(differences: npt.ArrayLike, alternative: Literal["two-sided", "less"] = "two-sided") -> float:
    """P-value of Wilcoxon's signed-rank test; zeros are left out, and 1 if all differences are.

    Exact, ties included, up to `EXACT` pairs; the normal approximation with tie correction beyond.

    Args:
        differences: (n,) finite differences of pairs.
        alternative: `two-sided`, or `less`: that differences are negative.
    """
    d = np.asarray(differences, dtype=float)
    if d.ndim != 1 or not np.isfinite(d).all():
        raise ValueError(f"differences must be finite and of shape (n,), got {d}")
    d = d[np.abs(d) > 1e-12]  # what is equal but for rounding is equal
    n = len(d)
    if n == 0:
        return 1.0
    _, inverse, counts = np.unique(np.abs(d), return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts - 1) / 2.0)[inverse]
    apart = float(ranks[d > 0].sum()) - float(ranks.sum()) / 2.0
    if n <= EXACT:
        signs = (np.arange(2**n)[:, None] >> np.arange(n)) & 1
        sums = signs @ ranks - float(ranks.sum()) / 2.0
        if alternative == "less":
            return float(np.mean(sums <= apart + 1e-9))
        return float(np.mean(np.abs(sums) >= abs(apart) - 1e-9))
    z = apart / math.sqrt(float((ranks**2).sum()) / 4.0)
    return 0.5 * math.erfc(-z / math.sqrt(2.0)) if alternative == "less" else math.erfc(abs(z) / math.sqrt(2.0))


def holm(p_values: npt.ArrayLike) -> Floats:
    """Adjusted p-values of Holm (1979): below alpha exactly where the step-down procedure rejects at alpha."""
    p = np.asarray(p_values, dtype=float)
    order = np.argsort(p, kind="stable")
    adjusted = np.empty(len(p))
    adjusted[order] = np.minimum(1.0, np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1)))
    return adjusted


@dataclass(frozen=True)
class Pair:
    """How two agents compare, a against b, on the runs that share environment and seed.

    Attributes:
        a: Name.
        b: Name.
        difference: Mean over environments of the mean score of a minus that of b; negative: a is better.
        low: Lower end of its paired, stratified bootstrap interval.
        high: Upper end.
        p: Wilcoxon's signed-rank test over all pairs of runs.
        p_holm: The same, corrected for all comparisons made.
        improvement: Probability that a run of a beats one of b on a random environment.
        verdict: "better" or "worse" if the corrected test and the interval agree, else "tie".
    """

    a: str
    b: str
    difference: float
    low: float
    high: float
    p: float
    p_holm: float
    improvement: float
    verdict: str


def pairs(scores: Mapping[str, Floats], alpha: float = 0.05, draws: int = DRAWS) -> list[Pair]:
    """Compares all agents with each other.

    Args:
        scores: By agent (environments, seeds) scores; NaN where a seed was not run.
        alpha: Family-wise error rate of the verdicts.
        draws: Bootstrap resamples.

    Returns:
        One record per unordered pair, in the order of `scores`.

    Raises:
        ValueError: Two agents share no seed on some environment.
    """
    names = list(scores)
    chosen = [(a, b) for i, a in enumerate(names) for b in names[i + 1 :]]
    found = []
    for a, b in chosen:
        apart = scores[a] - scores[b]
        strata = [row[~np.isnan(row)] for row in apart]
        if not all(map(len, strata)):
            raise ValueError(f"agents must share a seed on every environment, got none for {a!r} and {b!r}")
        mean, low, high = (float(x) for x in band(strata, 1 - alpha, draws))
        improvement = probability_of_improvement(_rows(scores[a]), _rows(scores[b]))
        found.append((mean, low, high, wilcoxon(np.concatenate(strata)), improvement))
    adjusted = holm([f[3] for f in found])
    return [
        Pair(a, b, *f[:4], float(p), f[4], _verdict(*f[1:3], float(p), alpha))
        for (a, b), f, p in zip(chosen, found, adjusted, strict=True)
    ]


def _rows(scores: Floats) -> list[Floats]:
    return [row[~np.isnan(row)] for row in scores]


def _verdict(low: float, high: float, p: float, alpha: float) -> str:
    if p >= alpha or low <= 0.0 <= high:
        return "tie"
    return "better" if high < 0.0 else "worse"


def probability_of_improvement(a: Strata, b: Strata) -> float:
    """Mean over environments of P(a run of a is better than one of b), ties counted half (Agarwal et al. 2021)."""
    shares = []
    for x, y in zip(a, b, strict=True):
        y = np.sort(y)
        left, right = np.searchsorted(y, x, "left"), np.searchsorted(y, x, "right")
        shares.append(1.0 - (left + right).mean() / (2 * len(y)))
    return float(np.mean(shares))


def expected_runtime(costs: npt.ArrayLike, reached: npt.ArrayLike) -> float:
    """Cost of all runs, up to the target or to their end, by the number that met it; inf if none did.

    The expected cost of restarting until the target is met (ERT or aRT of COCO, Hansen et al. 2021, section 4).

    Args:
        costs: (n,) cost of each run until it met the target, or until its end.
        reached: (n,) bool, whether it did.
    """
    met = int(np.sum(reached))
    return float(np.sum(costs)) / met if met else float("inf")


def ecdf(values: npt.ArrayLike, grid: npt.ArrayLike) -> Floats:
    """Share of values <= each grid point; inf (a target that was never met) is below none."""
    v = np.sort(np.asarray(values, dtype=float).ravel())
    return np.searchsorted(v, np.asarray(grid, dtype=float), "right") / len(v)

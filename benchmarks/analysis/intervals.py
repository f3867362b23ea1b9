"""Confidence intervals and p-values of mean differences on fixed tasks and across tasks; alpha and smallest samples.

There are two kinds of inference. *Fixed tasks*: only seeds are random. *Across tasks*: the environments are a sample,
too, whose size is the number of environments or of groups of related ones. Both estimate the unweighted mean over
environments (or groups) of the mean paired difference; no random numbers are used.

`docs/statistics.md` has the simulations behind this choice: coverage, false winners and power. Arrays end in
`(environments, seeds)`; leading axes are differences (pairs of agents, simulated studies, ...). NaN is a seed that was
not run.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from hpo_envs.tables.table import Floats

ALPHA = 0.05
"""Significance level of every verdict; intervals cover 1 - ALPHA."""

CONFIDENCE = 1 - ALPHA / 2
"""Quantile at the upper end of an interval."""

FEWEST_SEEDS = 5
"""Runs on a single environment below which there is no interval and no verdict."""

FEWEST_GROUPS = 6
"""Fewest groups of environments for a statement across tasks: five equal signs have a probability of 2^-4 > 5 %."""

AT_ONCE = 2**21
"""Largest number of scores for which intervals are computed at once: 16 MB, and about five copies."""

ROUNDING = 1e-12
"""Tolerance of rounding."""


@dataclass(frozen=True)
class Estimate:
    """Differences and their uncertainty; all arrays have the shape of the leading axes."""

    mean: Floats  # unweighted mean over environments (or groups)
    low: Floats  # lower end of the 95 % interval; NaN without an interval
    high: Floats  # its upper end
    p: Floats  # two-sided p-value of "no difference"; 1 where it cannot be tested
    se: Floats  # standard error
    df: Floats  # degrees of freedom of the standard error; 0 if there is none


def fixed_tasks(differences: npt.ArrayLike) -> Estimate:
    """Return the estimate on fixed tasks: t with Welch and Satterthwaite's degrees of freedom, or Hall's t if wider.

    The variance of the mean over E environments is sum_e s_e^2 / n_e / E^2, with the variance s_e^2 of the n_e
    differences of environment e, or that of the seeds' means over all environments: this is larger if the differences
    of a seed are correlated across them. Hall (1992) transforms t by its skewness; the inverse has a closed form, too.

    Args:
        differences: (..., environments, seeds) differences, or scores of one agent.

    Raises:
        ValueError: The shape is wrong, or a difference is infinite.
    """
    d = _checked(differences)
    n, m, c, v = _moments(d)
    environments = d.shape[-2]
    with np.errstate(all="ignore"):
        seeds = v.sum(axis=-1) / environments**2
        seeds_df = v.sum(axis=-1) ** 2 / (v**2 / (n - 1)).sum(axis=-1)
        block, block_df = _blocks(d, np.full(environments, 1 / environments))
        wider = block > seeds
        variance, df = np.where(wider, block, seeds), np.where(wider, block_df, seeds_df)
        third = (np.einsum("...s,...s,...s->...", c, c, c) / ((n - 1) * (n - 2) * n)).sum(axis=-1)
        skew = np.nan_to_num(third / (environments**3 * variance**1.5), posinf=0.0, neginf=0.0)
    testable = np.asarray((n >= 2).all(axis=-1))
    return _estimate(m.mean(axis=-1), variance, df, skew, n.sum(axis=-1), testable)


def across_tasks(differences: npt.ArrayLike, groups: Sequence[Any] | None = None) -> Estimate:
    """Return the estimate across tasks: t over the means of environments, or of groups of related ones.

    The variance from seeds shared by all environments is added (`max(0, V_block - V)`). A single group has no interval.

    Args:
        differences: (..., environments, seeds) differences.
        groups: Label of each environment; equal labels are one group. None: one group per environment.

    Raises:
        ValueError: The shape is wrong, a difference is infinite, or there is not one label for each environment.
    """
    d = _checked(differences)
    n, m, _, v = _moments(d)
    g = grouped(m, groups)
    count = g.shape[-1]
    with np.errstate(all="ignore"):
        between = g.var(axis=-1) / (count - 1) if count > 1 else np.zeros(g.shape[:-1])
        extra, extra_df = _shared(d, v, _weights(d.shape[-2], groups))
        variance = between + extra
        df = variance**2 / (between**2 / max(count - 1, 1) + np.where(extra > 0, extra**2 / extra_df, 0.0))
    testable = np.full(g.shape[:-1], count >= 2) & (n >= 1).all(axis=-1)
    return _estimate(g.mean(axis=-1), variance, df, np.zeros(g.shape[:-1]), np.full(g.shape[:-1], count), testable)


def grouped(means: Floats, groups: Sequence[Any] | None) -> Floats:
    """Return the (..., groups) averages of (..., environments) means within groups; unchanged if `groups` is None.

    Raises:
        ValueError: There is not one label for each environment.
    """
    if groups is None:
        return means
    labels = np.asarray(list(groups))
    if labels.shape != means.shape[-1:]:
        raise ValueError(f"groups must be one label for each environment ({means.shape[-1]}), got {len(labels)}")
    return np.stack([means[..., labels == k].mean(axis=-1) for k in dict.fromkeys(labels.tolist())], axis=-1)


def interval(scores: npt.ArrayLike, own: Estimate | None = None, bounds: tuple[float, float] = (0.0, 1.0)) -> list[Any]:
    """Return arrays [mean, low, high] of scores, by default on fixed tasks; low and high are NaN without an interval.

    Args:
        scores: (..., environments, seeds), NaN where a seed was not run.
        own: Estimate of these scores; default: that of `fixed_tasks`.
        bounds: Lower and upper limit of the interval, unless a score exceeds them.
    """
    s = np.asarray(scores, dtype=float)
    e = fixed_tasks(s) if own is None else own
    enough = (s.shape[-2] > 1) | (np.isfinite(s).sum(axis=(-2, -1)) >= FEWEST_SEEDS)
    least = np.where(np.nanmin(s, axis=(-2, -1)) < bounds[0], -np.inf, bounds[0])
    most = np.where(np.nanmax(s, axis=(-2, -1)) > bounds[1], np.inf, bounds[1])
    low, high = (np.where(enough, x, np.nan) for x in (np.maximum(e.low, least), np.minimum(e.high, most)))
    return [e.mean[()], low[()], high[()]]


def bands(rows: Sequence[Floats]) -> list[Any]:
    """Return (points,) arrays [mean, low, high], see `interval`, of the (seeds, points) curves of each environment."""
    points = rows[0].shape[1]
    split = np.array_split(np.arange(points), min(-(-sum(r.size for r in rows) // AT_ONCE), points))
    parts = [interval(padded([r[:, some] for r in rows])) for some in split]
    return [np.concatenate(ends) for ends in zip(*parts, strict=True)]


def padded(rows: Sequence[Floats]) -> Floats:
    """Return the (seeds, ...) scores of each environment as one (..., environments, seeds) array, padded with NaN."""
    most = max(map(len, rows))
    full = np.full((len(rows), most, *rows[0].shape[1:]), np.nan)
    for i, row in enumerate(rows):
        full[i, : len(row)] = row
    return np.moveaxis(full, (0, 1), (-2, -1))


def _checked(differences: npt.ArrayLike) -> Floats:
    d = np.asarray(differences, dtype=float)
    if d.ndim < 2 or 0 in d.shape[-2:]:
        raise ValueError(f"differences must be of shape (..., environments, seeds), got {d.shape}")
    if np.isinf(d).any():
        raise ValueError(f"differences must be finite, or NaN where a seed was not run, got {d[np.isinf(d)][0]}")
    return d


def _moments(d: Floats) -> tuple[npt.NDArray[np.integer], Floats, Floats, Floats]:
    """Per environment: number of seeds, mean, (..., environments, seeds) deviations, variance of the mean.

    Deviations are 0 where a seed was not run; the variance is NaN below two seeds.
    """
    run = np.isfinite(d)
    n = run.sum(axis=-1)
    m = d.sum(axis=-1, where=run) / np.maximum(n, 1)
    c = d - m[..., None]
    np.copyto(c, 0.0, where=~run)
    with np.errstate(all="ignore"):
        return n, m, c, np.where(n >= 2, np.einsum("...s,...s->...", c, c) / (n - 1) / n, np.nan)


def _weights(environments: int, groups: Sequence[Any] | None) -> Floats:
    """Return the (environments,) weights in the mean over groups, which sum to 1."""
    if groups is None:
        return np.full(environments, 1 / environments)
    _, index, sizes = np.unique(np.asarray(list(groups)), return_inverse=True, return_counts=True)
    return np.asarray(1 / sizes[index] / len(sizes))


def _blocks(d: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """Return the variance of the weighted mean over seeds run on all environments (0 below two seeds), and df >= 1."""
    per_seed = np.einsum("...es,e->...s", d, weights)  # NaN where some environment lacks the seed
    shared = np.isfinite(per_seed)
    count = shared.sum(axis=-1)
    df, mean = np.maximum(count - 1, 1), np.where(shared, per_seed, 0.0).sum(axis=-1) / np.maximum(count, 1)
    centred = np.where(shared, per_seed - mean[..., None], 0.0)
    variance = (centred**2).sum(axis=-1) / df / np.maximum(count, 1)
    return np.where(count >= 2, variance, 0.0), df.astype(float)


def _shared(d: Floats, v: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """Additional variance of the weighted mean from seeds shared by all environments, and its degrees of freedom."""
    block, df = _blocks(d, weights)
    extra = block - (v * weights**2).sum(axis=-1)
    return np.where(np.isfinite(extra) & (d.shape[-2] > 1), np.maximum(extra, 0.0), 0.0), df


def _estimate(
    mean: Floats,
    variance: Floats,
    df: Floats,
    skew: Floats,
    count: npt.NDArray[np.integer],
    testable: npt.NDArray[np.bool_],
) -> Estimate:
    """Return intervals and p-values of means with these variances, degrees of freedom and skewnesses.

    Without a variance there is no interval, and p of a difference of `count` observations is 2^(1 - count); where a
    mean is not testable, there is no interval and p is 1.
    """
    from scipy.special import stdtr, stdtrit  # imported when something is tested

    spread = testable & (variance > ROUNDING**2 * np.maximum(mean**2, 1.0)) & np.isfinite(variance)
    with np.errstate(all="ignore"):
        se = np.where(spread, np.sqrt(variance), 0.0)
        df = np.where(spread, df, 1.0)
        q = stdtrit(df, CONFIDENCE)
        t = np.where(spread, mean / np.where(spread, se, 1.0), 0.0)
        low = mean - se * np.maximum(q, _inverse(q, skew))
        high = mean + se * np.maximum(q, -_inverse(-q, skew))
        p = 2 * stdtr(df, -np.minimum(np.abs(t), np.abs(_hall(t, skew))))
    constant = np.where(np.abs(mean) > ROUNDING, 2.0 ** (1 - count.astype(float)), 1.0)
    p = np.minimum(np.where(spread, p, np.where(testable, constant, 1.0)), 1.0)
    low, high = (np.where(spread, x, np.nan) for x in (low, high))
    return Estimate(mean, low, high, p, se, np.where(spread, df, 0.0))


def _hall(t: Floats, g: Floats) -> Floats:
    """Hall's (1992) transformation of t for skewness g; monotone."""
    return np.asarray(t + g * t**2 / 3 + g**2 * t**3 / 27 + g / 6)


def _inverse(x: Floats, g: Floats) -> Floats:
    """The t that `_hall` maps to x."""
    small = np.abs(g) < 1e-6
    safe = np.where(small, 1.0, g)
    return np.where(small, x, 3 / safe * (np.cbrt(1 + safe * (x - safe / 6)) - 1))

"""Measured properties of a table, and how the lead of a model-based search over random search depends on them.

`properties.csv`, next to this file, has a row per environment of the committed runs: its properties, and the lead of
`bo` over `random` (difference of mean normalised regret, positive if `bo` is better) after 20 and 40 evaluations. In
properties failed runs have the worst score, also for the median; for the scale of runs see `scales.rewards_of`.
"""

import functools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from hpo_envs.benchmarks.analysis import forest_importance, intervals, regret
from hpo_envs.benchmarks.tasks.pools import scores
from hpo_envs.tables.files import atomic
from hpo_envs.tables.table import Floats, Table

PROPERTIES = Path(__file__).with_name("properties.csv")

NEAR = 0.1
"""Largest regret of a configuration near the best."""

ROWS, TREES = 500, 50
"""Largest number of configurations to fit a forest to (rows are in the order of a hash); its number of trees."""

MEANING = {
    "dimensions": "hyperparameters that vary",
    "configurations": "configurations",
    "near_best": f"share of configurations with a regret of at most {NEAR:g}",
    "smoothness": "variance of regret that a forest explains out of bag",
    "noise": "standard deviation of repeats above the median, in units of regret",
}
"""Meaning of the properties of a table, by name."""

NAMES = ("dimensions (log2)", "configurations (log2)", "share near the best", "smoothness", "noise", "budget (log2)")
"""Columns of `design` after the constant."""

BUDGETS = (20, 40)
"""Evaluations after which runs are scored."""


def of_table(table: Table, metric: str) -> dict[str, float]:
    """Return a table's properties by one metric, see `MEANING`; a `ValueError` if the best reward is the median."""
    from sklearn.ensemble import RandomForestRegressor

    rewards = scores(table, metric)
    means = np.nanmean(rewards, axis=1)
    lost = regret.of_rows(means)
    if np.isnan(lost).any():
        raise ValueError(f"table must have a configuration above the median, got none in {table.name}")
    x, axes = forest_importance.space_of(table)
    forest = RandomForestRegressor(TREES, min_samples_leaf=2, oob_score=True, random_state=0)
    forest.fit(x[:ROWS], lost[:ROWS])
    several = rewards[(lost < 1) & ((~np.isnan(rewards)).sum(axis=1) > 1)]
    each = np.minimum((means.max() - several) / (means.max() - np.median(means)), 1.0)
    noise = float(np.sqrt(np.nanvar(each, axis=1, ddof=1).mean())) if len(each) else 0.0
    near, smoothness = float((lost <= NEAR).mean()), float(forest.oob_score_)
    return dict(zip(MEANING, (len(axes), len(table), near, smoothness, noise), strict=True))


def design(rows: Sequence[Mapping[str, Any]], budget: float) -> Floats:
    """Return the (n, 7) regressors of n rows at a budget in evaluations: a constant, and `NAMES`."""
    d, n, near, smooth, noise = (np.array([float(r[k]) for r in rows]) for k in MEANING)
    ones = np.ones(len(rows))
    return np.column_stack([ones, np.log2(d), np.log2(n), near, smooth, noise, ones * np.log2(budget)])


@functools.cache
def known() -> tuple[dict[str, str], ...]:
    """Return the rows of the committed `properties.csv`, whose values are strings."""
    return tuple(atomic.read_csv(PROPERTIES))


def regression(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Fit the lead by least squares to a table's properties and the budget; all task groups have the same weight.

    The result has `coefficients`; `covariance`, robust to clusters (task groups; CR1); `df`, groups less coefficients;
    `sd` of each regressor; `r2`; `residual`, the standard deviation around the fit.
    """
    x = np.vstack([design(rows, k) for k in BUDGETS])
    y = np.concatenate([[float(r[f"lead_{k}"]) for r in rows] for k in BUDGETS])
    labels = np.array([r["group"] for r in rows] * len(BUDGETS))
    names, index, sizes = np.unique(labels, return_inverse=True, return_counts=True)
    w = 1 / sizes[index]
    inverse = np.linalg.pinv((x * w[:, None]).T @ x)
    beta = inverse @ (x * w[:, None]).T @ y
    rest = y - x @ beta
    parts = np.stack([(x * (w * rest)[:, None])[labels == k].sum(axis=0) for k in names])
    few, count, (n, p) = len(names), len(names) - x.shape[1], x.shape
    covariance = inverse @ parts.T @ parts @ inverse * few / (few - 1) * (n - 1) / (n - p)
    mean = np.average(y, weights=w)
    sd = np.sqrt(np.average((x - np.average(x, axis=0, weights=w)) ** 2, axis=0, weights=w))
    residual = np.sqrt(np.average(rest**2, weights=w) * few / count)
    r2 = 1 - np.average(rest**2, weights=w) / np.average((y - mean) ** 2, weights=w)
    return {"coefficients": beta, "covariance": covariance, "df": count, "sd": sd, "r2": r2, "residual": residual}


def effects(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return a record per regressor: change of the lead per standard deviation (`sd`), 95 % interval, p-value."""
    from scipy.special import stdtr, stdtrit

    fit = regression(rows)
    q = stdtrit(fit["df"], intervals.CONFIDENCE)
    found = []
    for i, name in enumerate(NAMES, 1):
        b, se, sd = fit["coefficients"][i], np.sqrt(fit["covariance"][i, i]), fit["sd"][i]
        ends = {"low": (b - q * se) * sd, "high": (b + q * se) * sd}
        found.append({"property": name, "sd": sd, "effect": b * sd, **ends, "p": 2 * stdtr(fit["df"], -abs(b) / se)})
    return found


def expected_lead(facts: Mapping[str, float], budget: float) -> tuple[float, float, float]:
    """Return the expected lead of `bo` over random search on a table, and the ends of its 95 % prediction interval."""
    from scipy.special import stdtrit

    fit, (x,) = regression(known()), design([facts], budget)
    mean, q = float(x @ fit["coefficients"]), stdtrit(fit["df"], intervals.CONFIDENCE)
    half = float(q * np.sqrt(x @ fit["covariance"] @ x + fit["residual"] ** 2))
    return mean, mean - half, mean + half


def described(table: Table, metric: str) -> dict[str, float] | None:
    """Return the properties of a table, from the committed rows or else by `of_table`; None if it raises."""
    for row in known():
        if (row["table"], row["sha256"], row["metric"]) == (table.name, table.provenance.sha256, metric):
            return {name: float(row[name]) for name in MEANING}
    try:
        return of_table(table, metric)
    except ValueError:
        return None


def lines(facts: Mapping[str, float], budget: float = BUDGETS[-1]) -> list[str]:
    """Return the properties of a table as lines of text, the last with the lead of `bo` that they suggest."""
    mean, low, high = expected_lead(facts, budget)
    advice = "a model pays" if low > 0 else "random search is as good" if high < 0 else "no clear advice"
    said = f"lead of bo over random search, {budget:g} evaluations: {mean:.2f} [{low:.2f}, {high:.2f}], {advice}"
    shown = [f"  {name:<18}{facts[name]:.3g}  {meaning}" for name, meaning in MEANING.items()]
    return [*shown, f"  {'suggests':<18}{said}"]

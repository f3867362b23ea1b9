"""Hyperparameter importance on any space: functional ANOVA of a random forest, interactions, bootstrap intervals.

Hutter, Hoos and Leyton-Brown (2014), whose package is `fanova`: each tree of a forest is constant on boxes, so its
means over all hyperparameters, over all but one and over all but two are exact sums over its leaves.
Fractions of the variance are computed for each tree and averaged over trees. A performance cutoff (their section 5:
differences between bad configurations should not count) raises every leaf below it to the cutoff.
"""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from hpo_envs.tables.table import Floats, Hyperparameter, Table


@dataclass(frozen=True)
class Dimension:
    """A hyperparameter as an input of the forest."""

    name: str
    values: tuple[float, ...] = ()  # distinct numbers, all equally likely; empty for a range, which is uniform
    low: float = 0.0  # smallest number of a range
    high: float = 1.0  # largest number
    log: bool = False  # whether the numbers are logarithms
    labels: tuple[str, ...] = ()  # of `values`; empty: the values themselves

    def cells(self, thresholds: Floats) -> tuple[Floats, Floats, Floats]:
        """Return (cells,) points, weights that sum to 1, and upper ends.

        The points are the values, which are also the ends, or the midpoints of a range between thresholds.
        """
        if self.values:
            return (x := np.array(self.values)), np.full(len(x), 1.0 / len(x)), x
        inside = thresholds[(thresholds > self.low) & (thresholds < self.high)]
        edges = np.concatenate([[self.low], np.unique(inside), [self.high]])
        return (edges[1:] + edges[:-1]) / 2.0, np.diff(edges) / (self.high - self.low), edges[1:]


@dataclass(frozen=True)
class ForestImportance:
    """Fractions of the variance that d hyperparameters explain, averaged over the trees."""

    names: tuple[str, ...]
    main: Floats  # (d,) fraction explained by each main effect
    pairs: Floats  # (d, d) symmetric: each pairwise interaction beyond the main effects; diagonal 0
    main_std: Floats  # (d,) standard deviation of `main` over trees
    marginals: tuple[tuple[Floats, Floats, Floats], ...]
    """Per hyperparameter: points on its axis; mean and standard deviation over trees of the marginal prediction."""
    score: float  # out-of-bag R2 of the forest; NaN below 16 trees

    @property
    def warning(self) -> str:
        """A sentence if the score is at most 0.2 or unknown, so that the importances are unreliable; else empty."""
        reliable = self.score > 0.2
        return "" if reliable else "The forest explains little of the scores: do not rely on these shares."

    def ranked_pairs(self) -> list[tuple[str, str, float]]:
        """Return (name, name, fraction) of all pairs, largest fraction first."""
        pairs = itertools.combinations(enumerate(self.names), 2)
        found = [(a, b, float(self.pairs[i, j])) for (i, a), (j, b) in pairs]
        return sorted(found, key=lambda pair: -pair[2])


def boxes(tree: Any, d: int) -> tuple[Floats, Floats, Floats]:
    """Return the leaves of a fitted scikit-learn tree (`estimator.tree_`) of d features.

    The arrays are (leaves,) predictions, and (leaves, d) lower and upper bounds of their boxes, low < x <= high.
    """
    leaves = []
    stack = [(0, np.full(d, -np.inf), np.full(d, np.inf))]
    while stack:
        node, low, high = stack.pop()
        left, right, cut = tree.children_left[node], tree.children_right[node], np.arange(d) == tree.feature[node]
        if left == right:
            leaves.append((tree.value[node].item(), low, high))
            continue
        stack.append((left, low, np.where(cut, np.minimum(high, tree.threshold[node]), high)))
        stack.append((right, np.where(cut, np.maximum(low, tree.threshold[node]), low), high))
    values, low, high = (np.array(column, dtype=np.float64) for column in zip(*leaves, strict=True))
    return values, low, high


def decompose(
    values: Floats, low: Floats, high: Floats, axes: Sequence[Dimension]
) -> tuple[Floats, Floats, float, list[tuple[Floats, Floats]]]:
    """Decompose the variance of one tree over the space, exactly, from its leaves as `boxes` returns them.

    Returns the (d,) variances of the main effects, the (d, d) variances of the pairwise interactions, the total
    variance, and for each axis the upper ends of its cells and, in each cell, the mean over all other axes.
    """
    d = len(axes)
    points, weights, ends = zip(*(axis.cells(high[:, i]) for i, axis in enumerate(axes)), strict=True)
    # covers[i][l, c]: whether leaf l has cell c of axis i.
    covers = [((x > low[:, [i]]) & (x <= high[:, [i]])).astype(np.float64) for i, x in enumerate(points)]
    share = np.column_stack([cover @ w for cover, w in zip(covers, weights, strict=True)])
    mean = float(values @ share.prod(axis=1))
    centred = values - mean
    total = float(np.square(centred) @ share.prod(axis=1))

    def others(*keep: int) -> Floats:
        out: Floats = centred * np.delete(share, keep, axis=1).prod(axis=1)
        return out

    effects = [others(i) @ covers[i] for i in range(d)]
    main = np.array([w @ np.square(e) for e, w in zip(effects, weights, strict=True)])
    pairs = np.zeros((d, d))
    for i, j in itertools.combinations(range(d), 2):
        joint = (others(i, j)[:, None] * covers[i]).T @ covers[j]
        interaction = joint - effects[i][:, None] - effects[j][None, :]
        pairs[i, j] = pairs[j, i] = weights[i] @ np.square(interaction) @ weights[j]
    return main, pairs, total, [(x, mean + e) for x, e in zip(ends, effects, strict=True)]


def importance(
    configs: npt.ArrayLike,
    scores: npt.ArrayLike,
    axes: Sequence[Dimension],
    *,
    cutoff: float | None = None,
    trees: int = 64,
    seed: int = 0,
) -> ForestImportance:
    """Return the functional ANOVA of a random forest fitted to runs.

    Args:
        configs: (n, d) numbers on `axes`, one row per run.
        scores: (n,) finite scores; higher is better, which matters only for `cutoff`.
        axes: The d hyperparameters; means are over all of their values.
        cutoff: Smaller predictions are raised to this; None: no cutoff.
        trees: Number of trees.
        seed: Seed of the forest.

    Raises:
        ValueError: Shapes do not match, there are fewer than two runs, or scores are not finite.
    """
    from sklearn.ensemble import RandomForestRegressor

    x, y = np.asarray(configs, dtype=np.float64), np.asarray(scores, dtype=np.float64)
    if x.ndim != 2 or y.shape != (len(x),) or x.shape[1] != len(axes) or len(x) < 2 or not np.isfinite(y).all():
        raise ValueError(
            f"configs, finite scores, axes must be (n >= 2, d), (n,), (d,), got {x.shape}, {y.shape}, {len(axes)}"
        )
    model = RandomForestRegressor(trees, random_state=seed, oob_score=trees >= 16).fit(x, y)
    d = len(axes)
    mains, pairs, marginals = [], [], []
    for estimator in model.estimators_:
        values, low, high = boxes(estimator.tree_, d)
        values = values if cutoff is None else np.maximum(values, cutoff)
        main, pair, total, marginal = decompose(values, low, high, axes)
        marginals.append(marginal)
        if total > 0.0:  # a tree that is constant has no shares
            mains.append(main / total)
            pairs.append(pair / total)
    main_shares = np.array(mains) if mains else np.zeros((1, d))
    return ForestImportance(
        tuple(axis.name for axis in axes),
        main_shares.mean(axis=0),
        np.mean(pairs, axis=0) if pairs else np.zeros((d, d)),
        main_shares.std(axis=0),
        tuple(_over_trees(axis, [m[i] for m in marginals]) for i, axis in enumerate(axes)),
        float(getattr(model, "oob_score_", np.nan)),
    )


def intervals(configs: Floats, scores: Floats, axes: Sequence[Dimension]) -> Floats:
    """Return the (2, d) lower and upper bounds of 95 % bootstrap intervals of `ForestImportance.main`.

    They use 20 forests of 15 trees, each on runs drawn with replacement. Arguments are those of `importance`.
    """
    rng, shares = np.random.default_rng(0), []
    for k in range(20):
        drawn = rng.integers(len(scores), size=len(scores))
        shares.append(importance(configs[drawn], scores[drawn], axes, trees=15, seed=k).main)
    return np.asarray(np.quantile(shares, [0.025, 0.975], axis=0))


def of_table(table: Table, metric: str) -> tuple[Floats, Floats, list[Dimension]]:
    """Return (n, d) numbers, (n,) scores (higher is better) and d axes of the n rows of a table that have the metric.

    An unknown metric, or a table in which nothing varies, raises a `ValueError`.
    """
    scores = table.metrics[table.metric(metric)].sign * table.final(metric)
    x, axes = space_of(table)
    known = ~np.isnan(scores)
    return x[known], scores[known], axes


def space_of(table: Table) -> tuple[Floats, list[Dimension]]:
    """Return (rows, d) numbers of a table, and their d axes.

    These are the hyperparameters that vary; in a table without hyperparameters, the features that vary.

    Raises:
        ValueError: The table has neither, or none that varies.
    """
    if table.space:
        x, axes = varying(table.space, table.configs)
    else:
        varies = np.ptp(table.features, axis=0) > 0
        x, axes = table.features[:, varies], [Dimension(table.feature_names[i]) for i in np.flatnonzero(varies)]
    if not axes:
        raise ValueError(f"table must have hyperparameters or features, got none in {table.name}")
    return x, axes


def varying(space: Sequence[Hyperparameter], raw: Floats) -> tuple[Floats, list[Dimension]]:
    """Return the (n, d) inputs of the forest (see `numbers`) of the hyperparameters that vary, and their d axes."""
    x = np.column_stack([numbers(h, c) for h, c in zip(space, raw.T, strict=True)])
    varies = np.ptp(x, axis=0) > 0 if len(x) else np.zeros(len(space), bool)
    return x[:, varies], [axis_of(h) for h, v in zip(space, varies, strict=True) if v]


def axes_of(configs: Floats, names: Sequence[str], whole: bool) -> list[Dimension]:
    """Return the axes of the columns of (n, d) actions that are not rows of a table.

    An axis has the observed values of its column if `whole`, else the range from the lowest to the highest. `names` are
    those of the axes; if there are not d, the axes are named x1, x2, ...
    """
    d = configs.shape[1]
    named = zip(names if len(names) == d else [f"x{i + 1}" for i in range(d)], configs.T, strict=True)
    if whole:
        return [Dimension(n, tuple(map(float, np.unique(c)))) for n, c in named]
    return [Dimension(n, (), float(c.min()), float(c.max())) for n, c in named]


def axis_of(h: Hyperparameter) -> Dimension:
    """Return a hyperparameter as an axis: its choices (indices if categorical), or its range (logarithms if `log`)."""
    if h.kind == "categorical":
        return Dimension(h.name, tuple(map(float, range(len(h.values)))), labels=tuple(map(str, h.values)))
    if h.values:
        return Dimension(h.name, tuple(map(float, h.values)))
    low, high = (float(np.log(v)) if h.log else float(v) for v in (h.low, h.high))
    return Dimension(f"1 - {h.name}" if h.complement else h.name, (), low, high, h.log)


def numbers(h: Hyperparameter, raw: Floats) -> Floats:
    """Return (n,) stored values as inputs of the forest: logarithms of a log range; inactive numbers become `low`."""
    x = raw if h.kind == "categorical" else np.maximum(raw, h.low)
    return np.log(x) if h.log and not h.values else x


def _over_trees(axis: Dimension, found: Sequence[tuple[Floats, Floats]]) -> tuple[Floats, Floats, Floats]:
    """Points, mean and standard deviation over trees of a marginal; ranges are evaluated at 51 points."""
    points = np.array(axis.values) if axis.values else np.linspace(axis.low, axis.high, 51)
    rows = [means if axis.values else means[ends.searchsorted(points)] for ends, means in found]
    return points, np.mean(rows, axis=0), np.std(rows, axis=0)

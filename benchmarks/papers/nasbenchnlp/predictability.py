"""Section 4: what features of an architecture say of divergence and of its final loss."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from hpo_envs.tables.table import Table

Floats = npt.NDArray[np.float64]

LIMIT = 6.0
"""Log perplexity up to which section 4 repeats its regression."""

TREES = {"max_iter": 100, "learning_rate": 0.1, "max_depth": 6}
"""Gradient boosting in place of the paper's XGBoost: histogram-based, 100 rounds, as its defaults."""


def half_splits(
    n: int, count: int, seed: int, strata: npt.NDArray[np.bool_] | None = None
) -> list[npt.NDArray[np.bool_]]:
    """`count` random halves of n rows, as masks of the training half; equal shares of `strata` in both halves."""
    rng = np.random.default_rng(seed)
    halves = []
    for _ in range(count):
        mask = np.zeros(n, bool)
        for part in [np.arange(n)] if strata is None else [np.flatnonzero(strata), np.flatnonzero(~strata)]:
            mask[rng.permutation(part)[: len(part) // 2]] = True
        halves.append(mask)
    return halves


def auc_of_divergence(features: Floats, diverged: npt.NDArray[np.bool_], splits: int, seed: int) -> Floats:
    """(splits,) ROC AUC of a classifier of diverging cells, trained on one half and tested on the other."""
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.metrics import roc_auc_score

    scores = []
    for train in half_splits(len(features), splits, seed, diverged):
        model = HistGradientBoostingClassifier(random_state=0, **TREES).fit(features[train], diverged[train])
        scores.append(roc_auc_score(diverged[~train], model.predict_proba(features[~train])[:, 1]))
    return np.array(scores)


def r2_of_loss(features: Floats, loss: Floats, splits: int, seed: int) -> tuple[Floats, Floats, Floats]:
    """(splits,) R2 of a regression of the loss; and the true and predicted losses of the first test half (figure 8)."""
    from sklearn.ensemble import HistGradientBoostingRegressor

    scores, first = [], (np.zeros(0), np.zeros(0))
    for i, train in enumerate(half_splits(len(features), splits, seed)):
        model = HistGradientBoostingRegressor(random_state=0, **TREES).fit(features[train], loss[train])
        true, predicted = loss[~train], model.predict(features[~train])
        scores.append(1.0 - ((true - predicted) ** 2).sum() / ((true - true.mean()) ** 2).sum())
        first = (true, predicted) if i == 0 else first
    return np.array(scores), *first


def interval(values: Floats) -> tuple[float, float, float]:
    """Mean and central 95 % of values over splits."""
    low, high = np.quantile(values, [0.025, 0.975])
    return round(float(values.mean()), 3), round(float(low), 3), round(float(high), 3)


def feature_checks(table: Table, splits: int, seed: int) -> dict[str, tuple[float, float, float]]:
    """The two checks of section 4 on a table's features, as intervals by name; an architecture counts once."""
    x, diverged = table.features, np.array([(s == 2).any() for s in table.status])
    loss = table.final("test_loss")
    known = ~np.isnan(loss) & ~diverged
    found = {"auc_diverged": interval(auc_of_divergence(x, diverged, splits, seed))}
    for name, chosen in (("r2_loss", known), (f"r2_loss<={LIMIT:g}", known & (loss <= LIMIT))):
        found[name] = interval(r2_of_loss(x[chosen], loss[chosen], splits, seed)[0])
    return found

"""Tools for embedded tables: out-of-fold predictions, residual noise, and the error of both.

An embedded value of a measured cell is `prediction + noise`, where

1. the prediction comes from a model that saw no measurement of that cell, nor of any cell in its group
   (`out_of_fold`): models, their hyperparameters and the weights among them are chosen inside each training set
   (`hpo_envs.tables.fitting.regression.stacked`), so the error of the shipped predictions is an honest held-out error;
2. the noise has the distribution of the residuals of cells with similar predictions, and the correlation of the
   residuals across metrics (`residual_noise`), so that the landscape is as rugged as the measured one.

Draws are hashes of (seed, key), never a generator's stream: refitting one table, or adding a row, changes no other
draw. scipy is imported where it is used.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.intp]


@dataclass(frozen=True)
class Fitted:
    """A regression after training.

    Attributes:
        predict: Maps (n, d) inputs to (n,) predictions.
        held_out: (training rows,) prediction of each training row by a model that did not see it; what
            `regression.stacked` weighs models by.
    """

    predict: Callable[[Floats], Floats]
    held_out: Floats


Fit = Callable[[Floats, Floats], Fitted]
"""Trains on (n, d) inputs and (n,) targets; deterministic."""


@dataclass(frozen=True)
class Scale:
    """The scale on which a metric is modelled; `back(to(v)) == v` up to rounding."""

    name: str
    to: Callable[[Floats], Floats]
    back: Callable[[Floats], Floats]


LINEAR = Scale("linear", lambda v: v, lambda v: v)
LOG = Scale("log", np.log, np.exp)


def logit(high: float) -> Scale:
    """The log-odds scale of a metric with values in the open interval (0, high)."""
    return Scale("logit", lambda v: np.log(v / (high - v)), lambda z: high / (1.0 + np.exp(-z)))


def uniforms(seed: str, keys: Sequence[str]) -> Floats:
    """(len(keys),) draws in the open interval (0, 1); each is a hash of the seed and its own key."""
    bits = [hashlib.blake2b(f"{seed}|{key}".encode(), digest_size=8).digest() for key in keys]
    return ((np.array([int.from_bytes(b, "little") >> 11 for b in bits], dtype=np.float64)) + 0.5) * 2.0**-53


def normals(seed: str, keys: Sequence[str]) -> Floats:
    """(len(keys),) standard normal draws; see `uniforms`."""
    from scipy.special import ndtri

    return np.asarray(ndtri(uniforms(seed, keys)))


def folds(groups: Sequence[str], k: int, seed: str = "folds") -> Ints:
    """Assigns rows to k folds of nearly equal numbers of groups; rows of one group share a fold.

    Args:
        groups: Group of each row. Rows that repeat one measurement must share a group, or the repeated value leaks.
        k: Number of folds.
        seed: Any text.

    Returns:
        (rows,) fold of each row, in 0..k-1.

    Raises:
        ValueError: There are fewer groups than folds.
    """
    names, index = np.unique(np.asarray(groups), return_inverse=True)
    if not 2 <= k <= len(names):
        raise ValueError(f"k must be between 2 and the number of groups, {len(names)}, got {k}")
    rank = np.empty(len(names), dtype=np.intp)
    rank[np.argsort(uniforms(seed, list(names)), kind="stable")] = np.arange(len(names))
    return rank[index] % k


def out_of_fold(fit: Fit, x: Floats, y: Floats, fold: Ints, unmeasured: Floats | None = None) -> tuple[Floats, Floats]:
    """Predicts every row by a model trained on the other folds, and new rows by one trained on all.

    Training rows with identical inputs are averaged first, so that a repeated measurement counts once.

    Args:
        fit: The regression.
        x: (n, d) inputs.
        y: (n,) targets, on the scale to be modelled; NaN = not recorded (predicted, never trained on).
        fold: (n,) from `folds`.
        unmeasured: (m, d) inputs of cells without a measurement.

    Returns:
        (n,) out-of-fold predictions and (m,) predictions of the unmeasured cells.
    """
    known = ~np.isnan(y)

    def train(rows: npt.NDArray[np.bool_]) -> Fitted:
        inputs, where = np.unique(x[rows], axis=0, return_inverse=True)
        where = where.reshape(-1)  # NumPy 2.0 gave it a second axis
        return fit(inputs, np.bincount(where, y[rows]) / np.bincount(where))

    predicted = np.empty(len(y))
    for f in np.unique(fold):
        predicted[fold == f] = train(known & (fold != f)).predict(x[fold == f])
    new = train(known).predict(unmeasured) if unmeasured is not None and len(unmeasured) else np.empty(0)
    return predicted, np.asarray(new)


def residual_noise(
    predicted: Floats,
    residuals: Floats,
    keys: Sequence[Sequence[str]],
    groups: Sequence[str],
    seed: str,
    neighbours: int = 40,
    local_ranks: bool = False,
) -> Floats:
    """Draws noise with the size, shape and cross-metric correlation of the residuals.

    Each cell and metric gets a quantile of the residuals of the `neighbours` cells of other groups with the nearest
    predictions: where the model errs much (often: near configurations that fail) noise is large, near the optimum it
    is small. The levels of the quantiles are a Gaussian copula with `residual_correlation` or `level_correlation`.

    Args:
        predicted: (n, metrics) out-of-fold predictions, on the modelled scale.
        residuals: (n, metrics) measured minus predicted; NaN = not recorded.
        keys: For each metric, the (n,) keys of the draws; cells with equal keys in a metric share the draw. Metrics
            whose keys are shared by more cells must come first for the sharing to be exact.
        groups: (n,) as for `folds`.
        seed: Any text.
        neighbours: Size of the neighbourhood.
        local_ranks: Whether the correlation is `level_correlation`: right where residuals of different cells differ
            much in size, which `residual_correlation` takes for independence.

    Returns:
        (n, metrics) noise on the modelled scale.
    """
    from scipy.special import ndtr

    near = neighbourhoods(predicted, residuals, groups, neighbours)
    m = predicted.shape[1]
    correlation = level_correlation(residuals, near) if local_ranks else residual_correlation(residuals)
    root = np.linalg.cholesky(correlation + 1e-9 * np.eye(m))
    draws = np.column_stack([normals(f"{seed}|{j}", keys[j]) for j in range(m)])
    level = ndtr(draws @ root.T)
    return np.array(
        [[np.quantile(near[i, j], level[i, j], method="hazen") for j in range(m)] for i in range(len(predicted))]
    )


def neighbourhoods(predicted: Floats, residuals: Floats, groups: Sequence[str], neighbours: int) -> Floats:
    """(n, metrics, neighbours) residuals of the cells of other groups with the nearest predictions, sorted."""
    n, m = predicted.shape
    group = np.unique(np.asarray(groups), return_inverse=True)[1]
    near = np.empty((n, m, neighbours))
    for i in range(n):
        for j in range(m):
            others = np.flatnonzero((group != group[i]) & ~np.isnan(residuals[:, j]))
            order = np.argsort(np.abs(predicted[others, j] - predicted[i, j]), kind="stable")[:neighbours]
            near[i, j] = np.sort(residuals[others[order], j])
    return near


def residual_correlation(residuals: Floats) -> Floats:
    """(metrics, metrics) correlation of the normal scores of the residuals, over rows without NaN.

    Normal scores (ranks mapped to normal quantiles) keep one diverged run from deciding the correlation. Where
    residuals differ in size from cell to cell, `level_correlation` is the one that noise needs.
    """
    from scipy.special import ndtri
    from scipy.stats import rankdata

    rows = residuals[~np.isnan(residuals).any(axis=1)]
    scores = ndtri((rankdata(rows, axis=0) - 0.5) / len(rows))
    return np.asarray(np.corrcoef(scores, rowvar=False)).reshape(residuals.shape[1], residuals.shape[1])


def level_correlation(residuals: Floats, near: Floats) -> Floats:
    """(metrics, metrics) correlation of the residuals, each measured by its rank among its neighbourhood.

    Ranks (as normal quantiles) keep one diverged run from deciding the correlation, and ranks within the
    neighbourhood keep differences in size from hiding it. Rows with NaN are left out.
    """
    from scipy.special import ndtri

    below = (near < residuals[:, :, None]).sum(axis=2) + 0.5 * (near == residuals[:, :, None]).sum(axis=2)
    scores = ndtri((below + 0.5) / (near.shape[2] + 1.0))
    rows = scores[~np.isnan(residuals).any(axis=1)]
    return np.asarray(np.corrcoef(rows, rowvar=False)).reshape(residuals.shape[1], residuals.shape[1])


@dataclass(frozen=True)
class Error:
    """How far values are from the measured ones, on the metric's native scale."""

    r2: float
    tau: float
    rmse: float


def error(measured: Floats, values: Floats) -> Error:
    """R2 (1 - squared error / variance), Kendall's tau-b and root mean squared error; NaN = not recorded."""
    from scipy.stats import kendalltau

    known = ~np.isnan(measured)
    y, v = measured[known], values[known]
    square = float(((y - v) ** 2).mean())
    return Error(1.0 - square / float(y.var()), float(kendalltau(y, v)[0]), square**0.5)

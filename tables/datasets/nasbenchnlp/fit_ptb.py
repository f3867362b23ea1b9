"""Fits what the package ships of NAS-Bench-NLP on the Penn Treebank.

    python -m hpo_envs.tables.datasets.nasbenchnlp.fit_ptb

needs the installed upstream files and the results of `fit`; writes `data/cells_ptb.npz`,
`cells_ptb_final.npz` and `cells_ptb_report.json`. Takes a few minutes, most of them for drawing and probing cells.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import numpy.typing as npt

from hpo_envs.tables import store
from hpo_envs.tables.cells import features
from hpo_envs.tables.cells.canonical import key
from hpo_envs.tables.cells.size import VOCABULARY, parameters
from hpo_envs.tables.datasets.nasbenchnlp import fit, model
from hpo_envs.tables.datasets.nasbenchnlp.names import (
    EPOCHS,
    PTB_FINAL,
    PTB_MULTI_ROWS,
    PTB_REPEATS,
    PTB_ROWS,
    WIKITEXT2,
)
from hpo_envs.tables.datasets.nasbenchnlp.paired import paired_losses
from hpo_envs.tables.row_order import natural
from hpo_envs.tables.table import Floats, Table

TOKENS = 1.086 / 2.552
"""Ratio of the tokens of PTB and WikiText-2 (Table 1), by which seconds are scaled."""

FLOORS = (4.05, 4.05, 3.0)
"""As `model.FLOORS`, on PTB: test perplexity 57.3 of a fully trained AWD-LSTM (Merity et al. 2017, Table 1)."""

BINS = 255

TREES: dict[str, Any] = {"n_estimators": 150, "learning_rate": 0.08, "max_depth": 3, "subsample": 0.6}


def main() -> None:
    """Fits both tables and writes the files."""
    final = natural(store.load(PTB_FINAL))
    arrays, report = fit_final(final)
    fit._write("cells_ptb_final.npz", arrays)
    curves, more = fit_curves(final)
    fit._write("cells_ptb.npz", curves)
    report = {"command": "python -m hpo_envs.tables.datasets.nasbenchnlp.fit_ptb", "ptb-final": report, "ptb": more}
    (fit.DATA / "cells_ptb_report.json").write_text(json.dumps(report, indent=1) + "\n")
    print(json.dumps(report, indent=1))


def fit_final(table: Table) -> tuple[dict[str, npt.NDArray[Any]], dict[str, Any]]:
    """Draws rows from the copula of the features and predicts what the table measured of them."""
    from scipy.special import ndtr
    from sklearn.ensemble import GradientBoostingClassifier, GradientBoostingRegressor
    from sklearn.metrics import roc_auc_score
    from sklearn.model_selection import KFold, cross_val_predict

    from hpo_envs.tables.fitting.out_of_fold import error, residual_correlation

    x, rng, n = table.features, np.random.default_rng(0), len(table)
    loss, size = table.final("test_loss"), table.final("parameters")
    known, folds = ~np.isnan(loss), KFold(5, shuffle=True, random_state=0)
    root = np.linalg.cholesky(residual_correlation(x) + 1e-9 * np.eye(x.shape[1]))
    levels = ndtr(rng.standard_normal(x.shape) @ root.T)
    drawn = np.column_stack([np.quantile(x[:, j], levels[:, j]) for j in range(x.shape[1])])
    drawn = np.round(drawn * BINS) / BINS
    report, predicted = {}, {}
    targets = {"test_loss": (np.log(loss[known] - FLOORS[1]), x[known]), "parameters": (np.log(size), x)}
    for name, (y, inputs) in targets.items():
        held_out = cross_val_predict(GradientBoostingRegressor(random_state=0, **TREES), inputs, y, cv=folds)
        noise = rng.permutation(np.resize(y - held_out, n))
        predicted[name] = GradientBoostingRegressor(random_state=0, **TREES).fit(inputs, y).predict(drawn) + noise
        back = (lambda v: np.exp(v) + FLOORS[1]) if name == "test_loss" else np.exp
        e = error(back(y), back(held_out))
        report[name] = {"r2": round(e.r2, 3), "tau": round(e.tau, 3)}
    chance = cross_val_predict(
        GradientBoostingClassifier(random_state=0, **TREES), x, ~known, cv=folds, method="predict_proba"
    )
    report["diverged"] = {"auc": round(float(roc_auc_score(~known, chance[:, 1])), 3)}
    fitted = GradientBoostingClassifier(random_state=0, **TREES).fit(x, ~known).predict_proba(drawn)[:, 1]
    diverged = rng.random(n) < fitted
    counts = (~np.isnan(table.cost[:, :, 0])).sum(axis=1)
    spread = _seed_spread(table)
    losses = np.exp(predicted["test_loss"])[:, None] + FLOORS[1] + spread * rng.standard_normal((n, 3))
    losses[diverged] = np.nan
    report["seed_standard_deviation"] = {"test_loss": round(spread, 4)}
    return {
        "features": np.round(drawn * BINS).astype(np.uint8),
        "losses": np.round(losses, 4).astype(np.float32),
        "parameters": np.round(np.exp(predicted["parameters"]), -2).astype(np.int32),
        "repeats": rng.permutation(counts).astype(np.uint8),
    }, report


def _seed_spread(table: Table) -> float:
    """Median standard deviation between the seeds of an architecture."""
    values = table.values[:, :, 0, 0]
    complete = ~np.isnan(values).any(axis=1)
    return float(np.median(values[complete].std(axis=1, ddof=1)))


def fit_curves(final: Table) -> tuple[dict[str, npt.NDArray[Any]], dict[str, Any]]:
    """Simulates `ROWS` generated cells on WikiText-2 and moves the results to PTB."""
    from tqdm.auto import tqdm

    cells = fit.distinct(PTB_ROWS, 5)
    targets, risk = [], []
    for cell in tqdm(cells, desc="cells", unit="cell"):
        targets.append(model.predict(cell) + model.noise(key(cell)))
        risk.append(model.divergence_inputs(cell))
    move, report = fit_move(final)
    share = float(np.isnan(final.final("test_loss")).mean())
    probability = _calibrated(np.stack(risk) @ model._parameters()["divergence"][1:], share)
    rng = np.random.default_rng(6)
    diverged = rng.random(len(cells)) < probability
    ends = np.where(rng.random(len(cells)) < 0.5, 1, rng.integers(2, EPOCHS, len(cells)))
    report |= {"diverged_share": round(float(diverged.mean()), 3), "measured_diverged_share": round(share, 3)}
    return pack_curves(np.stack(targets), features.embed(cells), cells, move, np.where(diverged, ends, 50)), report


def pack_curves(
    targets: Floats, embedded: Floats, cells: list[Any], move: Floats, ends: npt.NDArray[np.integer]
) -> dict[str, npt.NDArray[Any]]:
    """Quantises what `build_ptb.embedded` reads."""
    rows = PTB_MULTI_ROWS
    moved = targets.copy()
    moved[:, -1] += np.log(TOKENS)
    low, high = moved.min(axis=0), moved.max(axis=0)
    step = (high - low) / 60_000
    noise = np.random.default_rng(7).standard_normal((rows, PTB_REPEATS, targets.shape[1]))
    noise *= model._parameters()["repeat"]
    noise_step = np.abs(noise).max(axis=(0, 1)) / 127
    return {
        "targets": (np.round((moved - low) / step) - 30_000).astype(np.int16),
        "step": step.astype(np.float32),
        "offset": (low + 30_000 * step).astype(np.float32),
        "noise": np.round(noise / noise_step).astype(np.int8),
        "noise_step": noise_step.astype(np.float32),
        "move": move,
        "floors": np.array(FLOORS),
        "parameters": np.array([parameters(c, VOCABULARY["ptb"]) for c in cells], dtype=np.int32),
        "ends": ends.astype(np.uint8),
        "features": np.round(embedded * BINS).astype(np.uint8),
    }


def fit_move(final: Table) -> tuple[Floats, dict[str, Any]]:
    """Intercept and slope of log(PTB loss - floor) on log(WikiText-2 loss - floor), over architectures in both."""
    x, y = paired_losses(store.load(WIKITEXT2), final)
    u, v = np.log(x - model.FLOORS[1]), np.log(y - FLOORS[1])
    slope, intercept = np.polyfit(u, v, 1)
    back = np.exp(intercept + slope * u) + FLOORS[1]
    r2 = 1.0 - ((y - back) ** 2).sum() / ((y - y.mean()) ** 2).sum()
    report = {
        "move_architectures": len(x),
        "move_r2": round(float(r2), 3),
        "move_r": round(float(np.corrcoef(x, y)[0, 1]), 3),
    }
    return np.round([intercept, slope], 6), report


def _calibrated(z: Floats, share: float) -> Floats:
    """Probabilities with the given mean, by moving the intercept of a logistic regression."""
    low, high = -50.0, 50.0
    for _ in range(100):
        middle = (low + high) / 2
        if (1.0 / (1.0 + np.exp(-(z + middle)))).mean() < share:
            low = middle
        else:
            high = middle
    return np.asarray(1.0 / (1.0 + np.exp(-(z + low))))


if __name__ == "__main__":
    main()

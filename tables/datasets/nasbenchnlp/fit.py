"""Fits what the package ships of NAS-Bench-NLP: the feature basis, the surrogate of a cell.

    python -m hpo_envs.tables.datasets.nasbenchnlp.fit

reads the installed upstream files and writes `data/cells_*.npz`, in about a minute. `data/cells_report.json` has the
held-out errors, which the fit of commit a34b9ede computed.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from hpo_envs.tables import store
from hpo_envs.tables.cells import features
from hpo_envs.tables.cells.canonical import key
from hpo_envs.tables.cells.generate import generate
from hpo_envs.tables.cells.recipe import Cell
from hpo_envs.tables.datasets.nasbenchnlp import EPOCHS, LOGS, RELEASED_FEATURES, model
from hpo_envs.tables.datasets.nasbenchnlp.features import group, read_released
from hpo_envs.tables.datasets.nasbenchnlp.logs import Log, read_archive
from hpo_envs.tables.table import Floats

DATA = Path(__file__).parent / "data"

TREES: dict[str, Any] = {
    "n_estimators": 120,
    "learning_rate": 0.06,
    "max_depth": model.DEPTH,
    "subsample": 0.6,
    "max_features": 0.3,
}
"""Gradient boosting (Friedman 2002) behind the surrogate."""

BASIS_CELLS = 3000
"""Generated cells that the feature basis is fitted to."""


def distinct(count: int, seed: int) -> list[Cell]:
    """`count` cells with different keys, drawn by the generator."""
    rng = np.random.default_rng(seed)
    found: dict[str, Cell] = {}
    while len(found) < count:
        cell = generate(rng)
        found.setdefault(key(cell), cell)
    return list(found.values())


def main() -> None:
    """Fit everything and write the files."""
    DATA.mkdir(exist_ok=True)
    _write(features.BASIS, features.fit_basis(distinct(BASIS_CELLS, 0)))
    logs = read_archive(store.read(LOGS), LOGS)
    _write("cells_model.npz", fit_model(logs))
    features._basis.cache_clear()
    _write("cells_released.npz", {"weights": fit_released(logs)})


def _write(name: str | Path, arrays: Mapping[str, Any]) -> None:
    np.savez_compressed(DATA / name, **arrays)


def fit_model(logs: list[Log]) -> dict[str, npt.NDArray[Any]]:
    """The parameters of the surrogate."""
    complete = [log for log in logs if not log.diverged and len(log.seconds) == EPOCHS]
    names = [key(log.cell) for log in complete]
    curves = model.log_curves(np.stack([log.losses for log in complete]))
    mean = curves.mean(axis=0)
    components = np.linalg.svd(curves - mean, full_matrices=False)[2][: model.COMPONENTS]
    runs = np.column_stack([(curves - mean) @ components.T, [np.log(log.seconds).mean() for log in complete]])
    groups = sorted(set(names))
    cells = [Cell.from_text(name) for name in groups]
    index = np.array([groups.index(name) for name in names])
    targets = np.stack([runs[index == g].mean(axis=0) for g in range(len(groups))])
    x = np.stack([model.inputs(cell) for cell in cells])
    folds = np.array([model.fold(name) for name in groups])
    trees, predicted = _fit_folds(x, targets, folds)
    residuals = targets - predicted
    repeats = [runs[index == g] - targets[g] for g in range(len(groups)) if (index == g).sum() > 1]
    freedom = sum(len(r) - 1 for r in repeats)
    # Median-based, because a few pairs of repeats that differ by a lot would set a root mean square.
    spread = np.median(np.abs(np.concatenate(repeats)), axis=0) / 0.6745 * np.sqrt(sum(map(len, repeats)) / freedom)
    return {
        **trees,
        "mean": mean.astype(np.float32),
        "components": components.astype(np.float32),
        "quantiles": np.quantile(residuals, np.linspace(0, 1, 41), axis=0).T.astype(np.float32),
        "root": _root(residuals).astype(np.float32),
        "repeat": spread.astype(np.float32),
        "divergence": _fit_divergence(logs).astype(np.float32),
    }


def fit_released(logs: list[Log]) -> npt.NDArray[np.float32]:
    """Weights (1 + SIZE, RELEASED) that predict the released features from our own; held-out R2 in the report."""
    from sklearn.linear_model import RidgeCV

    released = read_released(store.read(RELEASED_FEATURES), RELEASED_FEATURES)
    cells = {g: log.cell for log in logs if (g := group(log.architecture)) in released}
    x, y = features.embed(list(cells.values())), np.stack([released[g] for g in cells])
    ridge = RidgeCV(np.logspace(-3, 3, 13)).fit(x, y)
    return np.vstack([ridge.intercept_, ridge.coef_.T]).astype(np.float32)


def _fit_folds(x: Floats, targets: Floats, folds: npt.NDArray[np.intp]) -> tuple[dict[str, Any], Floats]:
    from sklearn.ensemble import GradientBoostingRegressor

    inner, leaves = 2**model.DEPTH - 1, 2**model.DEPTH
    shape = (model.FOLDS, targets.shape[1], TREES["n_estimators"])
    trees: dict[str, Any] = {
        "features": np.zeros((*shape, inner), np.uint8),
        "thresholds": np.zeros((*shape, inner), np.float32),
        "leaves": np.zeros((*shape, leaves), np.float32),
        "start": np.zeros(shape[:2], np.float32),
    }
    predicted = np.zeros_like(targets)
    for f in range(model.FOLDS):
        for t in range(targets.shape[1]):
            fitted = GradientBoostingRegressor(random_state=0, **TREES).fit(x[folds != f], targets[folds != f, t])
            trees["start"][f, t] = fitted.init_.constant_.ravel()[0]
            for i, stage in enumerate(fitted.estimators_[:, 0]):
                _complete(stage.tree_, fitted.learning_rate, trees, (f, t, i))
        for row in np.flatnonzero(folds == f):
            args = (trees["features"][f].astype(np.intp), trees["thresholds"][f].astype(float), trees["leaves"][f])
            predicted[row] = trees["start"][f] + model.evaluate_trees(x[row], *args)
    return trees, predicted


def _complete(tree: Any, rate: float, out: dict[str, Any], where: tuple[int, int, int]) -> None:
    """Write a scikit-learn tree as a complete binary tree; early leaves are repeated below."""

    def walk(node: int, place: int) -> None:
        if place >= 2**model.DEPTH - 1:
            out["leaves"][(*where, place - 2**model.DEPTH + 1)] = round(rate * float(tree.value[node].ravel()[0]), 5)
            return
        leaf = tree.children_left[node] < 0
        out["features"][(*where, place)] = 0 if leaf else tree.feature[node]
        out["thresholds"][(*where, place)] = 0.0 if leaf else tree.threshold[node]
        walk(node if leaf else tree.children_left[node], 2 * place + 1)
        walk(node if leaf else tree.children_right[node], 2 * place + 2)

    walk(0, 0)


def _root(residuals: Floats) -> Floats:
    """Cholesky factor of the correlation of the residuals' normal scores.

    Normal scores (ranks mapped to normal quantiles) keep one diverged run from deciding the correlation.
    """
    from scipy.special import ndtri
    from scipy.stats import rankdata

    scores = ndtri((rankdata(residuals, axis=0) - 0.5) / len(residuals))
    return np.asarray(np.linalg.cholesky(np.corrcoef(scores, rowvar=False) + 1e-9 * np.eye(residuals.shape[1])))


def _fit_divergence(logs: list[Log]) -> Floats:
    from sklearn.linear_model import LogisticRegression

    x = np.stack([model.divergence_inputs(log.cell) for log in logs])
    fitted = LogisticRegression(C=0.3).fit(x, [log.diverged for log in logs])
    return np.concatenate([fitted.intercept_, fitted.coef_[0]])


if __name__ == "__main__":
    main()

"""Fits the surrogate of the character transduction sweeps: `python -m hpo_envs.tables.datasets.charhpo.fit`.

Writes `charhpo.npz` (parameters, see `model`) and `charhpo_fit.csv`
(held-out error of each task, before and after noise). Takes two minutes on one core.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from hpo_envs.tables import store
from hpo_envs.tables.datasets.charhpo import build, model
from hpo_envs.tables.datasets.charhpo.forests import DEPTH
from hpo_envs.tables.datasets.charhpo.model import DATA, LEAF, SCORES, SIZES, UNIT, Surrogate
from hpo_envs.tables.files import atomic
from hpo_envs.tables.row_order import natural
from hpo_envs.tables.table import Floats

Ints = npt.NDArray[np.int64]

FITTED_WITH = "1.9.1"
"""Version of scikit-learn that fitted the shipped parameters."""

FOLDS = 5
TREES = {0: 200, 1: 200}
"""Trees of accuracy and runtime; 300 gain less than 0.01 of held-out R2."""

TRAINING: dict[str, Any] = {
    "max_depth": DEPTH,
    "learning_rate": 0.07,
    "subsample": 0.5,
    "max_features": 0.3,
    "min_samples_leaf": 5,
    "random_state": 0,
}
"""Of scikit-learn's GradientBoostingRegressor."""

NOISE_AT = np.array([-2.0, -1.2, -0.6, 0.0, 0.6, 1.2, 2.0])
QUANTILE_AT = np.array([-3.0, -2.2, -1.8, -1.6, -1.45, -1.3, -1.15, -1.0, -0.85, -0.7, -0.5, -0.25, 0.0, 0.25, 0.5,
                        0.8, 1.1, 1.5, 1.9, 2.3, 3.0])  # fmt: skip
"""Knots of the quantile functions: close where sweeps fall from failed to fair runs."""


def sweeps(arch: int) -> tuple[Ints, Ints, Floats, Floats, Floats]:
    """Tasks, inputs, normal scores, log runtimes and accuracies of the 2,400 runs of an architecture."""
    tasks = np.repeat(np.arange(arch, 24, 2), build.RUNS)
    tables = [natural(store.load(build.NAMES[t], "measured")) for t in range(arch, 24, 2)]
    x = model.inputs(arch, tasks, np.concatenate([t.configs for t in tables]))
    accuracy = [t.final("accuracy") for t in tables]
    score = np.concatenate([normal_scores(a) for a in accuracy])
    return tasks, x, score, np.log(np.concatenate([t.final("runtime") for t in tables])), np.concatenate(accuracy)


def normal_scores(values: Floats) -> Floats:
    """(n,) normal quantiles of the ranks, ties averaged."""
    from scipy.special import ndtri
    from scipy.stats import rankdata

    return np.asarray(ndtri((rankdata(values) - 0.5) / len(values)))


def train(metric: int, x: Ints, y: Floats) -> tuple[Any, Any, Any, float]:
    """Trains a forest; returns its features, thresholds and leaves as `Surrogate` has them, and its base."""
    from sklearn.ensemble import GradientBoostingRegressor

    forest = GradientBoostingRegressor(n_estimators=TREES[metric], **TRAINING).fit(expand(x), y)
    splits = 2**DEPTH - 1
    features = np.zeros((TREES[metric], splits), np.uint8)
    thresholds = np.full((TREES[metric], splits), UNIT, np.uint16)
    leaves = np.zeros((TREES[metric], splits + 1), np.int16)
    for k, (regressor,) in enumerate(forest.estimators_):
        _export(regressor.tree_, features[k], thresholds[k], leaves[k])
    return features, thresholds, leaves, float(y.mean())


def expand(x: Ints) -> Ints:
    """(n, 30 or 31) features: the numbers, 0/1 columns for the choices, the score if there."""
    columns = zip(x.T[:, :, None], (*SIZES, 1), strict=False)
    return np.hstack([column if k == 1 else (column == np.arange(k)).astype(np.int64) for column, k in columns])


def _export(tree: Any, features: Any, thresholds: Any, leaves: Any) -> None:
    """Writes one of scikit-learn's trees in heap order; a leaf above the last level fills all below it."""
    rate, splits = TRAINING["learning_rate"], len(features)
    stack = [(0, 0)]
    while stack:
        node, place = stack.pop()
        if tree.children_left[node] < 0:
            first, last = place, place
            while first < splits:
                first, last = 2 * first + 1, 2 * last + 2
            leaves[first - splits : last - splits + 1] = round(float(tree.value[node].item()) * rate / LEAF)
            continue
        features[place], thresholds[place] = tree.feature[node], int(tree.threshold[node])
        stack += [(tree.children_left[node], 2 * place + 1), (tree.children_right[node], 2 * place + 2)]


def assemble(forests: list[list[Any]], **rest: Any) -> Surrogate:
    """A surrogate from forests[arch][metric]."""
    parts = [np.array([[forests[a][m][i] for m in range(2)] for a in range(2)]) for i in range(4)]
    return Surrogate(*parts, **rest)


def held_out(arch: int) -> tuple[Floats, Floats]:
    """(2400,) out-of-fold scores, and log runtimes given the true score; rows of a sweep are random draws."""
    tasks, x, score, log_runtime, _ = sweeps(arch)
    fold = np.arange(len(tasks)) % FOLDS
    out = np.empty((2, len(tasks)))
    blank = {"slope": np.ones(2), "noise_at": NOISE_AT, "noise": 0, "runtime_noise": 0, "quantile_at": 0}
    for f in range(FOLDS):
        rest = fold != f
        pair = [train(0, x[rest], score[rest]), train(1, model.with_score(x, score)[rest], log_runtime[rest])]
        trial = assemble([pair, pair], quantiles=0, **blank)
        out[0, ~rest] = trial.forest(0, 0, x[~rest])
        out[1, ~rest] = trial.forest(0, 1, model.with_score(x, score)[~rest])
    return out[0], out[1]


def calibrate(arch: int, predicted: Floats, log_predicted: Floats) -> tuple[float, Floats, Floats]:
    """Slope, noise of the score at `NOISE_AT` and noise of each task's log runtime, from held-out predictions."""
    _, _, score, log_runtime, _ = sweeps(arch)
    slope = float(predicted @ score / (predicted @ predicted))
    stretched = slope * predicted
    noise = []
    for knot in NOISE_AT:
        near = np.argsort(np.abs(stretched - knot), kind="stable")[:300]
        noise.append(float(np.sqrt(np.mean((score - stretched)[near] ** 2))))
    spread = (log_runtime - log_predicted).reshape(12, -1).std(axis=1)
    return slope, np.round(noise, 3), np.round(spread, 3)


def quantiles(arch: int) -> Floats:
    """(12, knots) accuracy at `QUANTILE_AT`: averages over neighbouring runs, so that no knot is a measurement."""
    _, _, _, _, accuracy = sweeps(arch)
    rows = []
    for a in np.sort(accuracy.reshape(12, -1), axis=1):
        scores = normal_scores(np.arange(len(a), dtype=np.float64))
        smooth = np.convolve(np.pad(a, 2, mode="edge"), np.ones(5) / 5, mode="valid")
        rows.append(np.interp(QUANTILE_AT, scores, smooth))
    return np.round(np.array(rows), 2)


def fit() -> tuple[Surrogate, list[dict[str, Any]]]:
    """Fits everything; returns the surrogate and one record of errors a task."""
    forests, slopes, noise, spread, levels, out = [], [], [], np.empty(24), np.empty((24, len(QUANTILE_AT))), []
    for arch in range(2):
        _, x, score, log_runtime, _ = sweeps(arch)
        forests.append([train(0, x, score), train(1, model.with_score(x, score), log_runtime)])
        out.append(held_out(arch))
        slope, sd, spread[arch::2] = calibrate(arch, *out[-1])
        levels[arch::2] = quantiles(arch)
        slopes.append(round(slope, 3))
        noise.append(sd)
    surrogate = assemble(
        forests, slope=np.array(slopes), noise_at=NOISE_AT, noise=np.array(noise), runtime_noise=spread,
        quantile_at=QUANTILE_AT, quantiles=levels,
    )  # fmt: skip
    return surrogate, [record for arch in range(2) for record in errors(surrogate, arch, *out[arch])]


def errors(s: Surrogate, arch: int, predicted: Floats, log_predicted: Floats) -> list[dict[str, Any]]:
    """Held-out errors of each task of an architecture, before and after noise."""
    from scipy.stats import spearmanr

    tasks, x, _, log_runtime, accuracy = sweeps(arch)
    plain = np.clip(s.slope[arch] * predicted, *SCORES)
    noisy = np.clip(plain + model.normals(tasks, x)[0] * np.interp(plain, s.noise_at, s.noise[arch]), *SCORES)
    records = []
    for t in range(arch, 24, 2):
        here = tasks == t
        record: dict[str, Any] = {"task": build.NAMES[t].partition("/")[2]}
        for label, score in (("", plain), ("_noisy", noisy)):
            value = np.interp(score[here], s.quantile_at, s.quantiles[t])
            record[f"accuracy_r2{label}"] = 1 - np.mean((value - accuracy[here]) ** 2) / accuracy[here].var()
            record[f"accuracy_mae{label}"] = np.abs(value - accuracy[here]).mean()
            record[f"accuracy_rho{label}"] = spearmanr(value, accuracy[here])[0]
        loss = log_predicted[here] - log_runtime[here]
        record["log_runtime_r2"] = 1 - np.mean(loss**2) / log_runtime[here].var()
        record["runtime_factor"] = np.exp(np.abs(loss).mean())
        records.append({k: v if isinstance(v, str) else round(float(v), 3) for k, v in record.items()})
    return records


def main() -> None:
    """Fits and writes both files."""
    surrogate, records = fit()
    np.savez_compressed(DATA, **vars(surrogate))
    atomic.write_csv(DATA.with_name("charhpo_fit.csv"), records)


if __name__ == "__main__":
    main()

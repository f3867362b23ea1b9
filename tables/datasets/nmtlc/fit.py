"""Fits the embedded NMTLC tables: `python -m hpo_envs.tables.datasets.nmtlc.fit`.

Each run of the measured table is described by the parameters of `curve_model`; every parameter is predicted from the
hyperparameters by extremely randomised trees that saw no run of the same configuration (10-fold), and residual noise
is added. Writes `tables/datasets/nmtlc/nmtlc.npz` and the held-out errors, `tables/datasets/nmtlc/nmtlc_errors.csv`.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np

from hpo_envs.tables import store
from hpo_envs.tables.datasets.nmtlc import build, model
from hpo_envs.tables.files import atomic
from hpo_envs.tables.fitting import out_of_fold, regression
from hpo_envs.tables.row_order import natural
from hpo_envs.tables.table import Floats, Table

FOLDS = 10
TREES = 200
DATA = Path(__file__).parent


def fit(name: str) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Fits one table; returns the arrays of the embedded one by name, and the rows of the error report."""
    table = natural(store.load(name, "measured"))
    curves = measured_curves(table)
    target = np.array([model.describe(c) for c in curves])
    groups = [key.partition("#")[0] for key in table.keys]
    fold = out_of_fold.folds(groups, FOLDS)
    x = table.features
    predicted = np.column_stack(
        [out_of_fold.out_of_fold(lambda a, b: regression.extra_trees(a, b, TREES), x, y, fold)[0] for y in target.T]
    )
    residuals = target - predicted
    # A parameter without residuals (every fr-en run stops after the same patience) needs no noise.
    noisy = np.flatnonzero(np.nanstd(residuals, axis=0) > 0)
    noise = np.zeros_like(predicted)
    keys = [list(table.keys)] * len(noisy)
    noise[:, noisy] = out_of_fold.residual_noise(predicted[:, noisy], residuals[:, noisy], keys, groups, name)
    parameters = np.round(predicted + noise, 3).astype(np.float32)
    rough = np.round(model.roughness(curves), 3)
    corpus, levels = name.partition("/")[2], np.array(len(table.levels))
    fitted = {"configs": table.configs, "parameters": parameters, "levels": levels, "roughness": rough}
    arrays = {f"{corpus}_{key}": array for key, array in fitted.items()}
    patience = build.PATIENCE[build.CORPORA[corpus][0]]
    report = []
    for kind, p, r in (("prediction", predicted, 0 * rough), ("shipped", parameters.astype(np.float64), rough)):
        drawn = model.expand(p, r, len(table.levels), patience, name)[0]
        report += errors(corpus, kind, curves, drawn)
    return arrays, report


def measured_curves(table: Table) -> list[Floats]:
    """For each row (checkpoints, metrics): the log perplexity, and BLEU where there is one."""
    columns = [0] if len(table.metrics) == 2 else [0, 2]
    values = table.values[:, 0][:, :, columns]
    return [v[~np.isnan(v[:, 0])] for v in values]


def errors(corpus: str, kind: str, measured: list[Floats], drawn: list[Floats]) -> list[dict[str, Any]]:
    """Held-out error of the quantities that matter: the best loss, the length, the curve at common checkpoints."""
    pairs = list(zip(measured, drawn, strict=True))
    quantities = {
        "best log perplexity": [(a[:, 0].min(), b[:, 0].min()) for a, b in pairs],
        "log checkpoints": [(np.log(len(a)), np.log(len(b))) for a, b in pairs],
    }
    for share in (0.1, 0.3):
        at = [(a, b, int(share * len(a))) for a, b in pairs]
        label = f"log perplexity after {share:.0%} of the run"
        quantities[label] = [(a[i, 0], b[min(i, len(b) - 1), 0]) for a, b, i in at]
    if measured[0].shape[1] > 1:
        quantities["best BLEU"] = [(a[:, 1].max(), b[:, 2].max()) for a, b in pairs]
    rows = []
    for name, values in quantities.items():
        e = out_of_fold.error(*np.array(values).T)
        row = {"table": corpus, "quantity": name, "values": kind, "rows": len(values)}
        rows.append(row | {"r2": f"{e.r2:.3f}", "tau": f"{e.tau:.3f}", "rmse": f"{e.rmse:.4g}"})
    return rows


def main(argv: list[str] | None = None) -> int:
    """Fits all tables and writes the two files."""
    parser = argparse.ArgumentParser(prog="python -m hpo_envs.tables.datasets.nmtlc.fit", description=__doc__)
    parser.add_argument("--out", type=Path, default=DATA, help="folder to write to (default: the package's data)")
    args = parser.parse_args(argv)
    arrays: dict[str, Any] = {}
    report: list[dict[str, Any]] = []
    for name in build.NAMES:
        found, rows = fit(name)
        arrays |= found
        report += rows
        print("\n".join(" ".join(map(str, row.values())) for row in rows), flush=True)
    args.out.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(args.out / "nmtlc.npz", **arrays)
    atomic.write_csv(args.out / "nmtlc_errors.csv", report)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

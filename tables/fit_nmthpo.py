"""Fits the embedded tables of nmthpo to the measured ones: `python -m hpo_envs.tables.fit_nmthpo`.

Writes `tables/data/nmthpo.npz` (per pair: every grid cell x 6 metrics, and which cells upstream measured) and
`tables/data/nmthpo_fit.csv` (error of the shipped values, before and after noise).
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from hpo_envs.tables import store
from hpo_envs.tables import surrogate as sur
from hpo_envs.tables.builders import nmthpo
from hpo_envs.tables.surrogate import Floats

FOLDS = 10
NEIGHBOURS = 40
DATA = Path(__file__).parent / "data"

SCALES = (sur.LINEAR, sur.LOG, sur.LOG, sur.LOG, sur.LINEAR, sur.LINEAR)
"""Of each metric, in the order of `nmthpo.METRICS`. BLEU on a log-odds scale predicts worse on every pair."""

STEPS = (0.01, 0.1, 0.01, 2000.0, 1.0, 1.0)
"""What shipped values are multiples of. Upstream reports BLEU to 0.01 and validates every 2,000 updates; perplexity
and seconds are rounded more coarsely than upstream's digits, to what refitting on another machine reproduces."""

BOUNDS = ((0.0, 100.0), (0.1, 1e5), (1.0, 1e6), (2000.0, 1e8), (1.0, 1e6), (1.0, 1e11))
"""Physical range of each metric: what a prediction plus noise is kept in."""

SMOOTH = sur.stacked(sur.gaussian_process, sur.extra_trees)
FITS = (SMOOTH, SMOOTH, SMOOTH, SMOOTH, sur.extra_trees, sur.least_squares)
"""GPU memory is all but independent of the configuration, which trees notice fastest; the number of parameters is
arithmetic (`size_terms`), for which a linear regression is exact."""

SHARED = (0, 2, 3)
"""Metrics that zh-en rows which differ in BPE alone share: BLEU, perplexity, updates."""

NOISY = (0, 2, 3, 1, 4)
"""Metrics that get noise, those that cells of one zh-en group share first; the number of parameters is exact."""


def size_terms(pair: str, configs: Floats) -> Floats:
    """(n, terms) terms of which the number of parameters of a transformer is a linear combination.

    Attention has layers x embed^2 weights, feed-forward blocks layers x embed x hidden, biases and normalisation
    layers x embed and layers x hidden, embeddings and the output layer vocabulary x embed; the vocabulary's size
    depends on the number of BPE symbols, except on zh-en.
    """
    layers, embed, hidden = configs[:, 1], configs[:, 2], configs[:, 3]
    bpe = configs[:, :1] == np.array([nmthpo.space(pair)[0].values])
    vocabulary = np.ones((len(configs), 1)) if pair == "zhen" else bpe.astype(np.float64)
    inner = (layers * embed**2, layers * embed * hidden, layers * embed, layers * hidden)
    return np.column_stack([*inner, vocabulary * embed[:, None], vocabulary])


def inputs(pair: str, metric: int, configs: Floats) -> Floats:
    """(n, d) what a metric is predicted from.

    On zh-en the number of BPE symbols does not matter (rows that differ in it alone share BLEU and perplexity), and
    is left out except for the decoding time and the memory, which were measured for each row.
    """
    if metric == 5:
        return size_terms(pair, configs)
    features = np.column_stack([h.scale(configs[:, j]) for j, h in enumerate(nmthpo.space(pair))])
    return features[:, 1:] if pair == "zhen" and metric in SHARED else features


def groups(pair: str, configs: Floats) -> list[str]:
    """Group of each cell: itself; on zh-en all cells that differ in BPE alone, which repeat a measurement."""
    first = 1 if pair == "zhen" else 0
    return ["-".join(f"{v:g}" for v in config[first:]) for config in configs]


def fit(pair: str) -> tuple[Floats, np.ndarray, Floats, Floats]:
    """Fits one pair.

    Returns:
        (cells, 6) shipped values of the whole grid; (cells,) bool, which cells upstream measured; (rows, 6) measured
        values, NaN = not recorded; (rows, 6) out-of-fold predictions before noise, rounded.
    """
    table = store.load(f"nmthpo/{pair}", "measured")
    cells = nmthpo.grid(pair)
    rows = {config: i for i, config in enumerate(map(tuple, table.configs.tolist()))}
    measured = np.array([tuple(cell) in rows for cell in cells.tolist()])
    y = table.values[:, 0, 0, :].copy()
    y[y[:, 4] == 0, 4] = np.nan  # a memory of 0 means "not recorded"
    group = groups(pair, table.configs)
    fold = sur.folds(group, FOLDS, f"nmthpo {pair}")
    grid = np.empty((len(cells), len(SCALES)))
    predicted, target = np.empty(y.shape), np.empty(y.shape)
    for j, scale in enumerate(SCALES):
        target[:, j] = scale.to(y[:, j])
        x, new = inputs(pair, j, table.configs), inputs(pair, j, cells[~measured])
        predicted[:, j], unmeasured = sur.out_of_fold(FITS[j], x, target[:, j], fold, new)
        grid[~measured, j] = scale.back(unmeasured)
    noisy = list(NOISY)
    keys = [group if j in SHARED else list(table.keys) for j in noisy]
    noise = np.zeros(y.shape)
    noise[:, noisy] = sur.residual_noise(
        predicted[:, noisy], (target - predicted)[:, noisy], keys, group, f"nmthpo {pair}", NEIGHBOURS
    )
    plain = np.column_stack([s.back(predicted[:, j]) for j, s in enumerate(SCALES)])
    grid[measured] = np.column_stack([s.back(predicted[:, j] + noise[:, j]) for j, s in enumerate(SCALES)])
    return tidy(grid), measured, y, tidy(plain)


def tidy(values: Floats) -> Floats:
    """Keeps values within physical bounds and rounds them to `STEPS`."""
    out = np.empty_like(values)
    for j, (step, (low, high)) in enumerate(zip(STEPS, BOUNDS, strict=True)):
        # Dividing by the inverse keeps 13.4 from becoming 13.400000000000002.
        inverse = round(1.0 / step) if step < 1 else 1.0 / step
        out[:, j] = np.rint(np.clip(values[:, j], low, high) * inverse) / inverse
    return out


def report(pair: str, measured: Floats, plain: Floats, noisy: Floats) -> list[dict[str, str]]:
    """Rows of the error summary: one per metric, before and after noise."""
    rows = []
    for j, metric in enumerate(nmthpo.METRICS):
        before, after = sur.error(measured[:, j], plain[:, j]), sur.error(measured[:, j], noisy[:, j])
        rows.append(
            {
                "table": pair,
                "metric": metric.name,
                "rows": str(int((~np.isnan(measured[:, j])).sum())),
                "r2": f"{before.r2:.3f}",
                "tau": f"{before.tau:.3f}",
                "rmse": f"{before.rmse:.4g}",
                "r2_noise": f"{after.r2:.3f}",
                "tau_noise": f"{after.tau:.3f}",
                "rmse_noise": f"{after.rmse:.4g}",
            }
        )
    return rows


def main(arguments: Sequence[str] | None = None) -> None:
    """Command line."""
    parser = argparse.ArgumentParser(prog="python -m hpo_envs.tables.fit_nmthpo", description=__doc__)
    parser.add_argument("--out", type=Path, default=DATA, help="folder to write to (default: tables/data)")
    parser.add_argument("--pairs", default=",".join(nmthpo.PAIRS), help="comma-separated subset, for a trial run")
    args = parser.parse_args(arguments)
    arrays: dict[str, Any] = {}
    rows: list[dict[str, str]] = []
    for pair in args.pairs.split(","):
        values, measured, y, plain = fit(pair)
        arrays[f"{pair}_values"], arrays[f"{pair}_measured"] = values, measured
        rows += report(pair, y, plain, values[measured])
        for row in rows[-len(nmthpo.METRICS) :]:
            print("\t".join(row.values()), flush=True)
    args.out.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(args.out / "nmthpo.npz", **arrays)
    with open(args.out / "nmthpo_fit.csv", "w", newline="") as file:
        writer = csv.DictWriter(file, rows[0].keys(), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


if __name__ == "__main__":
    main()

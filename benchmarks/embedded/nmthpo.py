"""Compares the embedded landscapes of nmthpo with the measured: `python -m hpo_envs.benchmarks.embedded.nmthpo`.

Writes `benchmarks/embedded/nmthpo.csv`, one row per table and statistic. Needs the measured tables.
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from hpo_envs.benchmarks.importance import decompose
from hpo_envs.tables.builders import nmthpo
from hpo_envs.tables.store import load
from hpo_envs.tables.table import Table

OUT = Path(__file__).with_suffix(".csv")


def evaluations_to_reach(values: npt.ArrayLike, target: float) -> float:
    """Expected number of evaluations until random search without replacement finds a value of at least `target`.

    With k such values among n, the position of the first in a random order has mean (n + 1) / (k + 1).

    Args:
        values: (n,) higher is better.
        target: At most the best value.

    Raises:
        ValueError: No value reaches the target.
    """
    v = np.asarray(values, dtype=np.float64)
    k = int((v >= target).sum())
    if k == 0:
        raise ValueError(f"target must be at most the best value, {v.max()}, got {target}")
    return (len(v) + 1) / (k + 1)


def top_percent(values: npt.ArrayLike, percent: float = 1.0) -> float:
    """The value that the best `percent` of the rows, at least one row, reach."""
    v = np.sort(np.asarray(values, dtype=np.float64))[::-1]
    return float(v[max(int(np.ceil(len(v) * percent / 100.0)), 1) - 1])


def pareto_size(up: npt.ArrayLike, down: npt.ArrayLike) -> int:
    """Number of points that no other point dominates (first objective high, second low)."""
    points = np.column_stack([-np.asarray(up), np.asarray(down)])
    weak = (points[:, None] <= points[None]).all(axis=2)
    strict = (points[:, None] < points[None]).any(axis=2)
    return int((~(weak & strict).any(axis=0)).sum())


def landscape(table: Table) -> dict[str, float]:
    """Statistics of a table that decide how hard it is to search."""
    from scipy.stats import spearmanr

    bleu, seconds = table.final("bleu"), table.final("decoding_seconds")
    best = float(bleu.max())
    found = {"rows": float(len(bleu)), "best": best}
    found |= {f"quantile {q}": float(np.quantile(bleu, q)) for q in (0.99, 0.9, 0.5, 0.1)}
    found["below 5 BLEU, share"] = float((bleu < 5.0).mean())
    found["evaluations to top 1%"] = evaluations_to_reach(bleu, top_percent(bleu))
    found["evaluations to best - 0.5"] = evaluations_to_reach(bleu, best - 0.5)
    found["Pareto points (BLEU, seconds)"] = float(pareto_size(bleu, seconds))
    for other in ("decoding_seconds", "perplexity", "updates"):
        found[f"rank correlation BLEU, {other}"] = float(spearmanr(bleu, table.final(other))[0])
    return found


def importance_agreement(measured: Table, embedded: Table) -> dict[str, float]:
    """Rank correlation, over hyperparameters and over pairs of them, of their importance for BLEU."""
    from scipy.stats import spearmanr

    a, b = (decompose(t.configs, t.final("bleu")) for t in (measured, embedded))
    upper = np.triu_indices(len(a.main), 1)
    return {
        "importance, rank correlation": float(spearmanr(a.main, b.main)[0]),
        "importance, largest difference": float(np.abs(a.main - b.main).max()),
        "importance of pairs, rank correlation": float(spearmanr(a.pairs[upper], b.pairs[upper])[0]),
    }


def compare(pair: str) -> list[dict[str, str]]:
    """Rows of the summary of one language pair."""
    measured, embedded = load(f"nmthpo/{pair}", "measured"), load(f"nmthpo/{pair}", "surrogate")
    left, right = landscape(measured), landscape(embedded)
    rows = [
        {"table": pair, "statistic": name, "measured": f"{left[name]:.4g}", "embedded": f"{right[name]:.4g}"}
        for name in left
    ]
    agreement = importance_agreement(measured, embedded)
    return rows + [
        {"table": pair, "statistic": k, "measured": "", "embedded": f"{v:.3f}"} for k, v in agreement.items()
    ]


def main(arguments: Sequence[str] | None = None) -> None:
    """Command line."""
    parser = argparse.ArgumentParser(prog="python -m hpo_envs.benchmarks.embedded.nmthpo", description=__doc__)
    parser.add_argument("--out", type=Path, default=OUT, help="file to write (default: benchmarks/embedded/nmthpo.csv)")
    args = parser.parse_args(arguments)
    rows = [row for pair in nmthpo.PAIRS for row in compare(pair)]
    args.out.parent.mkdir(parents=True, exist_ok=True)
    with open(args.out, "w", newline="") as file:
        writer = csv.DictWriter(file, rows[0].keys(), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    for row in rows:
        print("\t".join(row.values()))


if __name__ == "__main__":
    main()

"""Compares the embedded landscapes of nmthpo with the measured.

`python -m hpo_envs.benchmarks.papers.nmthpo.landscape` writes `results/landscape.csv`, one row per table
and statistic. Needs the measured tables. `markdown` makes the tables of `docs/embedded-tables.md` from that file and
from the errors that the fit wrote.
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from hpo_envs.agents.models.pareto import pareto_front
from hpo_envs.benchmarks.analysis.importance import decompose
from hpo_envs.benchmarks.papers.nmthpo.settings import table_of
from hpo_envs.core import screen
from hpo_envs.tables.datasets.nmthpo import names as nmthpo
from hpo_envs.tables.files import atomic
from hpo_envs.tables.table import Table

OUT = Path(__file__).parent / "results" / "landscape.csv"


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
    return int(pareto_front(np.column_stack([np.asarray(up), -np.asarray(down)])).sum())


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


def agreement(measured: Table, embedded: Table) -> dict[str, float]:
    """How far the same rows and the same hyperparameters are good in both tables.

    The importance of hyperparameters, and of pairs of them, is that of `decompose` for BLEU.
    """
    from scipy.stats import spearmanr

    a, b = (decompose(t.configs, t.final("bleu")) for t in (measured, embedded))
    upper = np.triu_indices(len(a.main), 1)
    x, y = measured.final("bleu"), embedded.final("bleu")
    top = x >= top_percent(x, 10.0)
    return {
        "top 10% in common": float((y[top] >= top_percent(y, 10.0)).mean()),
        "measured BLEU of the embedded best": float(x[y.argmax()]),
        "importance, rank correlation": float(spearmanr(a.main, b.main)[0]),
        "importance, largest difference": float(np.abs(a.main - b.main).max()),
        "importance of pairs, rank correlation": float(spearmanr(a.pairs[upper], b.pairs[upper])[0]),
        "importance of pairs, largest difference": float(np.abs(a.pairs - b.pairs).max()),
    }


def compare(pair: str) -> list[dict[str, str]]:
    """Rows of the summary of one language pair."""
    measured, embedded = table_of(pair, "measured"), table_of(pair, "surrogate")
    left, right = landscape(measured), landscape(embedded)
    rows = [(name, f"{left[name]:.4g}", f"{right[name]:.4g}") for name in left]
    rows += [(name, "", f"{value:.4g}") for name, value in agreement(measured, embedded).items()]
    return [{"table": pair, "statistic": name, "measured": a, "embedded": b} for name, a, b in rows]


def markdown() -> str:
    """The two tables of `docs/embedded-tables.md`: errors, then landscapes."""
    lines = ["| table | metric | rows | R2 | tau | R2 with noise | tau with noise |", "|---|---|--:|--:|--:|--:|--:|"]
    with open(Path(nmthpo.__file__).with_name("nmthpo_fit.csv")) as file:
        for row in csv.DictReader(file):
            cells = [row[k] for k in ("table", "metric", "rows", "r2", "tau", "r2_noise", "tau_noise")]
            lines.append(f"| {' | '.join(cells)} |")
    with open(OUT) as file:
        found = {(row["table"], row["statistic"]): row for row in csv.DictReader(file)}
    lines += ["", f"| statistic | {' | '.join(nmthpo.PAIRS)} |", "|---|" + "--:|" * len(nmthpo.PAIRS)]
    for name in dict.fromkeys(statistic for _, statistic in found):
        rows = [found[pair, name] for pair in nmthpo.PAIRS]
        both = [f"{r['measured']} / {r['embedded']}" if r["measured"] else r["embedded"] for r in rows]
        lines.append(f"| {name} | {' | '.join(both)} |")
    return "\n".join(lines) + "\n"


@screen.on()
def main(arguments: Sequence[str] | None = None) -> None:
    """Command line."""
    parser = argparse.ArgumentParser(prog="python -m hpo_envs.benchmarks.papers.nmthpo.landscape", description=__doc__)
    parser.add_argument(
        "--out", type=Path, default=OUT, help="file to write (default: benchmarks/papers/nmthpo/results/landscape.csv)"
    )
    args = parser.parse_args(arguments)
    rows = [row for pair in nmthpo.PAIRS for row in compare(pair)]
    args.out.parent.mkdir(parents=True, exist_ok=True)
    atomic.write_csv(args.out, rows)
    for row in rows:
        print("\t".join(row.values()))


if __name__ == "__main__":
    main()

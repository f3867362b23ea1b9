"""From regrets to verdicts: per table against random search, and over all tables against every other method."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from hpo_envs.benchmarks.analysis import inference, statistics
from hpo_envs.benchmarks.learned import pairs
from hpo_envs.benchmarks.papers.common import Comparison

Floats = npt.NDArray[np.float64]

Regrets = Mapping[tuple[str, str], Floats]
"""(table, method) -> (seeds, budget) regrets, seeds paired between methods."""

ALPHA = 0.05


@dataclass(frozen=True)
class Row:
    """One method on one table.

    Attributes:
        table: Name.
        method: Name.
        half: Mean regret after half of the budget.
        mean: Mean final regret.
        std: Its standard deviation over seeds.
        p: Two-sided Wilcoxon signed-rank test against random search, Holm-corrected over the method's tables.
        verdict: `better`, `worse` or `tie` against random search at `ALPHA`.
        trials: Seeds.
    """

    table: str
    method: str
    half: float
    mean: float
    std: float
    p: float
    verdict: Comparison
    trials: int


def rows(regrets: Regrets, baseline: str = "random") -> list[Row]:
    """Every method on every table, with corrected tests against the baseline."""
    found = []
    for method in dict.fromkeys(m for _, m in regrets):
        names = [t for t, m in regrets if m == method]
        apart = [regrets[t, method][:, -1] - regrets[t, baseline][:, -1] for t in names]
        adjusted = inference.holm([statistics.wilcoxon(d) for d in apart])
        for t, d, p in zip(names, apart, adjusted.tolist(), strict=True):
            r = regrets[t, method]
            verdict: Comparison = "tie" if p >= ALPHA else ("better" if d.mean() < 0 else "worse")
            half = float(r[:, r.shape[1] // 2 - 1].mean())
            found.append(Row(t, method, half, float(r[:, -1].mean()), float(r[:, -1].std()), p, verdict, len(r)))
    return found


def overall(regrets: Regrets, scales: Mapping[str, float], method: str = "learned") -> list[dict[str, Any]]:
    """One record a method: mean final regret over tables, raw and in units of random search's, and `method` against it.

    Only methods that ran on every table are compared. The interval and the test are those of `pairs`, on
    normalised regrets.
    """
    every = list(dict.fromkeys(t for t, _ in regrets))
    methods = [m for m in dict.fromkeys(m for _, m in regrets) if all((t, m) in regrets for t in every)]
    final = {m: np.array([regrets[t, m][:, -1] / scales[t] for t in every]) for m in methods}
    against = pairs.against(final, method)
    records = []
    for m in methods:
        raw = float(np.mean([regrets[t, m][:, -1].mean() for t in every]))
        record: dict[str, Any] = {"method": m, "regret": f"{raw:.4f}", "normalised": f"{final[m].mean():.4f}"}
        if m in against:
            p = against[m]
            record |= {"difference": f"{p.mean:.4f}", "low": f"{p.low:.4f}", "high": f"{p.high:.4f}"}
            record |= {"p_holm": f"{p.p:.2g}", f"{method}_is": p.verdict}
        records.append(record)
    return records


def format_rows(found: list[Row], unit: str) -> str:
    """Rows as a matrix of mean final regrets; an asterisk marks better than random search, an x worse."""
    names = list(dict.fromkeys(r.table for r in found))
    methods = list(dict.fromkeys(r.method for r in found))
    by_name = {(r.table, r.method): r for r in found}
    mark = {"better": "*", "worse": "x", "tie": " "}
    lines = [f"{'final regret, ' + unit:34}" + "".join(f"{m:>19}" for m in methods)]
    for t in names:
        parts = []
        for m in methods:
            r = by_name.get((t, m))
            parts.append(f"{r.mean:17.3f} {mark[r.verdict]}" if r else " " * 19)
        lines.append(f"{t:34}" + "".join(parts))
    return "\n".join(lines)

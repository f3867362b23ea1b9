"""The paper's two claims, answered with its own metrics and with tests that it did not make.

1. Are transformers more sensitive to their hyperparameters than LSTMs (section 5.1, 5.2)?
2. Are they particularly sensitive to the batch size (section 5.3)?
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from hpo_envs.benchmarks.analysis.sensitivity import Variant
from hpo_envs.benchmarks.analysis.statistics import wilcoxon
from hpo_envs.benchmarks.papers.charhpo.analysis import SENSITIVE, of_sweep
from hpo_envs.benchmarks.papers.charhpo.settings import Sweep
from hpo_envs.benchmarks.papers.common import Claim

SIMILARITY = ("rho", "maxima", "change")


def direction(metric: str) -> int:
    """1 if more of a metric is more sensitive, -1 if less is."""
    return SENSITIVE[metric.removeprefix("bs_").partition("@")[0]]


def compare(ours: Sequence[float], theirs: Sequence[float], sign: int) -> dict[str, Any]:
    """How often the first of paired samples is more sensitive, with Wilcoxon's signed-rank test (two-sided)."""
    x, y = np.asarray(ours), np.asarray(theirs)
    excess = sign * (x - y)
    return {
        "first": round(float(x.mean()), 2),
        "second": round(float(y.mean()), 2),
        "more": int((excess > 0).sum()),
        "less": int((excess < 0).sum()),
        "p": round(wilcoxon(x - y), 4),
    }


def answer(sweeps: Sequence[Sweep], variant: Variant) -> dict[str, list[dict[str, Any]]]:
    """Comparisons that the claims need, over the twelve pairs of task and language.

    Returns:
        `architecture`: transformer against LSTM by every metric; `batch_size`: transformer against LSTM by batch
        size alone; `batch_size_or_all`: for each architecture, batch size alone against all hyperparameters; and
        `extra_sensitivity`: how much the transformer's excess over the LSTM grows from all hyperparameters to the
        batch size alone. rho, where several runs tie for the best, is the mean over the ties.
    """
    values = {(s.architecture, s.task, s.lang): of_sweep(s, variant) for s in sweeps}
    tasks = sorted({key[1:] for key in values})
    metrics = list(next(iter(values.values())))

    def column(architecture: str, metric: str) -> list[float]:
        return [float(np.mean(values[(architecture, *task)][metric])) for task in tasks]

    def row(label: str, metric: str, first: Sequence[float], second: Sequence[float]) -> dict[str, Any]:
        return {"comparison": label, "metric": metric, **compare(first, second, direction(metric))}

    out: dict[str, list[dict[str, Any]]] = {"architecture": [], "batch_size": [], "batch_size_or_all": []}
    for metric in metrics:
        where = "batch_size" if metric.startswith("bs_") else "architecture"
        out[where].append(row("transformer, lstm", metric, column("transformer", metric), column("lstm", metric)))
    for architecture in ("lstm", "transformer"):
        for m in SIMILARITY:
            both = column(architecture, "bs_" + m), column(architecture, m)
            out["batch_size_or_all"].append(row(f"{architecture}: batch size, all", m, *both))
    out["extra_sensitivity"] = []
    for m in SIMILARITY:
        excess = [np.subtract(column("transformer", p + m), column("lstm", p + m)) for p in ("bs_", "")]
        out["extra_sensitivity"].append(row("excess by batch size, by all", m, *map(list, excess)))
    return out


def verdicts(answers: Mapping[str, Sequence[Mapping[str, Any]]], alpha: float = 0.05) -> dict[str, str]:
    """The verdict on each claim: a majority of the metrics, and how many differences are significant."""

    def tally(rows: Sequence[Mapping[str, Any]]) -> tuple[int, int, int]:
        more = sum(r["more"] > r["less"] for r in rows)
        sure = sum(r["more"] > r["less"] and r["p"] < alpha for r in rows)
        return more, sure, len(rows)

    def sentence(rows: Sequence[Mapping[str, Any]]) -> str:
        more, sure, n = tally(rows)
        verdict: Claim = "holds" if 2 * more > n and sure else "fails"
        return f"{verdict}: more sensitive by {more} of {n} metrics, significantly (p < {alpha:g}) by {sure}"

    of_transformers = [r for r in answers["batch_size_or_all"] if r["comparison"].startswith("transformer")]
    return {
        "transformers are more sensitive than LSTMs": sentence(answers["architecture"]),
        "transformers are more sensitive to the batch size than LSTMs": sentence(answers["batch_size"]),
        "transformers are more sensitive to the batch size than to all together": sentence(of_transformers),
        "their excess over LSTMs is greater for the batch size": sentence(answers["extra_sensitivity"]),
    }

"""Beyond the paper: do embedded tables order methods as measured ones do, and does modelling beat random search?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from hpo_envs.benchmarks import runs
from hpo_envs.benchmarks.papers.common import Reproduction
from hpo_envs.benchmarks.papers.nmthpo import analysis, settings
from hpo_envs.tables.datasets.nmthpo.names import PAIRS

OWN = ("bo", "bo-spread")
"""Agents of ours that are tested against random search beside the paper's."""


def run(r: Reproduction, kind: str) -> None:
    """Runs Table 3's methods on both kinds of table; prints and writes orders and paired tests.

    Args:
        r: The reproduction; gets `embedded.csv` and `wilcoxon.csv`.
        kind: `measured` if measured tables are at hand; only embedded ones are run otherwise.
    """
    kinds = ["measured", "surrogate"] if kind == "measured" else ["surrogate"]
    values = {k: settings.scores(r, settings.tasks(3, k), f"table 3, {k}") for k in kinds}
    seeds = list(r.seeds(settings.TRIALS))
    tests = [row for k in kinds for row in _against_random(values[k], k)]
    tests += [row for k in kinds for row in _own_against_random(k, seeds)]
    r.write("wilcoxon", tests)
    print("\nBest within 20 evaluations against random search: paired over seeds, one-sided Wilcoxon, p < .05")
    for k in kinds:
        own = [t for t in tests if t["kind"] == k]
        lost = [f"{t['pair']} {t['method']} (p = {t['p']})" for t in own if float(t["p"]) >= 0.05]
        print(f"  {k}: {len(own) - len(lost)} of {len(own)} better; not: {', '.join(lost) or 'none'}")
    if len(kinds) == 2:
        orders = _orders(values["measured"], values["surrogate"])
        r.write("embedded", orders)
        print("\nOrder of the seven methods, embedded against measured (Kendall's tau-b of the mean scores)")
        for row in orders:
            print(f"  {row['pair']} {row['score']:3}  tau {row['tau']:>5}  measured: {row['measured']}")
            print(f"                      embedded: {row['embedded']}")
        print(f"  mean tau {np.mean([float(r['tau']) for r in orders]):.2f}")


def _against_random(values: Mapping[analysis.Key, list[float]], kind: str) -> list[dict[str, Any]]:
    rows = []
    for pair in PAIRS:
        base = values[3, pair, "RS", "fb"]
        for method in list(settings.SINGLE)[1:]:
            mine = values[3, pair, method, "fb"]
            p = analysis.wilcoxon_better(mine, base)
            row = {"kind": kind, "pair": pair, "method": method, "fb": f"{np.mean(mine):.3f}"}
            rows.append({**row, "fb_random": f"{np.mean(base):.3f}", "p": f"{p:.2g}"})
    return rows


def _own_against_random(kind: str, seeds: list[int]) -> list[dict[str, Any]]:
    """The same test for the defaults of this package."""
    rows = []
    for pair in PAIRS:
        table = settings.table_of(pair, kind)
        env_id, kwargs = f"NMTHPO-{pair}-v0", {"table": table, "order": "table"}
        played = {a: runs.run(a, env_id, seeds, budget=settings.BUDGET, env_kwargs=kwargs) for a in ("random", *OWN)}
        best = {agent: np.array([r.rewards.max() for r in found]) for agent, found in played.items()}
        top = float(table.final("bleu").max())
        for agent in OWN:
            p = analysis.wilcoxon_better(top - best[agent], top - best["random"])
            row = {"kind": kind, "pair": pair, "method": agent, "fb": f"{np.mean(top - best[agent]):.3f}"}
            rows.append({**row, "fb_random": f"{np.mean(top - best['random']):.3f}", "p": f"{p:.2g}"})
    return rows


def _orders(
    measured: Mapping[analysis.Key, list[float]], embedded: Mapping[analysis.Key, list[float]]
) -> list[dict[str, Any]]:
    from scipy.stats import kendalltau

    rows = []
    for pair in PAIRS:
        for score in ("ftb", "ftc", "fb"):
            means = [
                {m: float(np.mean(values[3, pair, m, score])) for m in settings.SINGLE}
                for values in (measured, embedded)
            ]
            tau = kendalltau(*([mean[m] for m in settings.SINGLE] for mean in means)).statistic
            names = [" < ".join(sorted(mean, key=mean.__getitem__)) for mean in means]
            row = {"pair": pair, "score": score, "tau": f"{tau:.2f}", "measured": names[0], "embedded": names[1]}
            rows.append(row)
    return rows

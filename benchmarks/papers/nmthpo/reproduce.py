"""`hpo-envs reproduce nmthpo`: Tables 1 to 4, the claims of section 6, figures, and the AutoML-2022 competition.

Figure 8 (retraining with other seeds) is not included: those runs are not in the published data.
"""

from typing import Any

import numpy as np

from hpo_envs.benchmarks import runs
from hpo_envs.benchmarks.analysis import regret
from hpo_envs.benchmarks.comparison import targets
from hpo_envs.benchmarks.papers import common
from hpo_envs.benchmarks.papers.common import Record, Reproduction
from hpo_envs.benchmarks.papers.nmthpo import analysis, figures, settings
from hpo_envs.tables import store
from hpo_envs.tables.datasets.nmthpo import PAIRS
from hpo_envs.tables.table import Table

LOST = "Missing from the text of the paper at hand; the journal has it, doi:10.1162/tacl_a_00322."
"""Note on 27 cells of Table 3: GB_EI_R, GB_EIF_M and GB_EIF_R on en-ja, sw-en and so-en."""


def compare(pair: str, table: Table) -> list[tuple[str, str, str, str]]:
    """Return the entries of a pair in Tables 1 and 2: where, quantity, published and our value.

    Table 1 has values by column (BPE symbols in thousands, layers, embedding, hidden units, heads, learning rate in
    1e-4), Table 2 the number of models, the best BLEU and its configuration.
    """
    printed = {(n, quantity): p.text for (n, of, _, quantity), p in analysis.expected().items() if n < 3 and of == pair}
    units, bleu, wanted = (1e3, 1.0, 1.0, 1.0, 1.0, 1e-4), table.final("bleu"), printed[2, "configuration"]
    columns = [np.unique(c / unit) for c, unit in zip(table.configs.T, units, strict=True)]
    best = table.configs[bleu == bleu.max()] / units
    configs = [f"{c[0]:g}k; " + "; ".join(f"{v:g}" for v in c[1:5]) + f"; {c[5]:.6g}e-4" for c in best]
    ours = {"values": "; ".join(", ".join(f"{v:.6g}" for v in values) for values in columns)}
    ours |= {"models": str(len(table)), "best BLEU": f"{bleu.max():.2f}"}
    ours["configuration"] = wanted if wanted in configs else configs[0]
    return [(f"Table {n}", quantity, text, ours[quantity]) for (n, quantity), text in printed.items()]


def tables(r: Reproduction) -> None:
    """Tables 1 and 2."""
    for pair in PAIRS:
        for where, quantity, published, ours in compare(pair, store.load(f"nmthpo/{pair}")):
            verdict: common.Verdict = "agrees" if published == ours else "differs"
            r.compare_published(where, f"{pair} {quantity}", published, ours, verdict)


def _table(number: int, r: Reproduction) -> list[Record]:
    """Return the rows of Table 3 or 4; print the claims of section 6 on it, and write them as `claims{number}.csv`."""
    entries = analysis.entries(settings.scores(r, settings.tasks(number), f"table {number}"))
    for e in entries:
        published = "" if e.published is None else f"{e.published.value:g} ± {float(e.published.details['std']):g}"
        quantity, ours = f"{e.pair} {e.method} {e.score}", f"{e.mean:.4g} ± {e.std:.3g}"
        r.compare_published(f"Table {number}", quantity, published, ours, e.verdict, "" if published else LOST)
    sizes = {pair: len(store.load(f"nmthpo/{pair}").keys) for pair in PAIRS}
    claims = analysis.claims(entries, sizes)
    common.show("Claims of section 6", claims)
    r.write(f"claims{number}", claims)
    return [record(e) for e in entries]


def table3(r: Reproduction) -> list[Record]:
    """Targets of one objective; z is the difference in combined standard errors, beyond rounding."""
    return _table(3, r)


def table4(r: Reproduction) -> list[Record]:
    """Targets of two objectives; z is the difference in combined standard errors, beyond rounding."""
    return _table(4, r)


def variants(r: Reproduction) -> list[Record]:
    """Cells of Tables 3 and 4 that agree, by variant of the graph-based methods, for each of five sets of seeds."""
    rows: list[Record] = []
    printed = {key[:3] for key in analysis.expected()}
    for number, methods in ((3, settings.SINGLE), (4, settings.MULTI)):
        for method in methods:
            for variant, more in settings.variants(method).items():
                todo = [(number, pair, method) for pair in PAIRS if (number, pair, method) in printed]
                counts, known = [], 0
                for first in range(0, 5000, 1000):
                    entries = analysis.entries(settings.scores(r, todo, f"{method}, {variant}", first, more))
                    counts.append(sum(e.verdict == "agrees" for e in entries))
                    known = len(entries)
                spread = ", ".join(map(str, counts))
                rows.append({"table": number, "method": method, "variant": variant, "cells": known, "agree": spread})
                r.write("variants", rows)
    return rows


UNSEEN = (
    *("CharMini-hun-lstm-v0", "CharMini-jpn-transformer-v0", "TaskSet-lstm128-v0", "TaskSet-gru64-mean-v0"),
    *("TextMini-reviews-joint-v0", "TextMini-names-joint-v0"),
)
"""Ids of tables on which no constant of these agents was chosen."""


def unseen(r: Reproduction) -> list[Record]:
    """Mean and final normalised regret of `random`, `bo` and the variants on tables to which no constant was fitted."""
    methods: dict[str, tuple[str, dict[str, Any]]] = {"random": ("random", {}), "bo": ("bo", {})}
    for method in settings.SINGLE:
        methods |= {f"{method}, {v}": (method, more) for v, more in settings.variants(method).items()}
    todo = [(i, agent, more, list(r.seeds(20))) for i in UNSEEN for agent, more in methods.values()]
    done = iter(r.map(_regret, todo, "unseen", "study"))
    rows: list[Record] = [{"method": m} for m in methods]
    for i in UNSEEN:
        for row in rows:
            row[i] = "{:.3f} / {:.3f}".format(*next(done))
    return rows


def _regret(env_id: str, agent: str, more: dict[str, Any], seeds: list[int]) -> tuple[float, float]:
    """Return the mean and the final normalised regret, averaged over runs."""
    curves = np.array([regret.after(run) for run in runs.run(agent, env_id, seeds, **more)])
    return float(curves.mean()), float(curves[:, -1].mean())


def record(e: analysis.Entry) -> Record:
    """Return an entry as a row of `table3.csv` or `table4.csv`."""
    found = {name: getattr(e, name) for name in ("table", "pair", "method", "score")}
    found |= {"mean": f"{e.mean:.4f}", "std": f"{e.std:.4f}", "trials": e.trials}
    found |= {"published": e.published and e.published.value}
    found |= {"published_std": e.published and float(e.published.details["std"])}
    return found | {"z": "" if e.z is None else f"{e.z:.2f}", "verdict": e.verdict}


PUBLIC = ("soen", "swen")
"""Tables of the public leaderboard; the table of the final phase was not released."""

LOOKUPS = 200

OURS = ("random", "bo-ehvi-matern52", "bo-ehvi-rbf", "graph-ehvi-matern52", "bo", "bo-spread")
LEARNING = ("tst-tpe", "warm-gp", "stacked-gp")
"""Agents that learn from the other five tables (`transfer`); the first is the winner's method."""


def _found(method: str, pair: str, seeds: list[int]) -> list[float]:
    """Return the number of Pareto points that each run of a method finds in `LOOKUPS` evaluations of a pair."""
    kwargs = {"table": settings.table_of(pair), "shuffle": False}
    transfer = "family" if method in LEARNING else None
    env_id = f"NMTHPO-{pair}-mo-v0"
    done = runs.run(method, env_id, seeds, budget=LOOKUPS, env_kwargs=kwargs, transfer=transfer)
    front = settings.front_rewards(settings.table_of(pair))
    return [targets.fbp(r.rewards, front, LOOKUPS) for r in done]


def automl2022(r: Reproduction) -> list[Record]:
    """Pareto points of each method in 200 look-ups of so-en and sw-en: the AutoML-2022 competition on these tables.

    Rules (section "Evaluation" of its pages): ten runs per table; the score is the mean number of points found of the
    front of BLEU and decoding time (fbp of the paper); methods may use the other five public tables.
    """
    seeds = list(r.seeds(10))
    methods = [*OURS, *LEARNING]
    todo = [(m, pair, seeds) for m in methods for pair in PUBLIC]
    found = dict(zip([t[:2] for t in todo], r.map(_found, todo, "automl2022", "task"), strict=True))
    rows: list[Record] = []
    for method in methods:
        values = {pair: np.array(found[method, pair]) for pair in PUBLIC}
        scores = {pair: f"{v.mean():.2f} ± {v.std():.2f}" for pair, v in values.items()}
        rows.append({"trials": len(seeds), "method": method, **scores})
    return rows


_FIGURES = (figures.figure1, figures.figure4, figures.figure5, figures.figure6, figures.figure7)

PARTS: common.Parts = {part.__name__: part for part in (tables, table3, table4, *_FIGURES)}

STUDIES: common.Parts = {"automl2022": automl2022, "variants": variants, "unseen": unseen}
"""Parts without published numbers, run by name alone."""

QUICK = 2
"""Trials of `--quick`."""

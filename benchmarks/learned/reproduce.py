"""`hpo-envs reproduce learned`: trained on all tables but one language's, tested on that one, every one in turn."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

from hpo_envs.benchmarks.learned import analysis, settings, tables
from hpo_envs.benchmarks.papers import common
from hpo_envs.benchmarks.papers.common import Reproduction
from hpo_envs.tables import store

TITLES = {
    "nmt": "NMT tables, each language pair unseen in training; `japanese` has seen neither direction of Japanese",
    "classics": "NMT tables, other Bayesian optimisation and graph-based search",
    "char": "Character transduction sweeps, each language unseen in training (both tasks, both architectures)",
    "transfer": "Trained on embedded tables of the other pairs (`embedded`) or on measured ones (`learned`)",
}


def part(name: str, family: str, methods: Sequence[str], r: Reproduction) -> None:
    """Tests the shipped leave-one-out weights on the tables of a family, which they have not seen.

    Args:
        name: In `TITLES`.
        family: `nmthpo` or `charhpo`.
        methods: What is compared.
        r: The reproduction.
    """
    kind = r.kind([*tables.ids()], " ".join(tables.FAMILIES))
    compare(name, settings.settings(family, kind, methods), r)


def compare(name: str, todo: Sequence[settings.Setting], r: Reproduction) -> None:
    """Runs settings of one family and compares their methods."""
    seeds, first = list(r.seeds(settings.TRIALS)), todo[0]
    done = r.map(settings.regrets, [(s, seeds) for s in todo], name, "table")
    regrets = {(s.table, s.method): values for s, values in zip(todo, done, strict=True)}
    rows = analysis.rows(regrets)
    over = analysis.overall(regrets, {s.table: settings.scale(s.table, s.kind) for s in todo})
    r.write(f"{name}_tables", [_record(row) for row in rows])
    r.write(f"{name}_overall", over)
    print(f"\n{TITLES[name]} ({first.kind} tables, {len(seeds)} seeds, {settings.BUDGET} evaluations)")
    print("* better, x worse than random search: paired Wilcoxon signed-rank test, Holm over tables, p < .05\n")
    metric = store.load(first.table, first.kind).metrics[0]  # type: ignore[arg-type]
    print(analysis.format_rows(rows, f"{metric.unit} of {metric.name}"))
    print("\nMean over tables; normalised = in units of what random search leaves; difference: learned minus other")
    for record in over:
        print("  " + "  ".join(f"{k} {v}" for k, v in record.items()))


def _record(row: analysis.Row) -> dict[str, Any]:
    numbers = {"half": f"{row.half:.4f}", "mean": f"{row.mean:.4f}", "std": f"{row.std:.4f}", "p_holm": f"{row.p:.2g}"}
    return {"table": row.table, "method": row.method, **numbers, "against_random": row.verdict, "trials": row.trials}


PARTS: common.Parts = {
    "nmt": functools.partial(part, "nmt", "nmthpo", (*settings.METHODS, "japanese")),
    "classics": functools.partial(part, "classics", "nmthpo", (*settings.CLASSICS, "learned")),
    "char": functools.partial(part, "char", "charhpo", settings.METHODS),
    "transfer": functools.partial(part, "transfer", "nmthpo", ("random", "learned", "embedded")),
}

main = functools.partial(common.reproduce, "learned", PARTS)

"""Do embedded tables rank agents as the measured ones do?

    python -m hpo_envs.benchmarks.agreement --runs runs/     # writes tables/catalogue/agreement.csv; can be continued

Cheap agents run on both tables of every id that has both, each seed on its own 80 % of the rows. Kendall's tau-b
compares the agents' mean regrets at the end, on half of the seeds of the measured table and on half of the seeds of the
embedded one. Its ceiling compares one half of the measured table's seeds with the other half: how far two studies of
that size agree that were both made on measurements.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import numpy.typing as npt

from hpo_envs.benchmarks.comparison import scored
from hpo_envs.benchmarks.runs.episodes import kind_of_action
from hpo_envs.benchmarks.study import executors, store
from hpo_envs.benchmarks.study.scheduler import conduct
from hpo_envs.benchmarks.study.study import SHARE, Contestant, Environment, Study
from hpo_envs.core import screen
from hpo_envs.registry import SPECS, kinds_of
from hpo_envs.tables import store as tables
from hpo_envs.tables.catalogue import agreement
from hpo_envs.tables.files import atomic

Floats = npt.NDArray[np.float64]

SEEDS = 16
"""Runs of each agent on each table."""

SPLITS = 200
"""Random halves that are averaged."""

CHEAP = (
    "random", "regularized-evolution", "bo-ucb", "bo-ei-matern52", "graph-eif-matern52", "smac-like",
    "bo-ehvi-matern52", "graph-ehvi-matern52", "successive-halving", "hyperband", "asha",
    "nonadaptive", "sh", "sr", "bts",
)  # fmt: skip
"""Agents of every kind that take a small part of a second a run."""

BOX = ("random", "box-bo", "tpe", "cmaes")
"""On a box most agents are slow."""

BUDGETS = {"rows": 20, "grid": 20, "box": 30}
"""The most evaluations of a run, by kind of action."""


def studies(only: Sequence[str] = ()) -> list[tuple[str, Study]]:
    """The studies, each with its kind of table.

    Args:
        only: Parts of ids or families; all if empty.
    """
    planned = []
    for spec in SPECS.values():
        if len(kinds_of(spec)) < 2 or not any(
            text.lower() in f"{spec.family} {spec.id}".lower() for text in only or ("",)
        ):
            continue
        if any(tables.missing(t) for t in spec.tables):
            continue
        what = kind_of_action(spec.id, {"table": "surrogate"}) or ""
        env: Any = gym.make(spec.id, table="surrogate", disable_env_checker=True)
        budget = {"budget": min(BUDGETS[what], env.unwrapped.params.budget)} if what in BUDGETS else {}
        who = tuple(Contestant(n, n, named=False) for n in (BOX if what == "box" else CHEAP))
        for kind in ("measured", "surrogate"):
            environment = Environment(spec.id, {"table": kind, **budget})
            planned.append((kind, Study((environment,), who, tuple(range(SEEDS)), SHARE)))
    return planned


def halves(measured: Sequence[Floats], embedded: Sequence[Floats], splits: int = SPLITS) -> tuple[float, float]:
    """Kendall's tau-b of mean scores on half of the seeds, mean over random halves.

    Args:
        measured: (seeds,) scores of each agent.
        embedded: The same on the embedded table.
        splits: Number of random halves.

    Returns:
        Measured against embedded, and measured against the other half of the measured ones; where one side has all
        agents level, 0.
    """
    from scipy.stats import kendalltau

    rng = np.random.default_rng(0)
    taus = np.empty((splits, 2))
    for k in range(splits):
        (a, b), (c, _) = (_means(side, rng) for side in (measured, embedded))
        taus[k] = kendalltau(a, c).statistic, kendalltau(a, b).statistic
    across, ceiling = np.nan_to_num(taus).mean(axis=0)
    return float(across), float(ceiling)


def _means(scores: Sequence[Floats], rng: np.random.Generator) -> tuple[Floats, Floats]:
    """(agents,) means over a random half of the seeds of each agent, and over the other half."""
    parts = [np.split(rng.permutation(s), [len(s) // 2]) for s in scores]
    first, second = (np.round([p[half].mean() for p in parts], 12) for half in range(2))
    return first, second


def compare(by_kind: Mapping[str, Mapping[str, Mapping[str, scored.ScoredRuns]]]) -> list[dict[str, Any]]:
    """One record an id that has at least three agents on both tables.

    Args:
        by_kind: Scored runs by kind of table, environment and agent.
    """
    records = []
    for label, by in by_kind["measured"].items():
        agents = [a for a in by if a in by_kind["surrogate"].get(label, {})]
        if len(agents) < 3:
            continue
        spec = SPECS[label.partition(" ")[0]]
        sides = tuple([by_kind[kind][label][a].final for a in agents] for kind in ("measured", "surrogate"))
        tau, ceiling = halves(sides[0], sides[1])
        best = [agents[int(np.argmin([s.mean() for s in side]))] for side in sides]
        record = {"id": spec.id, "tables": " ".join(spec.tables), "agents": len(agents), "tau": f"{tau:.2f}"}
        records.append({**record, "ceiling": f"{ceiling:.2f}", "measured": best[0], "embedded": best[1]})
    return records


@screen.on()
def main(argv: Sequence[str] | None = None) -> int:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=Path, required=True, help="folder of the runs; what is there is not run again")
    parser.add_argument("--only", nargs="*", default=(), help="parts of ids or families (default: all); writes nothing")
    parser.add_argument("--jobs", type=int, default=1, help="processes (default: %(default)s)")
    args = parser.parse_args(argv)
    with executors.of_jobs(args.jobs) as executor:
        for kind, study in studies(args.only):
            for (env, agent), error in conduct(study, args.runs / kind, executor).errors.items():
                print(f"{agent} on {env}, {kind}: {error.strip().splitlines()[-1]}")
    records = compare({kind: scored.score(store.read(args.runs / kind)) for kind in ("measured", "surrogate")})
    if not args.only:
        atomic.write_csv(agreement.DATA, records)
    for r in records:
        print("  ".join(str(v) for v in r.values()))
    for dataset in dict.fromkeys(r["tables"].partition("/")[0] for r in records):
        print(agreement.worth(dataset, records))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

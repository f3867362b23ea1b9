"""The AutoML-2022 competition on these tables: Pareto points found in 200 look-ups of so-en and sw-en.

Section "Evaluation" of its pages: ten runs a table, the score is their mean number of points of the front of BLEU and
decoding time (fbp of the paper); methods may have learned from the other five tables, each of which is public.
"""

from __future__ import annotations

import numpy as np

from hpo_envs.benchmarks import runs
from hpo_envs.benchmarks.comparison import targets
from hpo_envs.benchmarks.papers.common import Record, Reproduction
from hpo_envs.benchmarks.papers.nmthpo import settings

PUBLIC = ("soen", "swen")
"""Tables of the public leaderboard; the table of the final phase was not released."""

LOOKUPS = 200

OURS = ("random", "bo-ehvi-matern52", "bo-ehvi-rbf", "graph-ehvi-matern52", "bo", "bo-spread")
LEARNING = ("tst-tpe", "warm-gp", "stacked-gp")
"""Agents that learn from the other five tables (`transfer`); the first is the winner's method."""


def _found(method: str, pair: str, seeds: list[int]) -> list[float]:
    """Pareto points that each run of a method finds."""
    kwargs = {"table": settings.table_of(pair), "shuffle": False}
    transfer = "family" if method in LEARNING else None
    env_id = f"NMTHPO-{pair}-mo-v0"
    done = runs.run(method, env_id, seeds, budget=LOOKUPS, env_kwargs=kwargs, transfer=transfer)
    front = settings.front_rewards(settings.table_of(pair))
    return [targets.fbp(r.rewards, front, LOOKUPS) for r in done]


def run(r: Reproduction) -> list[Record]:
    """Pareto points of each method in 200 look-ups, on both tables."""
    seeds = list(r.seeds(settings.COMPETITION_RUNS))
    methods = [*OURS, *LEARNING]
    todo = [(m, pair, seeds) for m in methods for pair in PUBLIC]
    found = dict(zip([t[:2] for t in todo], r.map(_found, todo, "automl2022", "task"), strict=True))
    rows: list[Record] = []
    for method in methods:
        values = {pair: np.array(found[method, pair]) for pair in PUBLIC}
        scores = {pair: f"{v.mean():.2f} ± {v.std():.2f}" for pair, v in values.items()}
        rows.append({"trials": len(seeds), "method": method, **scores})
    return rows

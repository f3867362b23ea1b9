"""The AutoML-2022 competition on these tables: Pareto points found in 200 look-ups of so-en and sw-en.

Section "Evaluation" of its pages: ten runs a table, the score is their mean number of points of the front of BLEU and
decoding time (fbp of the paper); methods may have learned from the other five tables, each of which is public.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from hpo_envs import agents
from hpo_envs.agents import Agent, Problem
from hpo_envs.benchmarks import runs
from hpo_envs.benchmarks.comparison import targets
from hpo_envs.benchmarks.papers.common import Record, Reproduction, show
from hpo_envs.benchmarks.papers.nmthpo import released, settings
from hpo_envs.tables.datasets.nmthpo.names import PAIRS

PUBLIC = ("soen", "swen")
"""Tables of the public leaderboard; the table of the final phase was not released."""

LOOKUPS = 200
HEAD = 20
"""Look-ups that `order, then bo` spends on what was good elsewhere."""

SAMPLES: Mapping[str, type[Agent]] = {
    "EHVI (sample submission)": released.ReleasedEHVI,
    "CMA-ES (sample submission)": released.ReleasedCMAES,
}
OURS = ("bo-ehvi-matern52", "bo-ehvi-rbf", "graph-ehvi-matern52", "bo", "bo-spread")
LEARNING = ("tst-tpe", "warm-gp", "stacked-gp")
"""Agents that learn from the other five tables (`transfer`); the first is the winner's method."""

TRANSFER = ("order elsewhere", "order, then bo")
"""Rows as good as they were on other pairs: nothing is learned here; or `bo` goes on after the first of them."""


def elsewhere(pair: str) -> npt.NDArray[np.intp]:
    """Rows of a pair in the order of how good they were on the other pairs.

    A configuration counts as the nearest one of another table, and its place there is the front it is on, peeled one
    after the other, as a share of all fronts; places are averaged.
    """
    own = released.scaled(settings.table_of(pair))
    places = []
    for other in PAIRS:
        if other == pair:
            continue
        table = settings.table_of(other)
        points = released.scaled(table)
        rank = released.fronts(np.column_stack([table.final("bleu"), -table.final("decoding_seconds")]))
        nearest = np.square(own[:, None] - points[None]).sum(axis=2).argmin(axis=1)
        places.append(rank[nearest] / rank.max())
    return np.argsort(np.mean(places, axis=0), kind="stable")


class _Ordered(Agent):
    """Asks for rows in an order; after `head` of them another agent, which was told of all, goes on."""

    def __init__(self, problem: Problem, seed: int, order: npt.NDArray[np.intp], head: int) -> None:
        super().__init__(problem, seed)
        self._left = order[:head].tolist()
        self._then = agents.make("bo", problem, seed)

    def ask(self) -> Any:
        return self._left.pop(0) if self._left else self._then.ask()

    def tell(self, action: Any, reward: Any, info: Mapping[str, Any]) -> None:
        self._then.tell(action, reward, info)

    def recommend(self) -> Any:
        return self._then.recommend()


def maker(method: str, pair: str) -> str | Callable[[Problem, int], Agent]:
    """What plays a method: the name of an agent, or what makes one."""
    if method in SAMPLES:
        table = settings.table_of(pair)
        points, rows = released.scaled(table), settings.upstream_order(table)
        return lambda problem, seed: SAMPLES[method](problem, seed, points, rows)  # type: ignore[call-arg]
    if method in TRANSFER:
        order = elsewhere(pair)
        head = LOOKUPS if method == TRANSFER[0] else HEAD
        return lambda problem, seed: _Ordered(problem, seed, order, head)
    return method


def _found(method: str, pair: str, seeds: list[int]) -> list[float]:
    """Pareto points that each run of a method finds."""
    kwargs = {"table": settings.table_of(pair), "shuffle": False}
    agent, transfer = maker(method, pair), "family" if method in LEARNING else None
    env_id = f"NMTHPO-{pair}-mo-v0"
    done = runs.run(agent, env_id, seeds, budget=LOOKUPS, env_kwargs=kwargs, transfer=transfer)
    front = settings.front_rewards(settings.table_of(pair))
    return [targets.fbp(r.rewards, front, LOOKUPS) for r in done]


def run(r: Reproduction) -> Record:
    """Runs every method, prints and writes its score on both tables."""
    seeds = list(r.seeds(settings.TRIALS))
    methods = [*SAMPLES, *OURS, *TRANSFER, *LEARNING]
    todo = [(m, pair, [*seeds] if m != TRANSFER[0] else seeds[:1]) for m in methods for pair in PUBLIC]
    found = dict(zip([t[:2] for t in todo], r.map(_found, todo, "automl2022", "task"), strict=True))
    exact = {pair: settings.exact_random(4, pair)["fbp"] for pair in PUBLIC}
    rows: list[Record] = [
        {"method": "random search, exact", **{pair: f"{e.mean:.2f} ± {e.std:.2f}" for pair, e in exact.items()}}
    ]
    for method in methods:
        values = {pair: np.array(found[method, pair]) for pair in PUBLIC}
        rows.append({"method": method, **{pair: f"{v.mean():.2f} ± {v.std():.2f}" for pair, v in values.items()}})
    sizes = {pair: len(settings.front_rewards(settings.table_of(pair))) for pair in PUBLIC}
    show(f"AutoML 2022: Pareto points of {sizes} in {LOOKUPS} look-ups, {len(seeds)} runs", rows)
    r.write("automl2022", [{"trials": len(seeds), **row} for row in rows])
    return {"automl2022": rows}

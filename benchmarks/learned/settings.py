"""Settings of the study of the learned optimiser, and its runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from hpo_envs import registry
from hpo_envs.agents.transfer import learned
from hpo_envs.benchmarks import runs
from hpo_envs.benchmarks.analysis.scores import targets
from hpo_envs.benchmarks.analysis.scores.expected import expected_best
from hpo_envs.benchmarks.learned import evolution, tables
from hpo_envs.tables import store
from hpo_envs.tables.row_order import natural

Floats = npt.NDArray[np.float64]

TRIALS = 100
"""Seeds of each agent on each table."""

BUDGET = 20
"""Evaluations (fb of Zhang and Duh 2020, section 4.1)."""

METHODS = ("random", "bo", "graph-ei-matern52", "start", "generic", "learned")
"""`start` is the network before training, with what the other tables taught; `generic` has weights without that, and
has been trained on all tables; `learned` has seen no table of the pair or the language that it is tested on."""

CLASSICS = ("random", "bo-spread", "bo-ei-matern52", "bo-ei-rbf", "graph-ei-rbf", "graph-eif-matern52", "graph-eif-rbf")
"""Other Bayesian optimisation and graph-based search: from a spread-out start, and the paper's."""

EXTRA = ("japanese", "embedded")
"""On the NMT tables also: trained without either direction of Japanese; trained on embedded tables only."""


@dataclass(frozen=True)
class Setting:
    """One method on one table.

    Attributes:
        family: `nmthpo` or `charhpo`.
        table: Name of the table.
        method: One of `METHODS` or `EXTRA`.
        kind: `measured` or `surrogate`: the table tested on.
    """

    family: str
    table: str
    method: str
    kind: str


def settings(family: str, kind: str, methods: Sequence[str] = METHODS) -> list[Setting]:
    """All methods on all tables of a family."""
    return [
        Setting(family, t, m, kind)
        for t in tables.names(family)
        for m in methods
        if m != "japanese" or registry.languages_of([t]) == ("ja",)
    ]


def agent_of(setting: Setting) -> tuple[str, dict[str, Any]]:
    """Registered agent and arguments of a method, with weights that have not seen the table.

    Of Japanese they may have seen the other direction, and the generic ones have seen all: `seen` says so.
    """
    fold = tables.language_of(setting.table)
    if setting.method in ("bo", "graph-ei-matern52", *CLASSICS):
        return setting.method, {}
    if setting.method == "generic":
        return "learned", {"family": "generic", "seen": True}
    if setting.method == "start":
        _, known = learned.load(setting.family, fold)
        return "learned", {"weights": evolution.start(np.random.default_rng(0)), "knowledge": known}
    if setting.method == "embedded":
        return "learned", {"family": f"{setting.family}-embedded", "without": fold, "seen": True}
    without = "ja" if setting.method == "japanese" else fold
    return "learned", {"family": setting.family, "without": without, "seen": True}


def regrets(setting: Setting, seeds: Sequence[int]) -> Floats:
    """(seeds, BUDGET) best reward of the table minus the best so far, in the metric's units."""
    agent, arguments = agent_of(setting)
    table = natural(store.load(setting.table, setting.kind))  # type: ignore[arg-type]
    env_id, kwargs = tables.ids()[setting.table].id, {"table": table, "order": "table"}
    found = runs.run(agent, env_id, seeds, budget=BUDGET, env_kwargs=kwargs, **arguments)
    best = float(tables.rewards_of(table).max())
    return np.array([[targets.fb(r.rewards, best, b) for b in range(1, BUDGET + 1)] for r in found])


def scale(table: str, kind: str) -> float:
    """What random search leaves on average after `BUDGET` evaluations, in closed form: the unit of normalised regret.

    At least a thousandth of the table's range, for tables that random search solves.
    """
    rewards = tables.rewards_of(store.load(table, kind))  # type: ignore[arg-type]
    left = rewards.max() - expected_best(rewards, [BUDGET], replacement=False)[0][0]
    return max(float(left), 1e-3 * float(np.ptp(rewards)))

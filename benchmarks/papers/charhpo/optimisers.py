"""What the sweeps teach about optimisers: random search in closed form, and four structured searches.

The paper leaves this to future work ("we have not yet used structured search methods", Limitations). Each optimiser
searches each of the 24 sweeps.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from hpo_envs.benchmarks.analysis import ranking
from hpo_envs.benchmarks.analysis.scores.expected import expected_best
from hpo_envs.benchmarks.papers.common import Reproduction
from hpo_envs.benchmarks.plots.style import COLOURS, panels, save
from hpo_envs.benchmarks.runs import run
from hpo_envs.tables import store
from hpo_envs.tables.datasets.charhpo import build as charhpo
from hpo_envs.tables.row_order import natural

Floats = npt.NDArray[np.float64]

AGENTS = ("random", "bo", "bo-ei-matern52", "tpe-features", "regularized-evolution")
"""Registered agents that search rows of a table."""

BUDGET = 60
"""Evaluations of a run: 30 % of a sweep."""

TRIALS = 20
"""Seeds per optimiser and sweep."""

EVALUATIONS = (10, 20, 40, 60)
"""Budgets at which optimisers are ranked."""

TIMES = (10, 20, 40)
"""Budgets of training time at which they are ranked, in mean runtimes of the sweep."""


@dataclass(frozen=True)
class Study:
    """Runs of all optimisers on all sweeps.

    Attributes:
        agents: Names.
        tasks: Names of the tables.
        best: (agents, tasks, trials, budget) best accuracy so far.
        seconds: (agents, tasks, trials, budget) training time spent so far.
    """

    agents: tuple[str, ...]
    tasks: tuple[str, ...]
    best: Floats
    seconds: Floats


def id_of(table: str) -> str:
    """The id of a sweep."""
    return f"CharHPO-{table.partition('/')[2]}-v0"


def one(agent: str, table: str, seeds: Sequence[int], budget: int, kind: str) -> tuple[Floats, Floats]:
    """(seeds, budget) best accuracies so far and seconds so far of one optimiser on one sweep."""
    sweep = natural(store.load(table, kind))  # type: ignore[arg-type]
    runs = run(agent, id_of(table), seeds, budget=budget, env_kwargs={"table": sweep, "order": "table"})
    runtime = sweep.final("runtime")
    best = np.array([np.maximum.accumulate(r.rewards) for r in runs])
    return best, np.array([np.cumsum(runtime[r.actions]) for r in runs])


def study(
    r: Reproduction,
    agents: Sequence[str] = AGENTS,
    tasks: Sequence[str] = charhpo.NAMES,
    budget: int = BUDGET,
    kind: str = "measured",
) -> Study:
    """Runs all optimisers on all sweeps."""
    seeds = r.seeds(TRIALS)
    todo = [(agent, task, seeds, budget, kind) for agent in agents for task in tasks]
    results = r.map(one, todo, "optimisers", "sweep")
    shape = (len(agents), len(tasks), len(seeds), budget)
    best, seconds = (np.array([result[i] for result in results]).reshape(shape) for i in range(2))
    return Study(tuple(agents), tuple(tasks), best, seconds)


def against_evaluations(s: Study, kind: str = "measured") -> list[dict[str, Any]]:
    """Expected loss against the number of evaluations: points below the sweep's best, mean over the sweeps.

    `random, closed form` is the expected validation performance without replacement; `random, with replacement` that
    of Dodge et al. (2019).
    """
    top, exact, dodge = [], [], []
    budgets = np.arange(1, s.best.shape[3] + 1)
    for task in s.tasks:
        accuracy = store.load(task, kind).final("accuracy")  # type: ignore[arg-type]
        top.append(accuracy.max())
        exact.append(expected_best(accuracy, budgets, replacement=False)[0])
        dodge.append(expected_best(accuracy, budgets)[0])
    best = np.array(top)
    curves = {agent: best - s.best[i].mean(axis=1).T for i, agent in enumerate(s.agents)}
    curves["random, closed form"] = best - np.array(exact).T
    curves["random, with replacement"] = best - np.array(dodge).T
    return [
        {"evaluations": int(b), **{name: round(float(curve[b - 1].mean()), 4) for name, curve in curves.items()}}
        for b in budgets
    ]


def best_at(s: Study, share: float, kind: str = "measured") -> Floats:
    """(agents, tasks) mean best accuracy among the runs finished within a time.

    Args:
        s: The study.
        share: The time, in mean runtimes of each sweep. 0 counts where nothing has finished.
        kind: Kind of table.
    """
    out = np.zeros(s.best.shape[:2])
    for j, task in enumerate(s.tasks):
        limit = share * float(store.load(task, kind).final("runtime").mean())  # type: ignore[arg-type]
        finished = s.seconds[:, j] <= limit
        out[:, j] = np.where(finished, s.best[:, j], 0.0).max(axis=2).mean(axis=1)
    return out


def exhausted(s: Study, share: float, kind: str = "measured") -> Floats:
    """(agents,) share of runs that spent all their evaluations before a time (see `best_at`)."""
    limits = np.array([share * store.load(t, kind).final("runtime").mean() for t in s.tasks])  # type: ignore[arg-type]
    return np.asarray((s.seconds[..., -1] < limits[:, None]).mean(axis=(1, 2)))


def against_seconds(s: Study, kind: str = "measured") -> list[dict[str, Any]]:
    """Expected loss against training time, as `against_evaluations`; time in mean runtimes of a sweep.

    Ends where a run of some optimiser may have spent all its evaluations.
    """
    top = np.array([store.load(t, kind).final("accuracy").max() for t in s.tasks])  # type: ignore[arg-type]
    records = []
    for share in np.arange(2.0, s.best.shape[3] + 1.0, 2.0):
        if exhausted(s, float(share), kind).max() > 0.05:
            break
        loss = (top - best_at(s, float(share), kind)).mean(axis=1)
        values = {name: round(float(v), 4) for name, v in zip(s.agents, loss, strict=True)}
        records.append({"mean runtimes": float(share), **values})
    return records


def rankings(s: Study, kind: str = "measured") -> dict[str, ranking.Ranking]:
    """Critical-difference rankings over the sweeps, by mean best accuracy at each budget."""
    out = {}
    for budget in EVALUATIONS:
        if budget <= s.best.shape[3]:
            at = s.best[..., budget - 1].mean(axis=2)
            out[f"{budget} evaluations"] = ranking.rank(dict(zip(s.agents, at.tolist(), strict=True)))
    for share in TIMES:
        if exhausted(s, share, kind).max() <= 0.05:
            at = best_at(s, share, kind)
            out[f"{share} mean runtimes"] = ranking.rank(dict(zip(s.agents, at.tolist(), strict=True)))
    return out


def simulation_check(s: Study, kind: str = "measured") -> dict[str, Any]:
    """Random search as run against its closed form: z-values of all sweeps and budgets.

    Returns:
        How many values there are, the share within two standard errors, the mean and the standard deviation of z.
    """
    z = []
    i = s.agents.index("random")
    trials, budgets = s.best.shape[2], np.arange(1, s.best.shape[3] + 1)
    for j, task in enumerate(s.tasks):
        accuracy = store.load(task, kind).final("accuracy")  # type: ignore[arg-type]
        mean, deviation = expected_best(accuracy, budgets, replacement=False)
        error = deviation / np.sqrt(trials)
        random = error > 1e-9
        z.append((s.best[i, j].mean(axis=0) - mean)[random] / error[random])
    values = np.concatenate(z)
    return {
        "cells": len(values),
        "within two standard errors": round(float((np.abs(values) <= 2).mean()), 4),
        "mean z": round(float(values.mean()), 4),
        "standard deviation of z": round(float(values.std()), 4),
    }


def plot(evaluations: Sequence[Mapping[str, Any]], seconds: Sequence[Mapping[str, Any]], path: Path) -> list[Path]:
    """Draws expected loss against evaluations and against training time; returns the files."""
    figure, (axes,) = panels(1, 2, (10, 3.8), sharey=True)
    for axis, records in zip(axes, (evaluations, seconds), strict=True):
        x, *names = records[0]
        for name, colour in zip(names, COLOURS, strict=False):
            style = "--" if "," in name else "-"
            axis.plot([r[x] for r in records], [r[name] for r in records], style, color=colour, label=name)
        axis.set(xlabel=x, yscale="log")
        axis.grid(alpha=0.3)
        axis.legend(fontsize=7)
    axes[0].set_ylabel("points below the sweep's best, mean of 24")
    return save(figure, path)

"""Runs scored by environment and agent, and what must hold before they may be compared."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from hpo_envs.benchmarks.runs import Run, regret, transfer
from hpo_envs.registry import SPECS, family_of
from hpo_envs.tables import store

Floats = npt.NDArray[np.float64]

GRID = np.linspace(0.0, 1.0, 51)[1:]
"""Shares of the budget at which curves are kept."""


TOGETHER = 200
"""Runs that are scored side by side."""

SEEN = " (seen)"
"""Ends the label of an agent whose weights have seen the problem's languages."""


def budget_apart(run: Run) -> float | None:
    """Budget of a run where it is one that the leaderboard shows beside its first one."""
    family, budget = family_of(run.header["env"]), run.header["budget"]
    apart = family is not None and any(s.get("budget") == budget for s in family.leaderboard[1:])
    return budget if apart else None


def _once(label: Callable[[Run], str]) -> Callable[[Run], str]:
    """A label that each run keeps: several passes over millions of runs ask for it."""

    @functools.wraps(label)
    def kept(run: Run) -> str:
        known: dict[str, str] = run.__dict__
        if label.__name__ not in known:
            known[label.__name__] = label(run)
        return known[label.__name__]

    return kept


@_once
def environment_of(run: Run) -> str:
    """Label of an environment: its id, the arguments given but for the table and most budgets, and whose tables helped.

    Runs with sources are thus never averaged with runs without them.
    """
    extra = {k: v for k, v in run.header["env_kwargs"].items() if k not in ("table", "budget")}
    if (share := run.header.get("share", 1.0)) < 1.0:
        extra["share"] = share
    if helped := run.header.get("transfer"):
        extra["transfer"] = helped["distribution"]
    if (budget := budget_apart(run)) is not None:
        extra["budget"] = f"{budget:g}"
    return _label(run.header["env"], extra)


@_once
def agent_of(run: Run) -> str:
    """Label of an agent: the name that it was given, or its registered one and the hyperparameters given.

    Where its weights have seen the problem's languages, it says so: such runs are never taken for those of others.
    """
    name, algorithm, seen = run.header["agent"], run.header.get("algorithm"), "seen" in run.header
    given = {} if algorithm not in (None, name) else run.header["hyperparameters"]
    return _label(name, {k: v for k, v in given.items() if k != "seen" or not seen}) + SEEN * seen


def _label(name: str, arguments: Mapping[str, Any]) -> str:
    return f"{name} ({', '.join(f'{k}={v}' for k, v in sorted(arguments.items()))})" if arguments else name


def check(runs: Sequence[Run]) -> None:
    """Refuses what cannot be compared.

    Raises:
        ValueError: No runs; measured and embedded tables of ids that have both; runs of one environment with
            different tables, budgets, objectives, cost units, sources or versions of the suite; a run that is there
            twice, has learned from its problem's language, or is without an evaluation.
    """
    if not runs:
        raise ValueError("runs must be at least one, got none")
    kinds: dict[str, str] = {}
    facts: dict[tuple[str, ...], Any] = {}
    seen = set()
    several = functools.cache(lambda name: store.exists(name) and len(store.kinds(name)) > 1)
    for r in runs:
        h, env = r.header, environment_of(r)
        if several(h["table"]) and not (h["env"] in SPECS and SPECS[h["env"]].surrogate_only):
            kinds.setdefault(h["kind"], env)
        here = {
            ("sha256", f"table {h['table']} ({h['kind']})"): h["sha256"],
            ("budget", env): (h["budget"], h["cost_unit"]),
            ("objective", env): tuple(h["objectives"]),
            ("order of rows", env): h.get("order", "table"),
            ("sources", env): h.get("transfer"),
            ("version of hpo_envs",): h["versions"]["hpo_envs"],
        }
        for fact, value in here.items():
            if facts.setdefault(fact, value) != value:
                raise ValueError(f"runs must share their {' of '.join(fact)}, got {facts[fact]} and {value}")
        if both := transfer.seen(h):
            raise ValueError(
                f"sources must share no language with {env}, got {', '.join(both)} in runs of {agent_of(r)}"
            )
        one = (env, agent_of(r), r.seed)
        if one in seen:
            raise ValueError(f"runs must be there once, got {one[1]} on {env} with seed {r.seed} twice")
        seen.add(one)
        if not len(r):
            raise ValueError(f"runs must have an evaluation, got none by {one[1]} on {env} with seed {r.seed}")
    if len(kinds) > 1:
        named = " and ".join(f"{kind} tables ({env})" for kind, env in sorted(kinds.items()))
        raise ValueError(f"runs must not mix kinds of tables, got {named}: report each with its own kind")


@dataclasses.dataclass
class ScoredRuns:
    """The runs of one agent on one environment and their scores; every array has one entry or row per run."""

    seeds: list[int]
    random: bool
    """Whether no run could differ from one of random search."""
    raw: bool
    """Whether no scale is known: scores are minus the rewards."""
    flat: bool
    """Whether all runs are flat: regret is 0/0 for each, and all scores are 0."""
    anytime: Floats
    final: Floats
    evaluations: Floats
    """(n, L) regret after 1 to L evaluations."""
    shares: Floats
    """(n, len(GRID)) regret at shares of the budget."""
    runtimes: Floats
    """(n, targets) shares of the budget until each target, inf if never."""
    spent: Floats
    """Share of the budget spent."""

    def score(self, name: str) -> Floats:
        """The scores that a track is ranked by."""
        return self.anytime if name == "anytime" else self.final


def averaged(runs: Sequence[Run]) -> list[Run]:
    """All runs but the flat ones of environments that have others: on a problem of theirs no agent can be better."""
    flat = [regret.flat(r) for r in runs]
    others = {environment_of(r) for r, f in zip(runs, flat, strict=True) if not f}
    return [r for r, f in zip(runs, flat, strict=True) if not f or environment_of(r) not in others]


def score(runs: Sequence[Run]) -> dict[str, dict[str, ScoredRuns]]:
    """Scores all runs, by environment and agent, each with the scale in its header."""
    groups: dict[str, dict[str, list[Run]]] = {}
    for r in sorted(runs, key=lambda r: r.seed):
        groups.setdefault(environment_of(r), {}).setdefault(agent_of(r), []).append(r)
    lengths = {env: max(len(r) for rs in by.values() for r in rs) for env, by in groups.items()}
    return {env: {agent: _scored(rs, lengths[env]) for agent, rs in by.items()} for env, by in groups.items()}


def _scored(runs: Sequence[Run], length: int) -> ScoredRuns:
    groups: dict[Any, list[int]] = {}
    for i, r in enumerate(runs):
        key = regret.alike(r)
        groups.setdefault(i if key is None else key, []).append(i)
    parts: list[list[Floats]] = []
    order: list[int] = []
    for key, index in groups.items():
        for some in np.array_split(index, -(-len(index) // TOGETHER)):
            one = runs[some[0]] if isinstance(key, int) else None
            parts.append(_measured(one or regret.Alike.of([runs[i] for i in some]), length))
            order.extend(some)
    columns = (np.concatenate(column)[np.argsort(order)] for column in zip(*parts, strict=True))
    random = all("random_search" in r.header for r in runs)
    flat = all(regret.flat(r) for r in runs)
    return ScoredRuns([r.seed for r in runs], random, regret.raw(runs[0]), flat, *columns)


def _measured(run: Run | regret.Alike, length: int) -> list[Floats]:
    """The arrays of `ScoredRuns` of some runs."""
    if isinstance(run, Run):
        after, several = regret.after(run), False
        final = np.array(regret.final(run, after))
    else:
        after, several = run.after(), True
        final = after[:, -1]
    budget = float(run.header["budget"])
    measured = (
        regret.anytime(run, after),
        final,
        regret.at_evaluations(after, length),
        regret.at_costs(after, run.costs, budget, GRID, raw=regret.raw(run)),
        regret.runtimes(run, after) / budget,
        run.costs.sum(axis=-1) / budget,
    )
    return [np.asarray(m) if several else np.asarray(m)[None] for m in measured]

"""Which agents exist, what each of them can work on, and how to make one by name."""

from __future__ import annotations

import dataclasses
import difflib
import importlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from gymnasium.spaces import Box, Discrete

from hpo_envs.agents.base import Agent
from hpo_envs.agents.problem import Problem


@dataclass(frozen=True)
class Entry:
    """One registered agent.

    Attributes:
        target: `module:Class`, imported when the agent is made.
        summary: One line for listings.
        kwargs: Hyperparameters that this name fixes; callers may override them.
        supports: Names of what the agent can work on: `rows` (Discrete candidates), `features` (needs candidate
            features), `levels` ((row, level) pairs), `grid` (MultiDiscrete values), `box` (continuous), `arms`
            (stochastic repeats), `cells` (built node by node), `objectives` (more than one reward).
        extra: The optional dependency group it needs, if any.
        alias_of: The readable name that this one is an alias of, if any.
    """

    target: str
    summary: str
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    supports: tuple[str, ...] = ("rows",)
    extra: str | None = None
    alias_of: str | None = None


def _entry(target: str, summary: str, *supports: str, **more: Any) -> Entry:
    return Entry(f"hpo_envs.agents.{target}", summary, supports=supports, **more)


def _candidate_agents() -> dict[str, Entry]:
    """Optimisers over featured candidates; Zhang and Duh 2020 name theirs method_acquisition_kernel."""
    one, two = ("rows", "features", "levels", "grid"), ("rows", "features", "levels", "grid", "objectives")
    bo, graph, influence = (
        "search.bo:BayesianOptimisation",
        "search.graph_search:GraphSearch",
        "search.graph_search:GraphInfluence",
    )
    middle = {"fit": True, "design": "spread", "initial": 2}
    entries = {
        "bo": _entry(
            bo, "Gaussian-process optimisation with fitted length-scales, EI or EHVI", *two, kwargs={"fit": True}
        ),
        "bo-spread": _entry(
            bo,
            "bo started from two candidates in the middle; the best one here on few evaluations",
            *two,
            kwargs=middle,
        ),
        "bo-ucb": _entry(
            bo, "Gaussian process, fixed kernel, upper confidence bound", *one, kwargs={"acquisition": "ucb"}
        ),
        "bo-thompson": _entry(
            bo, "Gaussian process, fixed kernel, Thompson sampling", *one, kwargs={"acquisition": "thompson"}
        ),
    }
    rows = (
        ("bo-ei", "BO_EI", bo, "Gaussian process, fixed {} kernel, EI", "ei", one),
        ("graph-ei", "GB_EI", graph, "finite-set Gaussian process on a kNN graph, {}, EI", "ei", one),
        ("graph-eif", "GB_EIF", influence, "label propagation on a graph, {}, expected influence", None, one),
        ("bo-ehvi", "BO", bo, "Gaussian processes, fixed {} kernel, EHVI", "ehvi", ("objectives",)),
        ("graph-ehvi", "GB", graph, "finite-set Gaussian processes on a graph, {}, EHVI", "ehvi", ("objectives",)),
    )
    for letter, kernel in (("M", "matern52"), ("R", "rbf")):
        for name, paper, target, summary, acquisition, supports in rows:
            kwargs = {"kernel": kernel} | ({} if acquisition is None else {"acquisition": acquisition})
            made = entries[f"{name}-{kernel}"] = _entry(target, summary.format(kernel), *supports, kwargs=kwargs)
            entries[f"{paper}_{letter}"] = dataclasses.replace(made, alias_of=f"{name}-{kernel}")
    return entries


AGENTS: dict[str, Entry] = {
    "random": _entry(
        "random:RandomSearch",
        "random search without replacement",
        "rows",
        "levels",
        "grid",
        "box",
        "arms",
        "cells",
        "objectives",
    ),
    "box-bo": _entry(
        "search.bo_box:BoxBayesianOptimisation",
        "Gaussian process with fitted length-scales and expected improvement, on a box",
        "box",
    ),
    "tpe": _entry(
        "external.optuna:OptunaTPE", "tree-structured Parzen estimator of Optuna", "box", "grid", extra="optuna"
    ),
    "cmaes": _entry("external.optuna:OptunaCMAES", "CMA-ES of Optuna", "box", extra="optuna"),
    # On a leaderboard it would be a contestant for each sampler: `tpe` and `cmaes` stand there by name.
    "optuna": _entry(
        "external.any_sampler:AnySampler",
        "any sampler of Optuna: sampler=GPSampler, QMCSampler, one of your own, ...; TPE by default",
        "box",
        "grid",
        "rows",
        "features",
        "levels",
        "objectives",
        extra="optuna",
        alias_of="tpe",
    ),
    "nonadaptive": _entry(
        "bandits.nonadaptive:NonAdaptive", "all arms equally often, for a fixed budget or until confident", "arms"
    ),
    "sh": _entry(
        "bandits.elimination:SequentialHalving", "sequential halving: half of the arms leave each round", "arms"
    ),
    "sr": _entry("bandits.elimination:SuccessiveRejects", "successive rejects: one arm leaves each round", "arms"),
    "ttts": _entry("bandits.top_two:TTTS", "top-two Thompson sampling", "arms"),
    "t3c": _entry("bandits.top_two:T3C", "top-two transportation cost", "arms"),
    "ttei": _entry("bandits.top_two:TTEI", "top-two expected improvement", "arms"),
    "bts": _entry("bandits.batch_thompson:BTS", "batch Thompson sampling, synchronous or not", "arms"),
    "lucb": _entry("bandits.lucb:LUCB", "lower and upper confidence bounds", "arms"),
    "track-and-stop": _entry("bandits.track_and_stop:TrackAndStop", "Track-and-Stop, optimal proportions", "arms"),
    **_candidate_agents(),
    "regularized-evolution": _entry(
        "search.evolution:RegularizedEvolution",
        "regularised evolution: mutate a tournament's winner, the oldest leaves",
        "rows",
        "levels",
        "grid",
        "cells",
    ),
    "bagged-trees": _entry(
        "search.trees:BaggedTrees",
        "Bayesian optimisation with bagged boosted trees and a confidence bound",
        "rows",
        "features",
        "levels",
    ),
    "smac-like": _entry(
        "search.trees:ForestSearch",
        "random-forest Bayesian optimisation with interleaved random rows",
        "rows",
        "features",
        "levels",
    ),
    "tpe-features": _entry(
        "external.any_sampler:FeatureTPE",
        "tree-structured Parzen estimator in the space of the rows' features",
        "rows",
        "features",
        "levels",
        extra="optuna",
    ),
    "learned": _entry(
        "transfer.learned:LearnedAcquisition",
        "acquisition function trained across tables; knows ours unless without= leaves a language out",
        "rows",
        "features",
        "levels",
        "grid",
    ),
    "successive-halving": _entry(
        "multifidelity.hyperband:SuccessiveHalving",
        "successive halving: train many rows a little, the best of them longer",
        "levels",
    ),
    "hyperband": _entry(
        "multifidelity.hyperband:Hyperband",
        "Hyperband: successive halving with every trade-off of rows against resource",
        "levels",
    ),
    "asha": _entry("multifidelity.asha:ASHA", "asynchronous successive halving, for parallel workers", "levels"),
}


def names() -> list[str]:
    """Names of all registered agents, aliases included, sorted."""
    return sorted(AGENTS)


def entry(name: str) -> Entry:
    """The registry entry of an agent.

    Raises:
        ValueError: No such agent; the message suggests the nearest name.
    """
    if name not in AGENTS:
        close = difflib.get_close_matches(str(name), names(), n=1, cutoff=0.4)
        hint = f", did you mean {close[0]!r}?" if close else ""
        raise ValueError(f"agent must be one of {', '.join(names())}, got {name!r}{hint}")
    return AGENTS[name]


def fits(name: str, problem: Problem) -> bool:
    """Whether an agent can work on a problem.

    Raises:
        ValueError: No such agent.
    """
    supports = entry(name).supports
    if problem.objectives > 1:
        return "objectives" in supports
    if problem.levels is not None:
        return "levels" in supports
    if problem.mutate is not None:
        return "cells" in supports
    if isinstance(problem.action_space, Box):
        return "box" in supports
    if isinstance(problem.action_space, Discrete):
        return ("arms" if problem.features is None else "rows") in supports
    return "grid" in supports


def make(name: str, problem: Problem, seed: int, **hyperparameters: Any) -> Agent:
    """Makes an agent.

    Args:
        name: A registered name, see `names()`.
        problem: What the agent may know.
        seed: Seed of the agent's generator.
        **hyperparameters: The agent's own arguments, see its class docstring.

    Raises:
        ValueError: No such agent.
        TypeError: The agent takes no such hyperparameter.
    """
    e = entry(name)
    module, _, attribute = e.target.partition(":")
    cls = getattr(importlib.import_module(module), attribute)
    agent: Agent = cls(problem, seed, **{**e.kwargs, **hyperparameters})
    return agent

"""Which agents exist, what each of them can work on, and how to make one by name."""

from __future__ import annotations

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


def _candidate_agents() -> dict[str, Entry]:
    """Optimisers over featured candidates; Zhang and Duh 2020 name theirs method_acquisition_kernel."""
    one, two = ("rows", "features", "levels", "grid"), ("rows", "features", "levels", "grid", "objectives")
    bo, gb, eif = (
        f"hpo_envs.agents.search.{target}"
        for target in ("bo:BayesianOptimisation", "graph_search:GraphSearch", "graph_search:GraphInfluence")
    )
    kernels = {"M": "matern52", "R": "rbf"}
    entries = {
        "bo": Entry(bo, "Gaussian-process optimisation with fitted length-scales, EI or EHVI", {"fit": True}, two),
        "bo-spread": Entry(
            bo,
            "bo started from two candidates in the middle; the best one here on few evaluations",
            {"fit": True, "design": "spread", "initial": 2},
            two,
        ),
        "bo-ucb": Entry(bo, "Gaussian process, fixed kernel, upper confidence bound", {"acquisition": "ucb"}, one),
        "bo-thompson": Entry(bo, "Gaussian process, fixed kernel, Thompson sampling", {"acquisition": "thompson"}, one),
    }
    for letter, kernel in kernels.items():
        fixed = {"kernel": kernel}
        rows: tuple[tuple[str, str, str, str, dict[str, str], tuple[str, ...]], ...] = (
            ("bo-ei", "BO_EI", bo, f"Gaussian process, fixed {kernel} kernel, EI", {"acquisition": "ei"}, one),
            (
                "graph-ei",
                "GB_EI",
                gb,
                f"finite-set Gaussian process on a kNN graph, {kernel}, EI",
                {"acquisition": "ei"},
                one,
            ),
            ("graph-eif", "GB_EIF", eif, f"label propagation on a graph, {kernel}, expected influence", {}, one),
            (
                "bo-ehvi",
                "BO",
                bo,
                f"Gaussian processes, fixed {kernel} kernel, EHVI",
                {"acquisition": "ehvi"},
                ("objectives",),
            ),
            (
                "graph-ehvi",
                "GB",
                gb,
                f"finite-set Gaussian processes on a graph, {kernel}, EHVI",
                {"acquisition": "ehvi"},
                ("objectives",),
            ),
        )
        for name, paper, target, summary, kwargs, supports in rows:
            entries[f"{name}-{kernel}"] = Entry(target, summary, {**fixed, **kwargs}, supports)
            entries[f"{paper}_{letter}"] = Entry(
                target, summary, {**fixed, **kwargs}, supports, None, f"{name}-{kernel}"
            )
    return entries


AGENTS: dict[str, Entry] = {
    "random": Entry(
        "hpo_envs.agents.random:RandomSearch",
        "random search without replacement",
        supports=("rows", "levels", "grid", "box", "arms", "cells", "objectives"),
    ),
    "box-bo": Entry(
        "hpo_envs.agents.search.bo_box:BoxBayesianOptimisation",
        "Gaussian process with fitted length-scales and expected improvement, on a box",
        supports=("box",),
    ),
    "tpe": Entry(
        "hpo_envs.agents.external.optuna:OptunaTPE",
        "tree-structured Parzen estimator of Optuna",
        supports=("box", "grid"),
        extra="optuna",
    ),
    "cmaes": Entry(
        "hpo_envs.agents.external.optuna:OptunaCMAES", "CMA-ES of Optuna", supports=("box",), extra="optuna"
    ),
    "optuna": Entry(
        "hpo_envs.agents.external.any_sampler:AnySampler",
        "any sampler of Optuna: sampler=GPSampler, QMCSampler, one of your own, ...; TPE by default",
        supports=("box", "grid", "rows", "features", "levels", "objectives"),
        extra="optuna",
        # On a leaderboard it would be a contestant for each sampler: `tpe` and `cmaes` stand there by name.
        alias_of="tpe",
    ),
    "nonadaptive": Entry(
        "hpo_envs.agents.bandits.nonadaptive:NonAdaptive",
        "all arms equally often, for a fixed budget or until confident",
        supports=("arms",),
    ),
    "sh": Entry(
        "hpo_envs.agents.bandits.elimination:SequentialHalving",
        "sequential halving: half of the arms leave each round",
        supports=("arms",),
    ),
    "sr": Entry(
        "hpo_envs.agents.bandits.elimination:SuccessiveRejects",
        "successive rejects: one arm leaves each round",
        supports=("arms",),
    ),
    "ttts": Entry("hpo_envs.agents.bandits.top_two:TTTS", "top-two Thompson sampling", supports=("arms",)),
    "t3c": Entry("hpo_envs.agents.bandits.top_two:T3C", "top-two transportation cost", supports=("arms",)),
    "ttei": Entry("hpo_envs.agents.bandits.top_two:TTEI", "top-two expected improvement", supports=("arms",)),
    "bts": Entry(
        "hpo_envs.agents.bandits.batch_thompson:BTS", "batch Thompson sampling, synchronous or not", supports=("arms",)
    ),
    "lucb": Entry("hpo_envs.agents.bandits.lucb:LUCB", "lower and upper confidence bounds", supports=("arms",)),
    "track-and-stop": Entry(
        "hpo_envs.agents.bandits.track_and_stop:TrackAndStop", "Track-and-Stop, optimal proportions", supports=("arms",)
    ),
    **_candidate_agents(),
    "regularized-evolution": Entry(
        "hpo_envs.agents.search.evolution:RegularizedEvolution",
        "regularised evolution: mutate a tournament's winner, the oldest leaves",
        supports=("rows", "levels", "grid", "cells"),
    ),
    "bagged-trees": Entry(
        "hpo_envs.agents.search.trees:BaggedTrees",
        "Bayesian optimisation with bagged boosted trees and a confidence bound",
        supports=("rows", "features", "levels"),
    ),
    "smac-like": Entry(
        "hpo_envs.agents.search.trees:ForestSearch",
        "random-forest Bayesian optimisation with interleaved random rows",
        supports=("rows", "features", "levels"),
    ),
    "tpe-features": Entry(
        "hpo_envs.agents.external.any_sampler:FeatureTPE",
        "tree-structured Parzen estimator in the space of the rows' features",
        supports=("rows", "features", "levels"),
        extra="optuna",
    ),
    "learned": Entry(
        "hpo_envs.agents.transfer.learned:LearnedAcquisition",
        "acquisition function trained across tables; knows ours unless without= leaves a language out",
        supports=("rows", "features", "levels", "grid"),
    ),
    "successive-halving": Entry(
        "hpo_envs.agents.multifidelity.hyperband:SuccessiveHalving",
        "successive halving: train many rows a little, the best of them longer",
        supports=("levels",),
    ),
    "hyperband": Entry(
        "hpo_envs.agents.multifidelity.hyperband:Hyperband",
        "Hyperband: successive halving with every trade-off of rows against resource",
        supports=("levels",),
    ),
    "asha": Entry(
        "hpo_envs.agents.multifidelity.asha:ASHA",
        "asynchronous successive halving, for parallel workers",
        supports=("levels",),
    ),
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

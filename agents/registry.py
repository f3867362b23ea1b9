"""Registry of agents: names, their settings, aliases, supported problems, slow agents, packages, construction."""

import copy
import dataclasses
import functools
import importlib
import importlib.util
import inspect
import math
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, packages_distributions, version
from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium.spaces import Box, Discrete

from hpo_envs.agents.base import Agent
from hpo_envs.agents.problem import Problem, private
from hpo_envs.tables import plugins
from hpo_envs.tables.checks import check_bool, imported, one_of, shown

LARGEST_GRAPH = 5000
"""Largest number of candidates of a graph: `similarity_graph.LARGEST`, repeated to spare the import of its module."""


@dataclass(frozen=True)
class Registration:
    """One registered agent.

    Attributes:
        target: `module:Class` to import.
        summary: One line for listings.
        kwargs: Hyperparameters that this name fixes; callers may override them.
        supports: Kinds of problems that the agent can work on: `rows` (Discrete candidates with features),
            `features` (needs candidate features), `levels` ((row, level) pairs), `grid` (MultiDiscrete values), `box`
            (continuous), `arms` (Discrete without features), `cells` (built node by node), `objectives` and
            `box-objectives` (several).
        needs: Modules of the optional packages that it needs, the one of its extra first; see `install`.
        alias_of: The readable name of which this one is an alias, if any.
        open: Whether the name stands for many agents, which differ by hyperparameter or by problem.
        slow: Kinds of problems, see the function `slow`, on which a run takes more than a second of CPU time.
        most: Largest number of candidates that it accepts; infinite: any number.
        objectives: Largest number of objectives, if it supports several.
        unseen: For an agent with trained weights, `module:function` that returns, for a problem and hyperparameters,
            whether the agent has weights that were not trained on the problem's languages.
        sources: Whether it learns from other tables and requires them, see `Problem.sources`.
        external: Whether it takes part only if named, as do plugins and most optimizers of other packages.
        picks: Names of the agents among which it chooses one.
        package: Distribution that provides the plugin; empty: this package.
    """

    target: str
    summary: str
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    supports: tuple[str, ...] = ("rows",)
    needs: tuple[str, ...] = ()
    alias_of: str | None = None
    open: bool = False
    slow: tuple[str, ...] = ()
    most: float = math.inf
    objectives: float = math.inf
    unseen: str | None = None
    sources: bool = False
    external: bool = False
    picks: tuple[str, ...] = ()
    package: str = ""

    @property
    def installed(self) -> bool:
        """Whether the optional packages that the agent needs are installed."""
        return all(importlib.util.find_spec(name) is not None for name in self.needs)

    @property
    def extra(self) -> str | None:
        """First module of `needs`, which determines the extra to install, see `install`; None without `needs`."""
        return next(iter(self.needs), None)

    @property
    def entrant(self) -> bool:
        """Whether `all` includes it if installed: not an alias, not `open`, not external, and without sources."""
        return self.alias_of is None and not (self.open or self.external or self.sources)


def _entry(target: str, supports: str, summary: str, **more: Any) -> Registration:
    return Registration(f"hpo_envs.agents.{target}", summary, supports=tuple(supports.split()), **more)


FEATURED = "rows features levels"
GRID = f"{FEATURED} grid"
CUBE = f"{GRID} box"
"""Kinds of problems, see `Registration.supports`; `GRID` is without boxes, and `FEATURED` also without grids."""


def _transfer(target: str, summary: str, objectives: float = 1, **kwargs: Any) -> Registration:
    """Return the registration of an agent that learns from other tables."""
    supports, slow = (f"{FEATURED} objectives", ("objectives",)) if objectives > 1 else (FEATURED, ())
    return _entry(target, supports, summary, sources=True, slow=slow, kwargs=kwargs, objectives=objectives)


def _external(
    target: str, supports: str, summary: str, *needs: str, quick: bool = False, **kwargs: Any
) -> Registration:
    """Return the registration of another package's optimizer, which takes part only if named."""
    slow = () if quick else ("anywhere",)
    return _entry(f"external.{target}", supports, summary, kwargs=kwargs, needs=needs, external=True, slow=slow)


def _fixed_kernels() -> dict[str, Registration]:
    """Return registrations of optimizers with a fixed kernel, by name and by alias in Zhang and Duh (2020)."""
    bo, graph = "search.bo:BayesianOptimisation", "search.graph_search:GraphSearch"
    rows = (
        ("bo-ei", "BO_EI", bo, GRID, "ei", "Gaussian process, fixed {} kernel, EI"),
        ("graph-ei", "GB_EI", graph, GRID, "ei", "finite-set process on a kNN graph, {}, EI; fitted to NMTHPO"),
        ("graph-eif", "GB_EIF", "search.graph_search:GraphInfluence", GRID, None,
         "label propagation on a graph, {}, expected influence; fitted to NMTHPO"),
        ("bo-ehvi", "BO", bo, "objectives", "ehvi", "Gaussian processes, fixed {} kernel, EHVI"),
        ("graph-ehvi", "GB", graph, "objectives", "ehvi", "finite-set processes on graphs, {}, EHVI, fitted to NMTHPO"),
    )  # fmt: skip
    entries = {}
    for letter, kernel in (("M", "matern52"), ("R", "rbf")):
        for name, paper, target, supports, acquisition, summary in rows:
            kwargs = {"kernel": kernel} | ({} if acquisition is None else {"acquisition": acquisition})
            slow = ("large",) if name == "graph-ei" else ()
            most = LARGEST_GRAPH if name.startswith("graph") else math.inf
            made = _entry(target, supports, summary.format(kernel), kwargs=kwargs, slow=slow, most=most, objectives=2)
            entries[f"{name}-{kernel}"] = made
            entries[f"{paper}_{letter}"] = dataclasses.replace(made, alias_of=f"{name}-{kernel}")
    return entries


AGENTS: dict[str, Registration] = {
    "random": _entry("random:RandomSearch", "rows levels grid box arms cells objectives box-objectives",
        "random search without replacement"),
    "box-bo": _entry("search.bo_box:BoxBayesianOptimisation", "box box-objectives",
        "Gaussian process on a box: real, integer, categorical and conditional hyperparameters", slow=("box",),
        objectives=2),
    "tpe": _entry("external.optuna.rows:TPE", "box grid rows features levels",
        "tree-structured Parzen estimator of Optuna; on rows its densities at every candidate",
        needs=("optuna",), slow=("box",)),
    "cmaes": _entry("external.optuna.samplers:CMAES", "box", "CMA-ES of Optuna", needs=("optuna",), slow=("box",)),
    "optuna": _entry("external.optuna.samplers:AnySampler", "box grid rows features levels objectives",
        "any sampler of Optuna: sampler=GPSampler, QMCSampler, one of your own, ...; TPE by default",
        needs=("optuna",), open=True),
    "nonadaptive": _entry("bandits.nonadaptive:NonAdaptive", "arms",
        "all arms equally often, for a fixed budget or until confident"),
    "sh": _entry("bandits.elimination:SequentialHalving", "arms",
        "sequential halving: half of the arms leave each round"),
    "sr": _entry("bandits.elimination:SuccessiveRejects", "arms", "successive rejects: one arm leaves each round"),
    "ttts": _entry("bandits.top_two:TTTS", "arms", "top-two Thompson sampling"),
    "t3c": _entry("bandits.top_two:T3C", "arms", "top-two transportation cost"),
    "ttei": _entry("bandits.top_two:TTEI", "arms", "top-two expected improvement"),
    "bts": _entry("bandits.batch_thompson:BTS", "arms", "batch Thompson sampling, synchronous or not"),
    "lucb": _entry("bandits.lucb:LUCB", "arms", "lower and upper confidence bounds"),
    "track-and-stop": _entry("bandits.track_and_stop:TrackAndStop", "arms", "Track-and-Stop, optimal proportions"),
    "bo": _entry("search.bo:BayesianOptimisation", f"{GRID} objectives",
        "Gaussian-process optimisation with fitted length-scales, EI or EHVI",
        kwargs={"fit": True}, slow=("objectives",), objectives=2),
    "bo-spread": _entry("search.bo:BayesianOptimisation", f"{GRID} objectives",
        "bo started from two candidates in the middle; the best untrained one on few evaluations",
        kwargs={"fit": True, "design": "spread", "initial": 2}, slow=("objectives",), objectives=2),
    "bo-ucb": _entry("search.bo:BayesianOptimisation", GRID,
        "Gaussian process, fixed kernel, upper confidence bound", kwargs={"acquisition": "ucb"}),
    "bo-thompson": _entry("search.bo:BayesianOptimisation", GRID,
        "Gaussian process, fixed kernel, Thompson sampling", kwargs={"acquisition": "thompson"}, slow=("large",)),
    **_fixed_kernels(),
    "regularized-evolution": _entry("search.evolution:RegularizedEvolution", "rows levels grid cells",
        "regularised evolution: mutate a tournament's winner, the oldest leaves"),
    "bagged-trees": _entry("search.trees:BaggedTrees", FEATURED,
        "Bayesian optimisation with bagged boosted trees and a confidence bound", slow=("large",)),
    "smac-like": _entry("search.trees:ForestSearch", FEATURED,
        "random-forest Bayesian optimisation with interleaved random rows"),
    "learned": _entry("transfer.learned:Learned", GRID,
        "Gaussian process stacked on other tables, with numbers trained on whole runs over tables of other languages",
        unseen="hpo_envs.agents.transfer.learned:has_unseen"),
    "learned-policy": _entry("transfer.policy:Policy", GRID,
        "acquisition function tuned by reinforcement learning, with a prior from tables of other languages",
        unseen="hpo_envs.agents.transfer.policy:has_unseen"),
    "in-context": _entry("transfer.policy:InContext", GRID,
        "network that learned to search from the history of a run, on tables of other families",
        unseen="hpo_envs.agents.transfer.policy:has_unseen_context"),
    "ridge": _transfer("transfer.ridge:Ridge",
        "candidates in the order of a quadratic function fitted to other tables"),
    "zero-shot": _transfer("transfer.ranked:ZeroShot",
        "candidates in the order of other tables' mean predicted score"),
    "portfolio": _transfer("transfer.ranked:Portfolio", "greedy portfolio over other tables"),
    "rgpe": _transfer("transfer.rgpe:RGPE", "ensemble of models of other tables, weighted by how they rank"),
    "quantile-copula": _transfer("transfer.quantile:QuantileCopula",
        "Gaussian copula process around other tables' predictions"),
    "stacked-gp": _transfer("transfer.stacked:StackedGPAgent",
        "Gaussian process with other tables in mean and kernel", 2),
    "warm-gp": _transfer("search.bo:BayesianOptimisation", "bo that begins with the best of other tables", 2,
        fit=True, initial=4),
    "tst-tpe": _transfer("transfer.task_tpe:TaskTPE", "Parzen estimator mixed over tasks by their similarity",
        math.inf),
    "auto": _entry("transfer.auto:Auto", f"{CUBE} arms cells objectives box-objectives",
        "the agent that was best on problems of this kind; the default of tune", open=True,
        picks=("asha", "bo", "bo-spread", "box-bo", "freeze-thaw", "learned", "quantile-copula", "random",
            "regularized-evolution", "sh", "smac-like", "stacked-gp", "ttts", "warm-gp")),
    "successive-halving": _entry("multifidelity.hyperband:SuccessiveHalving", "levels",
        "successive halving: train many rows a little, the best of them longer"),
    "hyperband": _entry("multifidelity.hyperband:Hyperband", "levels",
        "Hyperband: successive halving with every trade-off of rows against resource"),
    "freeze-thaw": _entry("multifidelity.freeze_thaw:FreezeThaw", "features levels",
        "freeze-thaw Bayesian optimisation: pauses and continues runs by their curves, and by other tables' curves",
        slow=("sources",)),
    "curve-ranker": _entry("multifidelity.curve_ranker:CurveRanker", "levels",
        "successive halving whose survivors a trained network chooses by their learning curves",
        unseen="hpo_envs.agents.multifidelity.curve_ranker:has_unseen"),
    "asha": _entry("multifidelity.asha:ASHA", "levels", "asynchronous successive halving, for parallel workers"),
    "botorch": _external("botorch:BoTorch", GRID, "BoTorch's Gaussian process, LogEI at every candidate", "botorch"),
    "botorch-nei": _external("botorch:BoTorch", GRID, "BoTorch's Gaussian process, qLogNEI at every candidate",
        "botorch", acquisition="qLogNEI"),
    "botorch-nehvi": _external("botorch:BoTorch", "objectives",
        "BoTorch's Gaussian processes, qLogNEHVI at every candidate", "botorch", acquisition="qLogNEHVI"),
    "smac": _external("smac:SMAC", CUBE, "SMAC3's random-forest facade, its EI at every candidate", "smac"),
    "smac-mf": _external("smac:SMAC", "levels", "SMAC3's multi-fidelity facade, its EI at every candidate", "smac",
        facade="multi-fidelity"),
    "nevergrad": _external("nevergrad:Nevergrad", CUBE, "Nevergrad's NGOpt, looked up among rows", "nevergrad",
        quick=True),
    "ax": _external("ax:Ax", CUBE, "Ax's client, looked up among rows", "ax"),
    "optuna-gp": _external("optuna.rows:GP", f"{FEATURED} objectives",
        "Optuna's Gaussian process, LogEI or LogEHVI at every candidate", "optuna", "torch"),
    "syne-cqr": _external("syne_tune:SyneTune", CUBE,
        "Syne Tune's conformal quantile regression, looked up among rows", "syne_tune", "xgboost", scheduler="CQR"),
    "syne-asha": _external("syne_tune:SyneTune", "levels", "Syne Tune's ASHA, looked up among rows", "syne_tune",
        quick=True, scheduler="ASHA"),
    "syne-bohb": _external("syne_tune:SyneTune", "levels", "Syne Tune's BOHB, looked up among rows",
        "syne_tune", "statsmodels", scheduler="BOHB"),
    "dehb": _external("dehb:DEHB", "levels", "DEHB, looked up among rows", "dehb", quick=True),
}  # fmt: skip
"""Registrations of all agents of this package by name, including aliases and other packages' optimizers."""


def names() -> list[str]:
    """Return the sorted names of all registered agents and plugins, without aliases; warn of plugins of equal names."""
    for name in sorted(AGENTS.keys() & (found := plugins.of("agents")).keys()):
        warnings.warn(f"plugins must have names of their own, got {name} of {found[name].package}", stacklevel=2)
    return sorted({name for name, e in AGENTS.items() if e.alias_of is None} | found.keys() - AGENTS.keys())


def entry(name: str) -> Registration:
    """Return the registry entry of an agent; a plugin is imported, and supports nothing if that fails.

    Raises:
        ValueError: The agent is unknown; the message suggests the nearest name.
    """
    if (plugin := _plugin(name)) is not None:
        return _of_plugin(plugin)
    return AGENTS[one_of("agent", name, AGENTS, listed="those that `hpo-envs list --agents` shows")]


def _plugin(name: str) -> plugins.Plugin | None:
    """Return the plugin with a name; None if there is none, or if an agent of this package has the name."""
    return plugins.of("agents").get(name) if isinstance(name, str) and name not in AGENTS else None


@functools.cache
def _of_plugin(plugin: plugins.Plugin) -> Registration:
    """Return the registry entry of a plugin; one that cannot be imported or names an unknown kind supports nothing."""
    made = plugin.loaded()
    if made is None:
        return Registration(plugin.target, "cannot be imported", supports=(), external=True, package=plugin.package)
    summary = (inspect.getdoc(made) or "no docstring").partition("\n")[0]
    supports = tuple(getattr(made, "supports", ())) or _kinds()
    if unknown := [word for word in supports if word not in _kinds()]:
        warnings.warn(
            f"supports of plugin {plugin.name} must be among {', '.join(_kinds())}, got {unknown[0]!r}", stacklevel=4
        )
        supports = ()
    return Registration(plugin.target, summary, supports=supports, external=True, package=plugin.package)


def version_of(agent: str) -> dict[str, str]:
    """Return {name: version} of a plugin's distribution or of an agent's first optional package.

    The dict is empty for a `module:factory`, for an agent without such a package, and if it is not installed.
    """
    if (plugin := _plugin(agent)) is not None:
        return {plugin.package: plugin.version}
    extra = entry(agent).extra if ":" not in agent else None
    if extra is None:
        return {}
    try:
        return {extra: version(extra)}
    except PackageNotFoundError:  # published under another name
        return {name: version(name) for name in packages_distributions().get(extra, [])}


EXTRAS = {
    **dict.fromkeys(("ax", "botorch", "nevergrad", "smac"), "optimizers"),
    **{"cmaes": "optuna", "statsmodels": "syne_tune", "torch": "live", "xgboost": "syne_tune"},
}
"""Extra that installs a package, by the name of the package, where the two names differ."""


def install(package: str) -> str:
    """Return the command (for DEHB, with a remark) that installs the package of an optional module."""
    if package == "dehb":  # it asks for NumPy below 2, and does not need it
        return "pip install --no-deps dehb, and what `.ci/bench.txt` lists"
    return f'pip install "hpo_envs[{EXTRAS.get(package, package)}]"'


def fits(name: str, problem: Problem, /, **hyperparameters: Any) -> bool:
    """Return whether an agent supports a problem; its packages need not be installed.

    The agent must support the kind of the problem and the numbers of objectives and of candidates. If it
    needs sources, one must share a feature with the problem; if it has trained weights, some must be trained on none of
    the problem's languages, unless `hyperparameters` allow others.

    Raises:
        ValueError: The agent is unknown.
    """
    e = entry(name)
    if not _supports(e.supports, problem) or problem.objectives > e.objectives:
        return False
    if math.isfinite(e.most) and problem.rows > e.most:
        return False
    if e.sources and not any(s.shared(problem.feature_names)[0] for s in problem.sources):
        return False
    return e.unseen is None or bool(load(e.unseen)(problem, **{**e.kwargs, **hyperparameters}))


def supported(agent: str, supports: Sequence[str], problem: Problem) -> bool:
    """Return whether `supports`, the kinds of problems of an unregistered agent (empty: all), include a problem.

    Raises:
        ValueError: A kind of problem is unknown.
    """
    for word in supports:
        one_of(f"supports of {agent}", word, _kinds())
    return not supports or _supports(tuple(supports), problem)


def _kinds() -> tuple[str, ...]:
    return tuple(sorted({word for e in AGENTS.values() for word in e.supports}))


def _supports(supports: tuple[str, ...], problem: Problem) -> bool:
    if problem.levels is not None:
        kind = "levels"
    elif problem.mutate is not None:
        kind = "cells"
    elif isinstance(problem.action_space, Discrete):
        kind = "arms" if problem.features is None else "rows"
    else:
        kind = "box" if isinstance(problem.action_space, Box) else "grid"
    if problem.objectives == 1:
        return kind in supports
    # Agents for several objectives support rows, levels and grids without naming them.
    wanted = {"box-objectives" if isinstance(problem.action_space, Box) else "objectives"}
    return wanted | {kind} & {"arms", "cells"} <= {*supports}


def factory(agent: str) -> Callable[..., Agent]:
    """Return the function that makes agents of a name or `module:factory` from (problem, seed, **hyperparameters).

    Raises:
        ValueError: The factory cannot be imported, or is not callable.
    """
    if ":" not in agent:
        return functools.partial(make, agent)
    return imported("agent", agent)  # type: ignore[no-any-return]


def slow(name: str, problem: Problem) -> bool:
    """Return whether a run of an agent takes over a second of CPU time, as measured on the suite's ids.

    Its entry names the problems: `anywhere`, on a `box`, `large` ones (a base of 1,000 rows or more), with several
    `objectives` and a budget of at least 100 or none, with `sources`; on cells every agent is slow, because evaluations
    are.

    Raises:
        ValueError: The agent is unknown.
    """
    where = {
        "anywhere": True,
        "box": isinstance(problem.action_space, Box),
        "large": problem.base is not None and len(problem.base) >= 1000,
        "objectives": problem.objectives > 1 and (problem.budget or math.inf) >= 100,
        "sources": bool(problem.sources),
    }
    return problem.mutate is not None or any(where[kind] for kind in entry(name).slow)


def make_each(
    agent: str | Callable[..., Agent], problem: Problem, seeds: Sequence[int], hyperparameters: Mapping[str, Any],
    rows: npt.NDArray[Any] | None = None,
) -> Iterator[Agent]:  # fmt: skip
    """Yield an agent for each seed.

    Args:
        agent: A factory, or an argument of the function `factory`.
        problem: The shared problem, see `problem.sealed`.
        seeds: One per agent.
        hyperparameters: Arguments of each agent; lists, dicts, sets and arrays are copied.
        rows: (seeds, k) rows of the problem's base for each agent; None: the candidates of the problem.
    """
    made, mutable = factory(agent) if isinstance(agent, str) else agent, (list, dict, set, np.ndarray)
    for seed, own in zip(seeds, [None] * len(seeds) if rows is None else rows, strict=True):
        copies = {k: copy.deepcopy(v) if isinstance(v, mutable) else v for k, v in hyperparameters.items()}
        yield as_agent(made(private(problem, seed, own), seed, **copies))


def as_agent(made: Any) -> Agent:
    """Return what a factory made; ValueError if it has no `ask`."""
    if not callable(getattr(made, "ask", None)):
        raise ValueError(f"agent must be a factory of objects with ask, tell and recommend, got {shown(made)} of it")
    return made  # type: ignore[no-any-return]


def make(
    name: str, problem: Problem, seed: int, *, features: str | tuple[str, ...] = "", resource: float | None = None,
    **hyperparameters: Any,
) -> Agent:  # fmt: skip
    """Make an agent.

    Args:
        name: A registered name, see `names()`.
        problem: The problem.
        seed: Seed of the agent's generator.
        features: Prefix, or several, of the names of the features that the agent uses; all by default.
        resource: Longest training of one configuration in units of the first checkpoint; default: up to the last one.
        **hyperparameters: The agent's own arguments, see its class docstring.

    Raises:
        ValueError: The agent does not exist, it needs source tasks and the problem has none, there are no such
            features, the resource is not positive, or the agent does not accept the problem or a value.
        TypeError: The agent takes no such hyperparameter.
        ModuleNotFoundError: An optional package that the agent needs is not installed.
    """
    e = entry(name)
    if e.sources and not problem.sources:
        raise ValueError(f"sources must be given to {name}, which learns from other tables (transfer=), got none")
    seen = problem.with_features(features).with_resource(resource)
    for option in _switches(e.target) & hyperparameters.keys():
        check_bool(option, hyperparameters[option])
    agent: Agent = load(e.target)(seen, seed, **{**e.kwargs, **hyperparameters})
    return agent


@functools.cache
def _switches(target: str) -> set[str]:
    """Return the arguments of an agent, and of its bases, to which it passes others, that are True or False."""
    parts = getattr(made := load(target), "__mro__", (made, object))[:-1]
    every = [p for part in parts for p in inspect.signature(part).parameters.values()]
    return {p.name for p in every if isinstance(p.default, bool)}


def load(target: str) -> Any:
    """Return the object that `module:name` names."""
    module, _, name = target.partition(":")
    return getattr(importlib.import_module(module), name)

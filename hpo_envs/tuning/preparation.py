"""Preparation of a search from arguments of `tune`: checks, parameters, agent, points, source tasks, header."""

import contextlib
import dataclasses
import inspect
import itertools
import json
import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from hpo_envs import agents
from hpo_envs.agents import Agent, Problem, Source
from hpo_envs.agents.registry import as_agent, load
from hpo_envs.benchmarks.analysis.scales import Scales
from hpo_envs.benchmarks.runs.limits import one_blas_thread
from hpo_envs.benchmarks.runs.provenance import called, data_of, header_of, imprecise
from hpo_envs.core.engines.function.calls import resolve, takes_trial
from hpo_envs.core.engines.function.params import FunctionParams, count_of, metrics_of
from hpo_envs.core.family import Spec
from hpo_envs.core.params import check_int
from hpo_envs.tables.checks import nearest, scalar, shown
from hpo_envs.tuning import prior
from hpo_envs.tuning.constraints import checked
from hpo_envs.tuning.record import ADDRESS, CHECKPOINTS, NAME, SearchRecord, decoded, encoded

IDS = tuple(
    Spec(f"{name}-v0", (), vector_entry_point="hpo_envs.tuning.tune", family=name)
    for name in ("FunctionHPO", "FunctionLC")
)
"""Specifications for the header of a search: actions without and with a fidelity."""

ELSEWHERE = {
    "direction": "goal", "directions": "goal", "mode": "goal", "metric": "objective", "n_trials": "budget",
    "num_samples": "budget", "max_evals": "budget", "n_jobs": "workers", "sampler": "agent", "algo": "agent",
    "pruner": "epochs", "storage": "out", "study_name": "out", "search_space": "space", "enqueue": "points",
    "catch": "tolerate",
}  # fmt: skip
"""Names of arguments in other packages -> the corresponding argument of `tune`."""

KNOWN = 4
"""Number of best known configurations to evaluate first: divided by the number of source tasks and rounded up."""


def external(config: Mapping[str, Any], trial: Any = None) -> float:
    """Placeholder for the function of a search by ask and tell.

    Raises:
        RuntimeError: Always: the caller evaluates.
    """
    raise RuntimeError("a search without a function must be given its scores by search.tell(trial, score)")


@dataclasses.dataclass(frozen=True)
class Preparation:
    """The parts of a search, before its first evaluation.

    Attributes:
        params: The function, its search space and its objectives.
        agent: The agent, before any observation.
        points: Initial configurations: the user's, then the best of the source tasks.
        header: Settings of the search as plain data, see `SearchRecord`.
        steps: Largest number of steps of a training; None: unknown.
    """

    params: FunctionParams
    agent: Agent
    points: list[dict[str, Any]]
    header: dict[str, Any]
    steps: int | None

    @classmethod
    def of(
        cls, folder: Path, salt: int, /, function: Any, space: Any, *,
        agent: str | Callable[..., Agent] | None = None, budget: float | None = None, budget_unit: str | None = None,
        workers: int = 1, objective: str | tuple[str, ...] = "score", goal: str | tuple[str, ...] = "max",
        bounds: Any = None, best: float | tuple[float, ...] | None = None,
        reference: float | tuple[float, ...] | None = None, epochs: int | None = None, candidates: int | None = None,
        seed: int = 0, sources: Iterable[Any] = (), points: Iterable[Mapping[str, Any]] = (),
        constraints: Mapping[str, tuple[str, float]] | None = None, **hyperparameters: Any,
    ) -> "Preparation":  # fmt: skip
        """Prepare a search in a folder from arguments of `tune`; `function` is None for a search by ask and tell.

        `salt` is added to the agent's seed, so that processes that share a search suggest different configurations.

        Raises:
            ValueError: An argument is invalid.
            FileNotFoundError: A folder in `sources` holds no search.
        """
        sources, agent, function = tuple(sources), agent or "auto", external if function is None else function
        budget, epochs, candidates, seed = map(scalar, (budget, epochs, candidates, seed))
        if not (isinstance(agent, str) or callable(agent)):
            raise ValueError(f"agent must be a name or a factory, got {shown(agent)}")
        if epochs is not None:
            check_int("epochs", epochs)
        check_int("seed", seed, 0)
        check_int("workers", scalar(workers))

        metrics_of(objective, goal, bounds)
        unit = budget_unit or ("evaluations" if epochs is None else "epochs")
        actions = _actions(agent, epochs, candidates, objective, function, budget)
        if function is external and actions != "box" and epochs is not None:
            rule = "None without a function, unless the agent searches the whole space for one objective"
            raise ValueError(f"epochs must be {rule}, got {epochs}")
        if candidates is None and (folder / NAME).is_file():
            candidates = int(SearchRecord(folder).header["candidates"])
        count = count_of(candidates, budget, epochs or 1 if unit == "epochs" else 1)
        params = FunctionParams.of(
            function, space, actions=actions, epochs=epochs, trials=True, budget=budget, budget_unit=unit,
            objective=objective, goal=goal, bounds=bounds, best=best, reference=reference, candidates=count,
            candidate_seed=seed, checkpoints=folder / CHECKPOINTS,
        )  # fmt: skip
        limits = checked(constraints) if constraints else {}
        handed, known = _sources(sources, params, limits)
        problem = Problem(**params.problem(), sources=handed)
        with one_blas_thread(), _unknown_names():
            made = _make_agent(agent, problem, seed + salt, hyperparameters, workers)
        header = {**_header(params, agent, hyperparameters, seed, epochs), "candidates": count}
        if limits:
            header["constraints"] = limits
        if bounds is not None:
            header["bounds"] = {m.name: [m.low, m.high] for m in params.rewarded}
        if found := imprecise({**header["run"]["agent_source"], **header["run"]["environment_source"]}):
            text = "what the function or agent needs could not be found in its source"
            warnings.warn(f"{text}: any change of {', '.join(found)} will stop this search from resuming", stacklevel=5)
        if agent == "auto":
            header["picked"] = load("hpo_envs.agents.transfer.auto:chosen")(problem, hyperparameters.get("late", True))
        name = header.get("picked", agent)
        first = params.kind == "box" and made.listens
        if sources and not first and isinstance(name, str) and not _transfers(name, handed):
            warnings.warn(f"{name} does not learn from sources", stacklevel=5)
        begin = [*_points(points, params, made), *(known if first else ())]
        begin = [*{repr(config): config for config in begin}.values()]  # 1 and True may be two choices
        return cls(params, made, begin, header, epochs)


@contextlib.contextmanager
def _unknown_names() -> Iterator[None]:
    """Replace the `TypeError` of an unknown argument by a `ValueError`, which suggests a similar name, if any."""
    try:
        yield
    except TypeError as error:
        found = re.search(r"unexpected keyword argument '(\w+)'", str(error))
        if found is None:
            raise
        name, known = found[1], inspect.signature(load("hpo_envs.tuning.tune:tune")).parameters
        use = f": use {ELSEWHERE[name]}" if name in ELSEWHERE else nearest(name, known)
        raise ValueError(f"arguments must be those of tune or of the agent, got {name!r}{use}") from None


def _points(points: Iterable[Mapping[str, Any]], params: FunctionParams, agent: Agent) -> list[dict[str, Any]]:
    """Check the start points and return them with natural values; a mapping is a single point."""
    given = [points] if isinstance(points, Mapping) or not np.iterable(points) else [*points]
    for point in given:
        if not isinstance(point, Mapping):
            raise ValueError(f"points must be configurations as mappings, got {shown(point)}")
    if given and (params.kind != "box" or not agent.listens):
        raise ValueError("points must be left out for agents that choose from candidates or plan alone, got some")
    try:
        return [params.points.config(params.points.row(point)) for point in given]
    except ValueError as error:
        raise ValueError(f"points must be in the search space: {error}") from None


def _actions(agent: Any, epochs: int | None, candidates: Any, objective: Any, function: Any, budget: Any) -> str:
    """Return the kind of actions for an agent: `box` (values of hyperparameters) or `candidates`.

    Factories, and all agents with a given number of `candidates`, choose from candidates. `auto` searches the whole
    space, unless there are more than two objectives, or more than one with epochs. Other agents that support both
    choose from candidates if there is a budget; without one, candidates could be exhausted. With epochs, they search
    the whole space, unless they can resume trainings and the function does not report to a trial.
    """
    if not isinstance(agent, str) or candidates is not None:
        return "candidates"
    reports = epochs is not None and takes_trial(resolve(function))
    if agent == "auto":
        few = isinstance(objective, str) or len(objective) <= 2
        single = isinstance(objective, str)
        return "box" if (few if epochs is None else single) else "candidates"
    supports = {*agents.entry(agent).supports}
    if epochs is not None:
        return "box" if "box" in supports and (reports or "levels" not in supports) else "candidates"
    return "candidates" if {"rows", "objectives"} & supports and (budget or "box" not in supports) else "box"


def _sources(
    given: tuple[Any, ...], params: FunctionParams, constraints: Mapping[str, Any]
) -> tuple[tuple[Source, ...], list[dict[str, Any]]]:
    """Return the source tasks and the configurations to evaluate first: on a box, the best of each source in turn."""
    handed, bests, moved = list[Source](), list[list[dict[str, Any]]](), list[str]()
    for each in given:
        most = -(-KNOWN // len(given))
        found, said = prior.bests(each, params, most, constraints) if params.kind == "box" else ([], [])
        bests.append(found)
        moved += said
        try:
            handed.append(prior.source(each, params))
        except ValueError:
            if not found:
                raise
    if moved:
        warnings.warn(f"known bests are moved into the search space: {', '.join(moved)}", stacklevel=6)
    rounds = itertools.chain.from_iterable(itertools.zip_longest(*bests))
    return tuple(handed), [config for config in rounds if config is not None]


def _transfers(agent: str, sources: tuple[Source, ...]) -> bool:
    """Return whether a registered agent learns from these source tasks."""
    if agent == "freeze-thaw":
        return any(s.curves is not None for s in sources)
    return agents.entry(agent).sources or agent == "learned"


def _make_agent(agent: Any, problem: Problem, seed: int, hyperparameters: dict[str, Any], workers: int) -> Agent:
    """Create the agent; raise a ValueError if it does not support the problem or several workers."""
    if not isinstance(agent, str):
        made = agent(problem, seed, **hyperparameters)
    else:
        if not agents.fits(agent, problem, **hyperparameters):
            fit = [n for n in agents.names() if agents.fits(n, problem)]
            raise ValueError(f"agent must be one that works on this problem ({', '.join(fit)}), got {agent!r}")
        given = {"late": True, **hyperparameters} if agent == "auto" else hyperparameters
        made = agents.make(agent, problem, seed, **given)
    made = as_agent(made)
    if workers > 1 and not made.parallel:
        raise ValueError(f"workers must be 1 for {type(made).__name__}, which needs each result first, got {workers}")
    return made


def _header(
    params: FunctionParams, agent: str | Callable[..., Agent], hyperparameters: dict[str, Any], seed: int,
    epochs: int | None,
) -> dict[str, Any]:  # fmt: skip
    """Return the settings of the search that its parameters and its agent determine, as plain data."""
    p, table = params, params.table
    objects = []
    for h in p.points.space:
        texts = [json.dumps(encoded(v)) for v in h.values]
        if len({*texts}) < len(texts) or any(ADDRESS in text for text in texts):
            rule = "differ as texts, and have the same ones in each process (__str__)"
            raise ValueError(f"choices of {h.name} must {rule}, got {', '.join(texts)}")
        objects += [h.name] if repr([*map(decoded, json.loads(f"[{', '.join(texts)}]"))]) != repr([*h.values]) else []
    spec = IDS[p.levels is not None]
    run = header_of(p, spec, {"function": p.function}, agent, hyperparameters)
    if hasattr(p.function, "digests"):
        run["environment_source"] |= p.function.digests(p.points.space)
    run |= {"table": table.name, "kind": table.provenance.kind, "sha256": table.provenance.sha256, "seed": seed}
    run["scale"] = Scales(spec.id, p, {}).of(0).header()
    header = {
        "function": called(p.function),
        "space": [{k: encoded(v) for k, v in dataclasses.asdict(h).items()} for h in p.points.space],
        "objectives": list(p.objectives), "goals": [m.goal for m in p.rewarded], "epochs": epochs,
        "agent": run["agent"], "hyperparameters": run["hyperparameters"], "seed": seed, "budget": float(p.budget),
        "budget_unit": p.budget_unit, "cost_unit": p.cost_unit, "actions": p.kind,
        **({"program": p.function.options} if hasattr(p.function, "options") else {"data": data_of(p.function)}),
        **({"objects": objects} if objects else {}), "run": run,
    }  # fmt: skip
    plain: dict[str, Any] = json.loads(json.dumps(header, default=str))
    return plain

"""Tuning of a function: an agent suggests configurations, workers call the function, a record stores the results."""

import contextlib
import dataclasses
import inspect
import json
import os
import re
import tempfile
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_limits

from hpo_envs import agents
from hpo_envs.agents import Agent, Problem
from hpo_envs.agents.base import whole
from hpo_envs.agents.registry import load
from hpo_envs.benchmarks.analysis.scales import Scales
from hpo_envs.benchmarks.runs.limits import one_blas_thread
from hpo_envs.benchmarks.runs.provenance import called, header_of, imprecise
from hpo_envs.core.engines.function.params import FunctionParams, count_of
from hpo_envs.core.family import Spec
from hpo_envs.tables.checks import nearest, scalar
from hpo_envs.tables.files import atomic
from hpo_envs.tables.files.lock import locked
from hpo_envs.tables.table import is_number
from hpo_envs.tuning import prior
from hpo_envs.tuning.record import NAME, SearchRecord, apart, encoded
from hpo_envs.tuning.search import Search
from hpo_envs.tuning.tuned import Tuned
from hpo_envs.tuning.workers import check_main, executor_of

IDS = tuple(Spec(f"{name}-v0", (), vector_entry_point=__name__, family=name) for name in ("FunctionHPO", "FunctionLC"))
"""Id of a search, without and with training by epochs."""


ELSEWHERE = {
    "direction": "goal", "directions": "goal", "mode": "goal", "metric": "objective", "n_trials": "budget",
    "num_samples": "budget", "max_evals": "budget", "n_jobs": "workers", "timeout": "seconds (of one evaluation)",
    "sampler": "agent", "algo": "agent", "pruner": "epochs and agent='asha'", "storage": "out", "study_name": "out",
    "search_space": "space", "enqueue": "points", "catch": "tolerate",
}  # fmt: skip
"""Names that other packages have for arguments of `tune`."""


def tune(
    function: Any,
    space: Any,
    *,
    agent: str | Callable[..., Agent] | None = None,
    budget: float = 50,
    budget_unit: str | None = None,
    workers: int = 1,
    out: str | Path | None = None,
    executor: Any = "auto",
    objective: str | tuple[str, ...] = "score",
    goal: str | tuple[str, ...] = "max",
    bounds: Any = None,
    best: float | tuple[float, ...] | None = None,
    reference: float | tuple[float, ...] | None = None,
    epochs: int | None = None,
    candidates: int | None = None,
    seconds: float | None = None,
    seed: int = 0,
    sources: Iterable[Any] = (),
    points: Iterable[Mapping[str, Any]] = (),
    tolerate: bool = False,
    progress: bool | None = None,
    accept_changed: bool = False,
    **hyperparameters: Any,
) -> Tuned:
    """Tune your function.

    Each evaluation is on the disk before the agent is asked for the next one. A search that was killed, stopped or
    given a larger budget goes on where it was when `tune` is called again with the same folder: evaluations that ended
    are told to the agent as they came, those that had only begun are carried out again, and count once.

    What the function raises, a score that is not finite, a process that dies and an evaluation that takes too
    long are failed evaluations: their traceback is kept, and they count.

    Args:
        function: `train(config)` that returns a score, or a mapping with it; or, with `epochs`, a generator that yields
            scores, or `train(config, resume_from, epochs)`; see the pages of `FunctionHPO-v0` and `FunctionLC-v0`.
            `module:name` will do.
        space: Search space, as in `FunctionHPO-v0`.
        agent: Registered name, or a factory `(problem, seed, **hyperparameters) -> Agent`, which gets candidates;
            default: `auto`.
        budget: What may be spent, in `budget_unit`.
        budget_unit: `evaluations`, `cost`, or with `epochs` also `epochs`; default: `evaluations`, with `epochs` these.
        workers: Evaluations at the same time.
        out: Folder of the search; None keeps it in a temporary one.
        executor: `serial`, `processes`, `threads` or `auto`; or any `concurrent.futures.Executor` (Dask's, loky's,
            submitit's, ...), or a factory of one, which replaces a pool that breaks; `workers` says how many
            evaluations it gets at once.
        objective: Name of the score, or a tuple of names.
        goal: `max` or `min`, one for each.
        bounds: What scores can be, as in `FunctionHPO-v0`.
        best: Best known score; with `reference`, the report shows normalised regret, else raw scores. A resumed search
            keeps its scale.
        reference: Median score.
        epochs: The most that a configuration is trained.
        candidates: Number of candidates, as in `FunctionHPO-v0`.
        seconds: How long an evaluation may take; None: as long as it takes.
        seed: Of the agent, and of the candidates.
        sources: What is known from elsewhere, for agents that transfer: tables, frames, Optuna studies, earlier
            searches or their folders.
        points: Configurations to begin with, for agents that search the whole space, as the default one does.
        tolerate: Whether to go on where the first evaluations, as many as there are workers, all fail by the same
            mistake: a NameError, TypeError, KeyError or the like, or no score. Otherwise the search stops, and nothing
            of it is kept.
        progress: Whether to show a bar with the incumbent, and failures; None: where there is a terminal, elsewhere
            a line for each evaluation.
        accept_changed: Whether a search with changed code, or other versions, is begun in a folder within `out`, named
            by the code; it goes on there when `tune` is called again. Otherwise it is refused.
        **hyperparameters: Arguments of the agent.

    Returns:
        What was found: `.best`, `.to_frame()`, `.plot()`.

    Raises:
        ValueError: An argument breaks its rule, the agent cannot work on the problem, the folder holds another
            search, or one with other code, or is in use; or the function has a mistake, see `tolerate`.
        RuntimeError: A program that tunes with processes does not keep to `if __name__ == "__main__":`.
    """
    check_main()
    workers, sources = whole("workers", workers, 1), tuple(sources)
    budget, seconds, epochs, candidates, seed = map(scalar, (budget, seconds, epochs, candidates, seed))
    if seconds is not None and not (is_number(seconds) and seconds > 0):
        raise ValueError(f"seconds must be None or a number > 0, got {seconds!r}")
    unit = budget_unit or ("evaluations" if epochs is None else "epochs")
    agent = agent or "auto"
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="hpo_envs-")) if out is None else out)
        folder.mkdir(parents=True, exist_ok=True)
        for name in (NAME, "checkpoints"):
            atomic.inside(folder, folder / name)
        try:
            stack.enter_context(locked(folder, wait=False))
        except BlockingIOError:
            raise ValueError(f"out must be a folder that no other process tunes in, got {folder}") from None
        count = _count(folder, candidates, budget, epochs if unit == "epochs" else None)
        params = FunctionParams.of(
            function,
            space,
            actions=_actions(agent, epochs, candidates, objective, sources),
            epochs=epochs,
            budget=budget,
            budget_unit=unit,
            objective=objective,
            goal=goal,
            bounds=bounds,
            best=best,
            reference=reference,
            candidates=count,
            candidate_seed=seed,
            checkpoints=folder / "checkpoints",
        )
        problem = Problem(**params.problem(), sources=tuple(prior.source(s, params) for s in sources))
        with one_blas_thread(), _unknown_names():
            hired = _hire(agent, problem, seed, hyperparameters, workers)
        begin = _points(points, params, hired)
        header = {**_header(params, agent, hyperparameters, seed), "candidates": count}
        _warn(header["run"])
        if agent == "auto":
            header["picked"] = load("hpo_envs.agents.transfer.auto:chosen")(problem, hyperparameters.get("late", True))
        if accept_changed:
            folder, header = apart(folder, header)
            params = dataclasses.replace(params, folder=folder / "checkpoints")
        record = SearchRecord(folder, header)
        search = Search(params, hired, record, seconds, progress, begin, tolerate)
        if search.unfinished:
            stack.enter_context(_inner_threads(workers))
            search.run(stack.enter_context(executor_of(executor, workers, params.function)), workers)
    evaluations = tuple(dataclasses.replace(e, config=search.config(e)) for e in record.evaluations)
    return Tuned(record.header, evaluations, None if out is None else folder)


def _warn(run: Mapping[str, Any]) -> None:
    """Warn if more files than those of the function and the agent count as their code."""
    if found := imprecise({**run["agent_source"], **run["environment_source"]}):
        text = "what the function or agent needs could not be found in its source"
        warnings.warn(f"{text}: any change of {', '.join(found)} will stop this search from resuming", stacklevel=3)


@contextlib.contextmanager
def _unknown_names() -> Iterator[None]:
    """Raise for arguments of neither `tune` nor the agent, and suggest a name.

    Raises:
        ValueError: The agent was made with one.
    """
    try:
        yield
    except TypeError as error:
        found = re.search(r"unexpected keyword argument '(\w+)'", str(error))
        if found is None:
            raise
        name, known = found[1], inspect.signature(tune).parameters
        use = f": use {ELSEWHERE[name]}" if name in ELSEWHERE else nearest(name, known)
        raise ValueError(f"arguments must be those of tune or of the agent, got {name!r}{use}") from None


def _points(points: Iterable[Mapping[str, Any]], params: FunctionParams, agent: Agent) -> list[dict[str, Any]]:
    """Start points with natural values.

    Raises:
        ValueError: One is outside of the space, or the agent cannot take them.
    """
    given = [points] if isinstance(points, Mapping) else [*points]
    if given and (params.kind != "box" or not agent.listens):
        raise ValueError("points must be left out for agents that choose from candidates or plan alone, got some")
    try:
        return [params.points.config(params.points.row(point)) for point in given]
    except ValueError as error:
        raise ValueError(f"points must be in the search space: {error}") from None


@contextlib.contextmanager
def _inner_threads(workers: int) -> Iterator[None]:
    """Divide the cores among workers: limit BLAS and OpenMP, in this process and its children."""
    if workers == 1:
        yield
        return
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    each = max(1, cores // workers)
    names = [f"{name}_NUM_THREADS" for name in ("OMP", "OPENBLAS", "MKL") if f"{name}_NUM_THREADS" not in os.environ]
    os.environ.update(dict.fromkeys(names, str(each)))
    try:
        with threadpool_limits(each):
            yield
    finally:
        for name in names:
            del os.environ[name]


def _actions(agent: Any, epochs: int | None, candidates: Any, objective: Any, sources: tuple[Any, ...]) -> str:
    """Return whether actions are values of hyperparameters (`box`) or candidates, by what the agent works on.

    The default searches the whole space unless it has sources, epochs or more than two objectives to learn from.
    """
    if not isinstance(agent, str) or epochs is not None or candidates is not None:
        return "candidates"
    if agent == "auto":
        return "box" if not sources and (isinstance(objective, str) or len(objective) <= 2) else "candidates"
    supports = agents.entry(agent).supports
    return "candidates" if {"rows", "objectives"} & {*supports} else "box"


def _count(folder: Path, candidates: Any, budget: float, epochs: int | None) -> int:
    """Number of candidates: the requested one, that of the resumed search, or one by the budget."""
    if candidates is None and (folder / NAME).is_file():
        return int(SearchRecord(folder).header["candidates"])
    return count_of(candidates, budget, epochs or 1)


def _hire(agent: Any, problem: Problem, seed: int, hyperparameters: dict[str, Any], workers: int) -> Agent:
    """Make the agent.

    Raises:
        ValueError: One that cannot work on the problem, or with so many workers.
    """
    if not isinstance(agent, str):
        made: Agent = agent(problem, seed, **hyperparameters)
    else:
        if not agents.fits(agent, problem, **hyperparameters):
            fit = [n for n in agents.names() if agents.fits(n, problem)]
            raise ValueError(f"agent must be one that works on this problem ({', '.join(fit)}), got {agent!r}")
        given = {"late": True, **hyperparameters} if agent == "auto" else hyperparameters
        made = agents.make(agent, problem, seed, **given)
    if workers > 1 and not made.parallel:
        raise ValueError(f"workers must be 1 for {type(made).__name__}, which needs each result first, got {workers}")
    return made


def _header(
    params: FunctionParams, agent: str | Callable[..., Agent], hyperparameters: dict[str, Any], seed: int
) -> dict[str, Any]:
    """The search space as plain data."""
    p, table = params, params.table
    spec = IDS[p.levels is not None]
    run = header_of(p, spec, {"function": p.function}, agent, hyperparameters)
    run |= {"table": table.name, "kind": table.provenance.kind, "sha256": table.provenance.sha256, "seed": seed}
    run["scale"] = Scales(spec.id, p, {}).of(0).header()
    header = {
        "function": called(p.function),
        "space": [{k: encoded(v) for k, v in dataclasses.asdict(h).items()} for h in p.points.space],
        "objectives": list(p.objectives),
        "goals": [m.goal for m in p.rewarded],
        "epochs": None if p.levels is None else len(p.levels),
        "agent": run["agent"],
        "hyperparameters": run["hyperparameters"],
        "seed": seed,
        "budget": float(p.budget),
        "budget_unit": p.budget_unit,
        "cost_unit": p.cost_unit,
        "run": run,
    }
    plain: dict[str, Any] = json.loads(json.dumps(header, default=str))
    return plain

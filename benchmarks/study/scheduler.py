"""Execution of a study's missing runs: agents that do not fit or fail, time limits, subsamples, capped budgets."""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import gymnasium as gym

from hpo_envs.agents import Problem
from hpo_envs.benchmarks.analysis.scales import Scales
from hpo_envs.benchmarks.runs import limits, problem_of
from hpo_envs.benchmarks.runs.episodes import arguments, is_live, kind_of_action, seeds_of
from hpo_envs.benchmarks.runs.executors import AnyExecutor, Calls, WorkerLost, calls_on
from hpo_envs.benchmarks.runs.record import header_of_id
from hpo_envs.benchmarks.study import manifest
from hpo_envs.benchmarks.study.block import Block
from hpo_envs.benchmarks.study.store import Store
from hpo_envs.benchmarks.study.study import Entrant, Environment, Study
from hpo_envs.benchmarks.study.task import TASK_SECONDS, StudyTask, TaskResult, key_of, perform, remainder
from hpo_envs.tables.files import atomic
from hpo_envs.tables.files.lock import locked

if TYPE_CHECKING:
    from hpo_envs.benchmarks.study.plan import PlannedRuns

Fit = tuple[Environment, Entrant, Problem]
"""An environment, an agent that fits it, and the problem that the agent gets."""


@dataclass
class StudyState:
    """State of a study.

    Attributes:
        store: Store of its runs.
        pairs: (id, agent) of each agent that fits the environment -> its seeds.
        skipped: (id, agent) of each agent that does not.
        found: Number of runs that were already stored.
        made: Number of new runs.
        errors: (id, agent) -> traceback or message of the error that stopped the agent on that id.
        capped: id -> budget used instead of the given one, which exceeds the number of evaluations that an episode has.
    """

    store: Store
    pairs: dict[tuple[str, str], tuple[int, ...]] = field(default_factory=dict)
    skipped: list[tuple[str, str]] = field(default_factory=list)
    found: int = 0
    made: int = 0
    errors: dict[tuple[str, str], str] = field(default_factory=dict)
    capped: dict[str, int] = field(default_factory=dict)

    def stopped(self) -> list[str]:
        """Return a sentence for each agent and error, with the first id."""
        where: dict[tuple[str, str], list[str]] = {}
        for (env, agent), trace in self.errors.items():
            where.setdefault((agent, trace.strip().splitlines()[-1][:200]), []).append(env)
        more = {key: f" and {len(envs) - 1} more" * (len(envs) > 1) for key, envs in where.items()}
        return [f"{agent} on {envs[0]}{more[agent, why]} stopped: {why}" for (agent, why), envs in where.items()]


ProgressCallback = Callable[[int, int], object]
"""`watch(done, total)`: called at the start and whenever runs have been stored."""


@contextlib.contextmanager
def progress() -> Iterator[ProgressCallback]:
    """Context of a progress callback; its bar appears with the first call, after any errors in the study file."""
    from tqdm.auto import tqdm

    bars: list[Any] = []

    def watch(done: int, total: int) -> None:
        if not bars:
            bars.append(stack.enter_context(tqdm(total=total, initial=done, unit=" runs")))
        bars[0].update(done - bars[0].n)

    with contextlib.ExitStack() as stack:
        yield watch


def conduct(
    study: Study,
    folder: Path | str | None,
    executor: AnyExecutor | None = None,
    *,
    take: Callable[[Block], object] = lambda block: None,
    watch: ProgressCallback = lambda done, total: None,
    check: Callable[[dict[str, Any]], object] = lambda header: None,
    seconds: float = TASK_SECONDS,
    run_seconds: float = limits.RUN_SECONDS,
    most: float = math.inf,
    part: tuple[int, int] | None = None,
    command: str = "",
) -> StudyState:
    """Run and store the missing runs of a study; return its state.

    After any interruption (an error, Ctrl-C, a kill), stored runs remain; the next call runs the rest. An agent that
    raises an error is stopped on that id only, see `StudyState.errors`.

    Args:
        study: The study.
        folder: Folder of the store; None: runs are only passed to `take`.
        executor: Any `concurrent.futures.Executor`; a factory of one, which replaces a broken pool; or `Calls` of
            `hpo_envs.benchmarks.runs.executors`. Only what a factory makes is closed. Default: this process.
        take: Function that is called with new runs, as columns, once they are stored.
        watch: Progress callback.
        check: Function that is called with the header of each agent's runs before any run; an error stops the study.
        seconds: Target duration of a task in seconds.
        run_seconds: Time limit of a run in seconds; an agent that exceeds it is stopped on that id.
        most: Limit of the expected seconds of function calls, such as trainings, in missing runs.
        part: (k, n): run only part k of n, see `plan.part`, unless another process is running it.
        command: Command that requests the runs, as typed.

    Raises:
        ValueError: The folder has runs that must not be mixed with the study's; no agent fits any environment; the
            missing runs are expected to exceed `most`; a part has no folder, or is of another study than earlier parts;
            or another process is running the part or study.
        RuntimeError: The executor is broken and was not given as a factory.
        OSError: Writing to the disk fails.
    """
    outcome = StudyState(store := Store(folder))
    _, tasks = _missing(study, outcome, seconds, run_seconds, part, check)
    if (length := sum(map(_live_seconds, tasks))) > most:
        raise ValueError(
            f"the trainings of a study must take at most {most / 3600:g} h unless confirmed (--yes), got about "
            f"{length / 3600:.1f} h of one core"
        )
    with _alone(store.folder, part, outcome), calls_on(executor) as calls:
        if store.folder is not None:
            manifest.note(store.folder, outcome.pairs, command)
        _carry_out(tasks, calls, outcome, take, watch)
    return outcome


@contextlib.contextmanager
def _alone(folder: Path | None, part: tuple[int, int] | None, outcome: StudyState) -> Iterator[None]:
    """Context that locks a part, or a whole study, since others may share the folder; no lock without a folder.

    Raises:
        ValueError: A part has no folder or is of another study than earlier parts, or another process holds the lock.
    """
    name = f"{part[0]}-of-{part[1]}" if part else hashlib.sha256(repr(outcome.pairs).encode()).hexdigest()[:16]
    if folder is None:
        if part is not None:
            raise ValueError(f"part must be used with a folder, got {name} without one")
        yield
        return
    known = manifest.read(folder) if part else None
    wanted = {pair: {*seeds} for pair, seeds in outcome.pairs.items()}
    if known and known != wanted:
        env, agent = min(pair for pair in {*known, *wanted} if known.get(pair) != wanted.get(pair))
        raise ValueError(f"parts in {folder} must be of one study, got another one: it differs in {agent} on {env}")
    lock = atomic.inside(folder, folder / ".parts" / name)
    lock.mkdir(parents=True, exist_ok=True)
    with contextlib.ExitStack() as stack:
        try:
            stack.enter_context(locked(lock, wait=False))
        except BlockingIOError:
            what = f"part {name}" if part else "study"
            raise ValueError(
                f"{what} of {folder} must be run by one process (by several in parts, --part), got a second one"
            ) from None
        yield


def planned(study: Study, folder: Path | str | None) -> tuple[list[PlannedRuns], dict[tuple[str, str], int]]:
    """Return the expected cost of a study, and the numbers of missing runs by (id, agent); run and write nothing."""
    from hpo_envs.benchmarks.study import plan

    outcome = StudyState(Store(folder))
    fits, tasks = _missing(study, outcome)
    return plan.of_fits(fits, outcome.pairs), {key_of(task): len(task.seeds) for task in tasks}


def _carry_out(
    tasks: Sequence[StudyTask],
    executor: Calls,
    outcome: StudyState,
    take: Callable[[Block], object],
    watch: ProgressCallback,
) -> None:
    pending, left = 0, sum(len(task.seeds) for task in tasks)
    total = outcome.found + left
    watch(outcome.found, total)
    while tasks or pending:
        for task in tasks:
            executor.submit(perform, task)
        pending += len(tasks)
        try:
            done: TaskResult = executor.next()
        except WorkerLost as lost:
            done = TaskResult(lost.argument, (), 0.0, str(lost))
        pending -= 1
        for block in outcome.store.add(done.runs):
            outcome.made += len(block)
            take(block)
        key = key_of(done.task)
        if done.error is not None:
            outcome.errors.setdefault(key, done.error)
            pending -= executor.drop(lambda task, key=key: key_of(task) == key)  # type: ignore[misc]
        tasks = remainder(done) if key not in outcome.errors else []
        left -= len(done.task.seeds) - sum(len(task.seeds) for task in tasks)
        watch(total - left, total)


def _missing(
    study: Study,
    outcome: StudyState,
    seconds: float = TASK_SECONDS,
    run_seconds: float = limits.RUN_SECONDS,
    part: tuple[int, int] | None = None,
    check: Callable[[dict[str, Any]], object] = lambda header: None,
) -> tuple[list[Fit], list[StudyTask]]:
    """Return the fits, and a task per pair with missing runs; set `pairs`, `skipped`, `capped` and `found`."""
    fits: list[Fit] = []
    for asked in study.environments:
        environment = _capped(replicate := _replicated(asked, study.subsample))
        if environment is not replicate:
            outcome.capped[environment.id] = environment.kwargs["budget"]
        problem, fitting, headers = _probe(environment, study.agents, study.seeds[0])
        outcome.store.check(headers)
        for header in headers:
            check(header)
        outcome.skipped.extend((environment.id, c.name) for c in study.agents if c not in fitting)
        for entrant in fitting:
            outcome.pairs[environment.id, entrant.name] = study.seeds_of(entrant, problem)
            fits.append((environment, entrant, problem))
    if not outcome.pairs:
        raise ValueError(
            f"agents must fit an environment of the study (hpo-envs list --agents), policies its actions, trained ones "
            f"without having seen its languages or with seen = true, got {', '.join(c.name for c in study.agents)} for "
            f"{', '.join(e.id for e in study.environments)}"
        )
    chosen, tasks = outcome.pairs, []
    if part is not None:  # otherwise costs do not matter
        from hpo_envs.benchmarks.study import plan

        chosen = plan.part(plan.of_fits(fits, outcome.pairs), *part)
    for environment, entrant, _ in fits:
        wanted = chosen.get((environment.id, entrant.name), ())
        have = outcome.store.seeds(environment.id, entrant.name) if wanted else ()
        missing = tuple(s for s in wanted if s not in have)
        outcome.found += len(wanted) - len(missing)
        if missing:
            tasks.append(StudyTask(environment, entrant, missing, seconds, run_seconds))
    return fits, tasks


def _live_seconds(task: StudyTask) -> float:
    """Return the expected seconds of function calls in a task's runs; 0 for look-ups."""
    if not is_live(task.environment.id, task.environment.kwargs):
        return 0.0
    env: Any = gym.make(task.environment.id, disable_env_checker=True, **task.environment.kwargs)
    seconds: float = len(task.seeds) * env.unwrapped.params.expected
    env.close()
    return seconds


def _replicated(environment: Environment, subsample: float) -> Environment:
    """Return the environment, with the study's subsample if actions are configurations and it sets none."""
    kwargs = {k: v for k, v in environment.kwargs.items() if k != "shuffle"}
    if subsample == 1 or "subsample" in kwargs or kind_of_action(environment.id, kwargs) not in ("rows", "fidelity"):
        return environment
    return dataclasses.replace(environment, kwargs={**environment.kwargs, "subsample": subsample})


def _capped(environment: Environment) -> Environment:
    """Return the environment, with a given budget capped at the evaluations of an episode, as no more could be used."""
    if not isinstance(environment.kwargs.get("budget"), (int, float)):
        return environment
    envs: Any = gym.make_vec(environment.id, num_envs=1, **environment.kwargs)
    params = envs.unwrapped.params
    envs.close()
    if params.cost_unit != "evaluations" or params.steps is None or params.budget <= params.steps:
        return environment
    return dataclasses.replace(environment, kwargs={**environment.kwargs, "budget": params.steps})


def _probe(
    environment: Environment, entrants: Sequence[Entrant], seed: int
) -> tuple[Problem, list[Entrant], list[dict[str, Any]]]:
    """Return the problem of an environment, the fitting agents, and the header of each one's runs."""
    kwargs = arguments(environment.id, environment.kwargs)
    envs: Any = gym.make_vec(environment.id, num_envs=1, **kwargs)
    try:
        problem = problem_of(envs, environment.transfer)
        fitting = [c for c in entrants if c.fits(problem)]
        _, info = envs.reset(seed=[seeds_of(environment.id, seed)[0]])
        made = envs.unwrapped.params, environment.id, kwargs
        if problem.objectives > 2 and Scales(environment.id, made[0], kwargs).of(0).source != "none":
            got = ", ".join(made[0].objectives)
            raise ValueError(f"objective must be one or two names for hypervolume, got {got} on {environment.id}")
        shared: dict[str, Any] = {k: str(info[k][0]) for k in ("table", "kind", "sha256")}
        if environment.transfer:
            from hpo_envs.benchmarks.runs.transfer import sources_of

            shared["transfer"] = sources_of(envs, environment.transfer).header()
        headers = [{**c.describe(header_of_id(*made, c.algorithm, c.hyperparameters)), **shared} for c in fitting]
    finally:
        envs.close()
    return problem, fitting, headers

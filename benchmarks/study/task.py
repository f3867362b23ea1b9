"""A task: some seeds of one agent on one id; its size, time limit, errors, and what remains of it."""

from __future__ import annotations

import dataclasses
import time
import traceback
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from hpo_envs.benchmarks.runs import Run, limits, run
from hpo_envs.benchmarks.study.study import POLICY, Entrant, Environment
from hpo_envs.tables.checks import advice

if TYPE_CHECKING:
    from hpo_envs.benchmarks.runs.isolation import IsolatedProcess

TASK_SECONDS = 5.0
"""Target duration of a task in seconds: a crash loses no more, and it far exceeds an executor's overhead."""


@dataclass(frozen=True)
class StudyTask:
    """Runs of an agent on an environment with some seeds, to be made by one call."""

    environment: Environment
    agent: Entrant
    seeds: tuple[int, ...]  # distinct
    seconds: float  # within which runs are started; the first run always is
    run_seconds: float = limits.RUN_SECONDS  # time limit of a run; exceeding it stops the agent on this id

    @property
    def foreign(self) -> str | None:
        """The agent's `module:factory`, if that is outside code which runs in the worker's process; else None."""
        algorithm = self.agent.algorithm
        return algorithm if ":" in algorithm and algorithm != POLICY and not self.agent.isolated else None

    def __str__(self) -> str:
        return f"{self.agent.name} on {self.environment.id}"


@dataclass(frozen=True)
class TaskResult:
    """Result of a task."""

    task: StudyTask
    runs: tuple[Run, ...]  # of the first seeds of the task, in their order
    seconds: float  # duration of the runs
    error: str | None = None  # traceback or message of the error that stopped the task


def key_of(task: StudyTask) -> tuple[str, str]:
    """Return (id, agent); tasks with equal keys are stopped together."""
    return task.environment.id, task.agent.name


def perform(task: StudyTask) -> TaskResult:
    """Run a task; return the runs finished within its time, and the error that stopped it, if any.

    Runs are made in batches that grow while time is left; results do not depend on the batches. Any exception of an
    agent (such as `SystemExit`) stops it on this id only, as does a run that exceeds its time or memory limit. An
    isolated agent has one process for all runs of the task.
    """
    import scipy.linalg  # noqa: F401  (takes seconds in a fresh process, which must not count as the agent's)

    if not task.agent.isolated:
        return _perform(task, False)
    from hpo_envs.benchmarks.runs.isolation import AgentError, IsolatedProcess

    with IsolatedProcess(task.agent.algorithm, task.agent.isolated) as host:
        try:
            with limits.deadline(task.run_seconds):
                host.call("load", agent=host.agent)
        except (AgentError, limits.RunTimeout):
            return TaskResult(task, (), 0.0, traceback.format_exc())
        return _perform(task, host)


def _perform(task: StudyTask, isolate: Literal[False] | IsolatedProcess) -> TaskResult:
    start = time.perf_counter()
    runs: list[Run] = []
    size, agent, environment = 1, task.agent, task.environment
    given: Any = {"env_kwargs": environment.kwargs, "transfer": environment.transfer}
    while len(runs) < len(task.seeds):
        seeds = task.seeds[len(runs) : len(runs) + size]
        limit = limits.deadline(task.run_seconds * len(seeds))
        try:
            with limits.interrupts(), warnings.catch_warnings(), np.errstate(), limit, limits.memory():
                batch = run(agent.algorithm, environment.id, seeds, isolate=isolate, **given, **agent.hyperparameters)
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            said = advice(error) or traceback.format_exc()
            return TaskResult(task, tuple(runs), time.perf_counter() - start, said)
        runs.extend(dataclasses.replace(r, header=agent.describe(r.header)) for r in batch)
        spent = time.perf_counter() - start
        if spent >= task.seconds:
            break
        left = int((task.seconds - spent) / max(spent, 1e-9) * len(runs))  # a coarse clock may stand still
        size = max(1, min(4 * size, 128, left))  # more would use memory without being faster
    return TaskResult(task, tuple(runs), time.perf_counter() - start)


def remainder(done: TaskResult) -> list[StudyTask]:
    """Return tasks of similar duration for the remaining seeds of a task; none after an error."""
    if done.error is not None:
        return []
    task = done.task
    left = task.seeds[len(done.runs) :]
    size = max(1, int(task.seconds * len(done.runs) / max(done.seconds, 1e-9)))
    return [dataclasses.replace(task, seeds=left[i : i + size]) for i in range(0, len(left), size)]

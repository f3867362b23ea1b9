"""Workers that evaluate a function: threads, processes, paused trainings, time limits, checks of importability."""

import concurrent.futures
import contextlib
import ctypes
import functools
import multiprocessing
import os
import platform
import sys
import threading
import time
import traceback
import warnings
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, replace
from multiprocessing.reduction import ForkingPickler
from pathlib import Path
from typing import Any

from hpo_envs.benchmarks.runs import limits
from hpo_envs.benchmarks.runs.executors import Calls, PooledCalls, WorkerLost
from hpo_envs.core.engines.function.calls import Form, Function, Outcome, PausableTraining, call, name_of
from hpo_envs.tables.checks import one_of
from hpo_envs.tuning.trial import Trial, checks

GUARD = "programs that tune with processes must keep to `if __name__ == '__main__':`"
KINDS = ("auto", "serial", "processes", "threads")

PAUSED = 32
"""Largest number of paused trainings of a worker; beyond it, the one paused longest is dropped and must restart."""


@dataclass(frozen=True)
class Job:
    """An evaluation for a worker.

    Attributes:
        number: Number of the evaluation.
        function: The function to call.
        form: Form of the function, see `calls.form_of`.
        config: Natural values of the active hyperparameters.
        objectives: Names of the metrics that the function must return.
        limited: Number of these, at the end, that only constraints need: a report has none of them.
        seconds: Time limit; None: no limit.
        epoch: Epoch to train to, for functions that train by epochs.
        training: Key of the training to continue: the opened search and the candidate.
        folder: Folder of the training's checkpoints; None if the function writes none.
        trial: The trial that receives the reports; None without reports.
    """

    number: int
    function: Function
    form: Form
    config: Mapping[str, Any]
    objectives: tuple[str, ...]
    seconds: float | None = None
    epoch: int = 0
    training: tuple[str, int] = ("", 0)
    folder: Path | None = None
    trial: Trial | None = None
    limited: int = 0

    def __str__(self) -> str:
        return f"evaluation {self.number}, {dict(self.config)}"


@dataclass(frozen=True)
class JobResult:
    """Result of a job.

    Attributes:
        number: Number of the evaluation.
        outcomes: (epoch, outcome) of each score or failure; the epoch is 0 for functions that do not train by epochs.
        started: Start of the evaluation, in seconds since 1970; 0 if the worker died.
        worker: Host and process id of the worker, `HOST:PID`; empty if it died.
        curve: (step, score) of each report.
        stopped: Whether the trial stopped the training early.
        forecast: Final score predicted at the trial's last check; None without one.
    """

    number: int
    outcomes: tuple[tuple[int, Outcome], ...]
    started: float
    worker: str
    curve: tuple[tuple[int, float], ...] = ()
    stopped: bool = False
    forecast: float | None = None

    def reported(self, trial: Trial) -> "JobResult":
        """Return this result with the reports, the early stop and the forecast of a trial."""
        return replace(self, curve=tuple(trial.curve), stopped=trial.stopped, forecast=trial.forecast)


_paused: OrderedDict[tuple[str, int], PausableTraining] = OrderedDict()


def release(search: str) -> None:
    """End the trainings of a search that are paused in this process."""
    for key in [*_paused]:
        if key[0] == search and (training := _paused.pop(key, None)) is not None:
            training.close()


def perform(job: Job) -> JobResult:
    """Perform a job and return its result; any exception except KeyboardInterrupt becomes a failed outcome."""
    started, clock, process = time.time(), time.perf_counter(), os.getpid()
    limited: contextlib.AbstractContextManager[None] = contextlib.nullcontext()
    if job.seconds is not None:
        limited = limits.deadline(job.seconds, "an evaluation must end within {:g} s, this one did not")
    try:
        with limits.interrupts(), limited:
            outcomes = _carry_out(job)
            if job.seconds is not None and time.perf_counter() - clock > job.seconds:  # it swallowed the timeout
                raise limits.RunTimeout
    except KeyboardInterrupt:
        if os.getpid() != process:
            os._exit(0)
        raise
    except BaseException as lost:  # SystemExit, and what else is no Exception
        error = f"{lost}\n" * isinstance(lost, limits.RunTimeout) + traceback.format_exc()
        outcomes = [(job.epoch, Outcome("failed", seconds=time.perf_counter() - clock, error=error))]
    if os.getpid() != process:  # a child that the function forked has returned, too: the parent has the result
        os._exit(0)
    done = JobResult(job.number, tuple(outcomes), started, f"{platform.node()}:{process}")
    return done if job.trial is None else done.reported(job.trial)


def _carry_out(job: Job) -> list[tuple[int, Outcome]]:
    if job.trial is not None:
        return _reported(job, job.trial)
    if job.form == "score":
        return [(0, call(job.function, job.config, job.objectives))]
    kept = _paused.pop(job.training, None)
    if kept is None or kept.epoch > job.epoch or job.form == "checkpoints":
        kept = PausableTraining(job.function, job.config, job.objectives, job.folder)
    outcomes = kept.until(job.epoch)
    if job.form == "epochs" and not kept.ended:
        _paused[job.training] = kept
        while len(_paused) > PAUSED:
            _paused.popitem(last=False)[1].close()
    return outcomes


def _reported(job: Job, trial: Trial) -> list[tuple[int, Outcome]]:
    """Run a function that reports to its trial until it ends or is stopped early; return (epoch, outcome) pairs."""
    if job.form == "score":
        names = [*job.objectives]

        def score(config: dict[str, Any]) -> Any:
            returned = job.function(config, trial=trial)
            if returned is None and trial.last is not None:
                del names[len(names) - job.limited :]
                return trial.last
            return returned

        return [(0, call(score, job.config, names))]
    training = PausableTraining(job.function, job.config, job.objectives, job.folder)
    outcomes: list[tuple[int, Outcome]] = []
    last, known = trial.limit or 1, trial.curve[-1][0] if trial.curve else 0  # of a try that was killed
    for epoch in range(1, last + 1) if job.folder is None else checks(last):
        if epoch <= known and epoch < last:
            continue
        outcomes += training.until(epoch)
        if training.ended:
            break
        if epoch > known:
            trial.report(outcomes[-1][1].metrics[job.objectives[0]], epoch)
        if trial.should_stop:
            break
    training.close()
    return outcomes


def processes(workers: int, function: Function) -> PooledCalls:
    """Return a pool of processes that have imported a function; a call whose process dies is not retried.

    Raises:
        OSError: The system can start no more processes or open no more files.
        ValueError: The processes cannot import the function.
    """
    from hpo_envs.benchmarks.runs.processes import Processes

    pool = PooledCalls(functools.partial(Processes, workers), workers, losses=0)
    try:
        list(pool.map(callable, [function] * workers))
    except BaseException as error:
        pool.close()
        if isinstance(error, WorkerLost):
            if isinstance(error.__cause__, OSError) and error.__cause__.errno:
                raise error.__cause__ from None
            raise ValueError(f"workers must be able to import {name_of(function)}: {GUARD}") from None
        raise
    return pool


class _Threads:
    """Executor with a thread for each call; `shutdown` interrupts those that run, and waits for at most a second."""

    def __init__(self) -> None:
        self._running = dict[concurrent.futures.Future[Any], threading.Thread]()

    def submit(self, function: Function, *arguments: Any) -> concurrent.futures.Future[Any]:
        future: concurrent.futures.Future[Any] = concurrent.futures.Future()
        future.set_running_or_notify_cancel()

        def work() -> None:
            try:
                result = function(*arguments)
            except BaseException as error:
                future.set_exception(error)
            else:
                future.set_result(result)

        self._running = self._unfinished() | {future: threading.Thread(target=work, daemon=True)}
        self._running[future].start()
        return future

    def shutdown(self, **_: bool) -> None:
        interrupt = ctypes.pythonapi.PyThreadState_SetAsyncExc
        running = self._unfinished().values()
        for thread in running:
            interrupt(ctypes.c_ulong(thread.ident or 0), ctypes.py_object(KeyboardInterrupt))
        for thread in running:
            thread.join(1 / len(running))

    def _unfinished(self) -> dict[concurrent.futures.Future[Any], threading.Thread]:
        return {future: thread for future, thread in self._running.items() if not future.done()}


def executor_of(kind: Any, workers: int, function: Function) -> Calls:
    """Return the workers that evaluate a function.

    Args:
        kind: `serial` (this process), `processes`, `threads`, or `auto`: serial for one worker, processes for more, or
            threads where no other process can import the function; or any `concurrent.futures.Executor`, or a factory
            of one, which replaces a pool that breaks.
        workers: Number of workers.
        function: The function to call.

    Raises:
        ValueError: `kind` is unknown, or processes cannot import the function.
        OSError: See `processes`.
    """
    if not isinstance(kind, str):
        return PooledCalls(kind, losses=1)
    one_of("executor", kind, KINDS)
    reason = not_importable(function)
    if kind == "auto":
        kind = "serial" if workers == 1 else "processes" if reason is None else "threads"
        if workers > 1 and reason is not None:
            warnings.warn(f"workers are threads, because {reason}", stacklevel=3)
    if kind == "serial":
        return Calls()
    if kind == "threads":
        return PooledCalls(_Threads, workers, losses=0)
    if reason is not None:
        raise ValueError(f"function must be one that other processes can import (or executor='threads'): {reason}")
    return processes(workers, function)


def not_importable(function: Function) -> str | None:
    """Return why other processes cannot import a function, or none can start; None if no reason is known."""
    if multiprocessing.current_process().daemon:
        return "this process is daemonic, which may have no children"
    main = sys.modules["__main__"]
    name = getattr(getattr(main, "__spec__", None), "name", "")  # processes import no main module of a package
    found = os.path.isfile(getattr(main, "__file__", "")) and not name.endswith("__main__")
    if getattr(function, "__module__", "") == "__main__" and not found:
        return f"{name_of(function)} was defined in an interactive session, on standard input or in __main__.py"
    try:
        ForkingPickler.dumps(function)
    except Exception as error:  # whatever a part of it raises
        return f"{name_of(function)} cannot be handed over ({error})"
    return None


def check_main() -> None:
    """Raise a RuntimeError in a worker that still imports a program without `if __name__ == "__main__":`."""
    if getattr(multiprocessing.current_process(), "_inheriting", False):
        raise RuntimeError(GUARD)

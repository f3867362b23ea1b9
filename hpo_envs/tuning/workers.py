"""Workers for evaluations that are too dear to be lost with another one: threads, and processes that die alone."""

from __future__ import annotations

import collections
import concurrent.futures
import multiprocessing
import sys
import warnings
from collections.abc import Callable
from concurrent.futures.process import BrokenProcessPool
from multiprocessing.reduction import ForkingPickler
from typing import Any

from hpo_envs.benchmarks.study.executors import Call, Dask, Executor, Serial, WorkerLost, end_pool, prepare
from hpo_envs.checks import nearest
from hpo_envs.engines.function.calls import Function, name_of

GUARD = "programs that tune with processes must keep to `if __name__ == '__main__':`"

KINDS = ("auto", "serial", "processes", "threads", "dask")


class Threads(Executor):
    """Threads of this process: for functions that wait, or that compute outside of Python.

    Args:
        workers: Number of threads, an int >= 1.
    """

    def __init__(self, workers: int) -> None:
        self.workers = workers
        self._pool = concurrent.futures.ThreadPoolExecutor(workers)
        self._waiting: dict[concurrent.futures.Future[Any], Any] = {}

    def submit(self, function: Callable[[Any], Any], argument: Any) -> None:
        """Takes a call."""
        self._waiting[self._pool.submit(function, argument)] = argument

    def next(self) -> Any:
        """Returns what the call that is finished first returned."""
        finished, _ = concurrent.futures.wait(self._waiting, return_when=concurrent.futures.FIRST_COMPLETED)
        future = finished.pop()
        del self._waiting[future]
        return future.result()

    def close(self) -> None:
        """Drops what has not begun; a thread cannot be ended from outside."""
        self._pool.shutdown(wait=False, cancel_futures=True)


class LonelyProcesses(Executor):
    """Processes on this machine, each with a pool of its own: what kills one is not felt by the others.

    A call whose process dies is not carried out again: `next` raises `WorkerLost`.

    Args:
        workers: Number of processes, an int >= 1.
        function: What they must be able to import.

    Raises:
        RuntimeError: They are not.
    """

    def __init__(self, workers: int, function: Function) -> None:
        self.workers = workers
        self._idle = [_pool() for _ in range(workers)]
        self._busy: dict[concurrent.futures.Future[Any], tuple[concurrent.futures.ProcessPoolExecutor, Any]] = {}
        self._held: collections.deque[Call] = collections.deque()
        try:
            for ready in [pool.submit(callable, function) for pool in self._idle]:
                ready.result()
        except BaseException as error:
            self.close()
            if isinstance(error, BrokenProcessPool):
                raise RuntimeError(f"workers must be able to import {name_of(function)}: {GUARD}") from None
            raise

    def submit(self, function: Callable[[Any], Any], argument: Any) -> None:
        """Takes a call."""
        if not self._idle:
            self._held.append((function, argument))
            return
        pool = self._idle.pop()
        try:
            self._busy[pool.submit(function, argument)] = pool, argument
        except BrokenProcessPool:  # it died while it was idle
            end_pool(pool)
            pool = _pool()
            self._busy[pool.submit(function, argument)] = pool, argument

    def next(self) -> Any:
        """Returns what the call that is finished first returned."""
        finished, _ = concurrent.futures.wait(self._busy, return_when=concurrent.futures.FIRST_COMPLETED)
        future = finished.pop()
        pool, argument = self._busy.pop(future)
        broken = isinstance(future.exception(), BrokenProcessPool)
        if broken:
            end_pool(pool)
            pool = _pool()
        self._idle.append(pool)
        if self._held:
            self.submit(*self._held.popleft())
        if broken:
            raise WorkerLost(argument)
        return future.result()

    def close(self) -> None:
        """Ends the processes at once; calls not finished are dropped."""
        for pool in [*self._idle, *(pool for pool, _ in self._busy.values())]:
            end_pool(pool)


def _pool() -> concurrent.futures.ProcessPoolExecutor:
    # Fresh processes: a fork of one with threads may hang.
    return concurrent.futures.ProcessPoolExecutor(1, multiprocessing.get_context("spawn"), initializer=prepare)


def executor_of(kind: str, workers: int, function: Function) -> Executor:
    """The workers that evaluate a function.

    Args:
        kind: `serial` (this process), `processes`, `threads`, `dask` (a cluster on this machine), the address of a
            Dask scheduler, or `auto`: serial for one worker, processes for more, or threads where no other process can
            import the function.
        workers: Their number.
        function: What they call.

    Raises:
        ValueError: Another kind; or processes that cannot import the function.
    """
    if ":" not in kind and kind not in KINDS:
        known = ", ".join(KINDS)
        raise ValueError(f"executor must be one of {known} or an address, got {kind!r}{nearest(kind, KINDS)}")
    reason = not_importable(function)
    if kind == "auto":
        kind = "serial" if workers == 1 else "processes" if reason is None else "threads"
        if workers > 1 and reason is not None:
            warnings.warn(f"workers are threads, because {reason}", stacklevel=3)
    if kind == "serial":
        return Serial()
    if kind == "threads":
        return Threads(workers)
    if reason is not None:
        raise ValueError(f"function must be one that other processes can import (or executor='threads'): {reason}")
    if kind != "processes":
        return Dask("local" if kind == "dask" else kind, workers)
    return LonelyProcesses(workers, function)


def not_importable(function: Function) -> str | None:
    """Why another process cannot import a function; None if it can."""
    if getattr(function, "__module__", "") == "__main__" and not hasattr(sys.modules["__main__"], "__file__"):
        return f"{name_of(function)} was defined in an interactive session"
    try:
        ForkingPickler.dumps(function)
    except Exception as error:  # whatever a part of it raises
        return f"{name_of(function)} cannot be handed over ({error})"
    return None


def check_main() -> None:
    """Refuses to tune in a process that is still being started, because it imports a program without a guard.

    Raises:
        RuntimeError: It does.
    """
    if getattr(multiprocessing.current_process(), "_inheriting", False):
        raise RuntimeError(GUARD)

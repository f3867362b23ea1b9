"""Where work is carried out: in this process, in several on this machine, or on a Dask cluster.

An executor takes calls of functions (`submit`), gives back what they returned in any order (`next`) and is left as a
context manager. Each survives the loss of a worker: its call is carried out again. Functions and arguments must be
picklable, as for every process pool.
"""

from __future__ import annotations

import abc
import collections
import concurrent.futures
import contextlib
import ctypes
import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures.process import BrokenProcessPool
from typing import Any

from hpo_envs.tables import extras

Call = tuple[Callable[[Any], Any], Any]
"""A function and its argument."""

LOSSES = 2
"""How often a worker may die while a call is carried out alone; on a cluster, how often it is given to another."""


class WorkerLost(ChildProcessError):
    """A worker died whenever it carried out this call.

    Attributes:
        argument: Of the call.
    """

    def __init__(self, argument: Any) -> None:
        super().__init__(f"the worker died each time (out of memory? os._exit?) at {argument!s:.200}")
        self.argument = argument


class Executor(contextlib.AbstractContextManager["Executor"], abc.ABC):
    """Carries out calls.

    Attributes:
        workers: How many calls are carried out at once.
    """

    workers: int = 1

    @abc.abstractmethod
    def submit(self, function: Callable[[Any], Any], argument: Any) -> None:
        """Takes the call `function(argument)`."""

    @abc.abstractmethod
    def next(self) -> Any:
        """Returns what one of the calls submitted returned, or raises what it raised; waits for it.

        Raises:
            WorkerLost: Workers keep dying at this call; others go on.
        """

    def drop(self, unwanted: Callable[[Any], bool]) -> int:
        """Forgets calls that have not begun and whose argument is unwanted; returns how many."""
        return 0

    def map(self, function: Callable[[Any], Any], arguments: Sequence[Any]) -> Iterator[tuple[int, Any]]:
        """Carries out a call for each argument; yields (index, result) in the order in which calls are finished."""
        for i, argument in enumerate(arguments):
            self.submit(_numbered, (i, function, argument))
        for _ in arguments:
            yield self.next()

    def close(self) -> None:
        """Drops what is not finished and ends what was started."""

    def __exit__(self, *error: object) -> None:
        self.close()


def of_jobs(jobs: int) -> Executor:
    """This process for one job, so many processes for more."""
    return Processes(jobs) if jobs > 1 else Serial()


def _numbered(call: tuple[int, Callable[[Any], Any], Any]) -> tuple[int, Any]:
    i, function, argument = call
    return i, function(argument)


class Serial(Executor):
    """This process, one call after another."""

    def __init__(self) -> None:
        self._calls: collections.deque[tuple[Callable[[Any], Any], Any]] = collections.deque()

    def submit(self, function: Callable[[Any], Any], argument: Any) -> None:
        """Takes a call."""
        self._calls.append((function, argument))

    def next(self) -> Any:
        """Carries out the oldest call."""
        function, argument = self._calls.popleft()
        return function(argument)

    def drop(self, unwanted: Callable[[Any], bool]) -> int:
        """Forgets calls."""
        kept = collections.deque(call for call in self._calls if not unwanted(call[1]))
        dropped = len(self._calls) - len(kept)
        self._calls = kept
        return dropped


class Processes(Executor):
    """Processes on this machine.

    Programs that use it must keep to `if __name__ == "__main__":`, as with every pool of fresh processes.

    Args:
        workers: Number of processes, an int >= 1.
    """

    def __init__(self, workers: int) -> None:
        self.workers = workers
        self._pool = self._start()
        self._waiting: dict[concurrent.futures.Future[Any], Call] = {}
        # After a loss: calls that may have caused it are carried out one at a time, the others wait.
        self._suspects: collections.deque[Call] = collections.deque()
        self._held: collections.deque[Call] = collections.deque()
        self._losses = 0

    def _start(self) -> concurrent.futures.ProcessPoolExecutor:
        # Fresh processes: a fork of one with threads (Arrow's, BLAS') may hang.
        context = multiprocessing.get_context("spawn")
        return concurrent.futures.ProcessPoolExecutor(self.workers, context, initializer=prepare)

    def submit(self, function: Callable[[Any], Any], argument: Any) -> None:
        """Takes a call."""
        if self._suspects:
            self._held.append((function, argument))
            return
        try:
            self._waiting[self._pool.submit(function, argument)] = function, argument
        except BrokenProcessPool:  # a worker has just died, which `next` will see
            self._held.append((function, argument))

    def next(self) -> Any:
        """Returns what the call that is finished first returned."""
        while True:
            if not self._waiting:
                self._restart()
            finished, _ = concurrent.futures.wait(self._waiting, return_when=concurrent.futures.FIRST_COMPLETED)
            intact = [f for f in finished if not isinstance(f.exception(), BrokenProcessPool)]
            if not intact:
                self._restart()
                continue
            del self._waiting[intact[0]]
            if self._suspects:
                self._suspects.popleft()
                self._resume()
            return intact[0].result()

    def _restart(self) -> None:
        """A worker died, and with it the pool: what may have killed it is tried again, each call alone."""
        end_pool(self._pool)
        self._pool = self._start()
        if self._suspects:
            self._losses += 1
        else:
            calls = list(self._waiting.values())
            begun = 2 * self.workers + 1  # calls running, and those handed over already
            self._suspects.extend(calls[:begun])
            self._held.extend(calls[begun:])
        self._waiting.clear()
        if self._losses < LOSSES:
            self._resume(again=True)
            return
        _, argument = self._suspects.popleft()
        self._resume()
        raise WorkerLost(argument)

    def _resume(self, again: bool = False) -> None:
        """Begins the next suspect, or all calls held back once there is none."""
        if not again:
            self._losses = 0
        if self._suspects:
            call = self._suspects[0]
            self._waiting[self._pool.submit(call[0], call[1])] = call
            return
        held, self._held = self._held, collections.deque()
        for call in held:
            self.submit(*call)

    def drop(self, unwanted: Callable[[Any], bool]) -> int:
        """Forgets calls."""
        kept = collections.deque(call for call in self._held if not unwanted(call[1]))
        dropped = len(self._held) - len(kept)
        self._held = kept
        first = list(self._suspects)[:1]
        rest = [call for call in list(self._suspects)[1:] if not unwanted(call[1])]
        dropped += max(len(self._suspects) - 1, 0) - len(rest)
        self._suspects = collections.deque(first + rest)
        for future, (_, argument) in list(self._waiting.items()):
            if not first and unwanted(argument) and future.cancel():
                del self._waiting[future]
                dropped += 1
        return dropped

    def close(self) -> None:
        """Ends the processes at once; calls not finished are dropped."""
        end_pool(self._pool)


def end_pool(pool: concurrent.futures.ProcessPoolExecutor) -> None:
    """Ends a pool's processes at once, and waits for its thread: one left to the end of the program may fail there."""
    crew = list((pool._processes or {}).values())
    for process in crew:
        process.terminate()
    pool.shutdown(wait=True, cancel_futures=True)
    for process in crew:
        process.join()


def prepare() -> None:
    """What a worker does first: leave Ctrl-C to its parent, and not outlive it.

    What it forks shall not outlive it, either.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if sys.platform == "linux":
        libc = ctypes.CDLL(None)
        os.register_at_fork(after_in_child=lambda: libc.prctl(1, signal.SIGKILL))  # PR_SET_PDEATHSIG
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_follow, args=(parent,), daemon=True).start()


def _follow(parent: Any) -> None:
    parent.join()
    os._exit(1)


class Dask(Executor):
    """A Dask cluster.

    Its workers need this package in the same versions, and the same tables; what differs is not stored.

    Args:
        scheduler: Address, such as `tcp://host:8786`; `local` starts a cluster on this machine.
        workers: Size of a local cluster.

    Raises:
        ModuleNotFoundError: Dask is missing; the message says how to install it.
    """

    _GONE = "the Dask scheduler must stay, it is gone; what is stored stays, the same command goes on with another one"

    def __init__(self, scheduler: str, workers: int = 2) -> None:
        distributed = extras.module("distributed", "dask", "clusters")
        self._cluster: Any = None
        if scheduler == "local":
            self._cluster = distributed.LocalCluster(
                n_workers=workers, threads_per_worker=1, processes=True, dashboard_address=None
            )
        self.client = distributed.Client(self._cluster or scheduler)
        self._results = distributed.as_completed()
        self._futures: dict[Any, Any] = {}

    @property
    def workers(self) -> int:  # type: ignore[override]
        """Threads of all workers that are connected now, at least 1."""
        return int(max(1, sum(self.client.nthreads().values())))

    def submit(self, function: Callable[[Any], Any], argument: Any) -> None:
        """Takes a call."""
        if self.client.status != "running":
            raise ConnectionError(self._GONE)
        # Not pure: what was computed for another study must not answer.
        future = self.client.submit(function, argument, pure=False, retries=LOSSES)
        self._futures[future] = argument
        self._results.add(future)

    def next(self) -> Any:
        """Returns what the call that is finished first returned.

        Raises:
            ConnectionError: The scheduler is gone.
        """
        from distributed import CancelledError, KilledWorker
        from distributed.comm import CommClosedError

        future = next(self._results)
        try:
            done = future.result()
        except KilledWorker:
            raise WorkerLost(self._futures.pop(future)) from None
        except (CommClosedError, CancelledError):
            raise ConnectionError(self._GONE) from None
        del self._futures[future]
        return done

    def close(self) -> None:
        """Cancels what is not finished; a local cluster ends, another one stays."""
        self.client.cancel(list(self._futures), force=True)
        self.client.close()
        if self._cluster is not None:
            self._cluster.close()

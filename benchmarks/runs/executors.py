"""Executors: this process, or several processes of this machine.

An executor takes calls of functions (`submit`), gives back what they returned in any order (`next`) and is left as a
context manager. Each survives the loss of a worker: its call is retried. Functions and arguments must be
picklable, as for every process pool.
"""

import abc
import collections
import contextlib
import ctypes
import multiprocessing
import os
import signal
import sys
import threading
import time
import traceback
import weakref
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from multiprocessing import connection
from typing import Any

from hpo_envs.benchmarks.runs import limits
from hpo_envs.tables import screen

LOSSES = 2
"""Retries of a call whose worker died."""

TICK = 1.0
"""Seconds between two looks at workers that say nothing."""


@dataclass(eq=False)
class Call:
    """A function and its argument.

    Attributes:
        function: What is called.
        argument: Of the function. Its `foreign`, if it has one, names code from outside of this package: the worker
            that has run it runs nothing else.
        losses: How many workers died at it.
    """

    function: Callable[[Any], Any]
    argument: Any
    losses: int = 0

    @property
    def foreign(self) -> str | None:
        """Code from outside of this package that the call runs."""
        return getattr(self.argument, "foreign", None)


class WorkerLost(ChildProcessError):
    """A call took its worker with it, or exceeded its time limit and was killed.

    Attributes:
        argument: Of the call.
    """

    def __init__(self, argument: Any, said: str = "") -> None:
        super().__init__(said or f"the worker died each time (out of memory? os._exit?) at {argument!s:.200}")
        self.argument = argument


class Executor(contextlib.AbstractContextManager["Executor"], abc.ABC):
    """Carries out calls.

    Attributes:
        workers: How many calls are carried out at once.
    """

    workers: int = 1

    def __init__(self) -> None:
        self._calls: collections.deque[Call] = collections.deque()  # that have not begun

    def submit(self, function: Callable[[Any], Any], argument: Any) -> None:
        """Submit the call `function(argument)`."""
        self._calls.append(Call(function, argument))

    @abc.abstractmethod
    def next(self) -> Any:
        """Wait for a submitted call, and return its result or raise its exception.

        Raises:
            WorkerLost: Workers keep dying at this call; others continue.
        """

    def drop(self, unwanted: Callable[[Any], bool]) -> int:
        """Drop calls that were not started and whose argument is unwanted; return how many."""
        kept = [call for call in self._calls if not unwanted(call.argument)]
        dropped = len(self._calls) - len(kept)
        self._calls = collections.deque(kept)
        return dropped

    def map(self, function: Callable[[Any], Any], arguments: Sequence[Any]) -> Iterator[tuple[int, Any]]:
        """Run a call for each argument; yield (index, result) in the order of completion."""
        for i, argument in enumerate(arguments):
            self.submit(_numbered, (i, function, argument))
        for _ in arguments:
            yield self.next()

    def close(self) -> None:
        """Cancel pending calls and stop the workers."""

    def __exit__(self, *error: object) -> None:
        self.close()


def of_jobs(jobs: int) -> Executor:
    """An executor for a number of jobs: this process for one, several processes for more."""
    return Processes(jobs) if jobs > 1 else Serial()


def _numbered(call: tuple[int, Callable[[Any], Any], Any]) -> tuple[int, Any]:
    i, function, argument = call
    return i, function(argument)


class Serial(Executor):
    """This process, one call after another."""

    def next(self) -> Any:
        """Run the oldest call."""
        call = self._calls.popleft()
        return call.function(call.argument)


class Processes(Executor):
    """Processes on this machine, each with one call at a time, so that calls do not affect each other.

    A worker that dies, or whose call exceeds its `limits.deadline` by `limits.GRACE`, is killed and replaced. Programs
    that use it must keep to `if __name__ == "__main__":`, as with every pool of fresh processes.

    Args:
        workers: Number of processes, an int >= 1.
        losses: Retries of a call whose worker died.
    """

    def __init__(self, workers: int, losses: int = LOSSES) -> None:
        super().__init__()
        self.workers, self._losses = workers, losses
        self._pool: list[_Worker] = []
        self.close = weakref.finalize(self, _end, self._pool)  # type: ignore[method-assign]

    def submit(self, function: Callable[[Any], Any], argument: Any) -> None:
        """Submit a call, and start it if a worker is idle."""
        super().submit(function, argument)
        self._assign()

    def next(self) -> Any:
        """Return the result of the first finished call."""
        while True:
            self._assign()
            busy = [worker for worker in self._pool if worker.call is not None]
            assert busy, "next must follow submit"
            start = time.monotonic()
            connection.wait([thing for w in busy for thing in (w.pipe, w.process.sentinel)], TICK)
            passed = min(time.monotonic() - start, 2 * TICK)  # less than the clock says where all were stopped
            for worker in busy:
                call = worker.call
                assert call is not None
                try:
                    answer = worker.answer(passed)
                except ChildProcessError as lost:
                    self._pool.remove(worker)
                    worker.end()
                    call.losses += 1
                    if str(lost) or call.losses > self._losses:
                        raise WorkerLost(call.argument, str(lost)) from None
                    self._calls.appendleft(call)
                    continue
                if answer is None:
                    continue
                self._assign()
                ok, value = answer
                if not ok:
                    raise value
                return value

    def _assign(self) -> None:
        """Give calls to workers that have none."""
        while self._calls:
            idle = next((worker for worker in self._pool if worker.call is None), None)
            if idle is None:
                if len(self._pool) >= self.workers:
                    return
                self._pool.append(idle := _Worker())
            call = next((call for call in self._calls if call.foreign == idle.foreign), self._calls[0])
            if idle.foreign in (None, call.foreign) and idle.process.is_alive():
                self._calls.remove(call)
                idle.take(call)
            else:
                self._pool.remove(idle)
                idle.end()


class _Worker:
    """A process that carries out calls, as its parent sees it."""

    def __init__(self) -> None:
        context = multiprocessing.get_context("spawn")  # a fork of a process with threads (Arrow's, BLAS') may hang
        self.pipe, theirs = context.Pipe()
        shown, output = context.Pipe(duplex=False)
        screen.relay(shown)
        self.process = context.Process(target=_work, args=(theirs, output))
        self.process.start()
        theirs.close()
        output.close()
        self.call: Call | None = None
        self.foreign: str | None = None
        self._limit: tuple[float, str] | None = None
        self._age = 0.0
        self._number = 0

    def take(self, call: Call) -> None:
        """Begin a call."""
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # it has just died, which `answer` sees
            self._number += 1
            self.pipe.send((self._number, call.function, call.argument))
        self.call, self.foreign, self._limit = call, call.foreign, None

    def answer(self, passed: float) -> tuple[bool, Any] | None:
        """Return whether the call succeeded and its result or exception; None while it runs.

        Args:
            passed: Seconds since the last look.

        Raises:
            ChildProcessError: The worker is lost, without a text if it died.
        """
        alive, self._age = self.process.is_alive(), self._age + passed
        while self.pipe.poll():
            try:
                kind, *facts = self.pipe.recv()
            except (EOFError, OSError):
                raise ChildProcessError from None
            except Exception as error:  # what was returned or raised cannot be read here
                kind, facts = "answer", [self._number, False, error]
            if kind == "answer":
                number, ok, value = facts
                if number != self._number:  # of another call
                    continue
                self.call = None
                return ok, value
            self._limit, self._age = facts[0], 0.0
        if self._limit is not None and self._age > self._limit[0] + limits.GRACE:
            raise ChildProcessError(self._limit[1])
        if not alive:
            raise ChildProcessError
        return None

    def end(self) -> None:
        """Kill the process: one that is stopped hears nothing else."""
        self.process.kill()
        self.process.join()
        self.pipe.close()


def _end(pool: list[_Worker]) -> None:
    for worker in pool:
        worker.process.kill()
    while pool:
        pool.pop().end()


def _work(pipe: connection.Connection, output: connection.Connection) -> None:
    """Carry out calls until there is nobody to send them; tell the parent of limits of time that begin and end."""
    prepare()
    if os.name == "posix":
        for stream in (sys.stdout, sys.stderr):
            os.dup2(output.fileno(), stream.fileno())
            stream.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    limits.watch(lambda limit: pipe.send(("limit", limit)))
    number, process = 0, os.getpid()
    while True:
        number += 1
        try:
            _, function, argument = pipe.recv()
        except (EOFError, OSError):
            return
        except Exception as error:  # what the call needs cannot be imported
            pipe.send(("answer", number, False, error))
            continue
        try:
            answer = True, function(argument)
        except BaseException as error:
            error.add_note(traceback.format_exc())
            answer = False, error
        if os.getpid() != process:  # a child that the call forked has returned, too: its parent answers
            os._exit(0)
        try:
            pipe.send(("answer", number, *answer))
        except Exception as error:
            problem = ValueError(f"what a call returns or raises must be picklable, got {error!r}")
            pipe.send(("answer", number, False, problem))


def prepare() -> None:
    """Initialise a worker: leave Ctrl-C to its parent, and not outlive it.

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

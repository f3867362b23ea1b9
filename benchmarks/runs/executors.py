"""Executors of calls: this process, `--jobs` processes, any `concurrent.futures.Executor`; retries of lost calls.

All have one interface: calls of functions are submitted, and results are returned in any order (`next`). For other
processes, functions and arguments must be picklable.
"""

import collections
import concurrent.futures
import contextlib
import functools
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from hpo_envs.benchmarks.runs.limits import WorkerLost as WorkerLost
from hpo_envs.tables.checks import shown


@dataclass(eq=False)
class _Call:
    function: Callable[[Any], Any]
    argument: Any
    losses: int = 0  # number of workers that died during the call

    @property
    def foreign(self) -> str | None:
        return getattr(self.argument, "foreign", None)  # code that its worker runs, see `Processes.submit`


class Calls(contextlib.AbstractContextManager["Calls"]):
    """Calls in this process, each executed when its result is requested; a context that closes them."""

    workers: int = 1  # largest number of concurrent calls

    def __init__(self) -> None:
        self._calls: collections.deque[_Call] = collections.deque()  # that have not begun

    def submit(self, function: Callable[[Any], Any], argument: Any) -> None:
        """Submit the call `function(argument)`."""
        self._calls.append(_Call(function, argument))

    def next(self) -> Any:
        """Execute the earliest call, of which there must be one; return its result, or raise its exception."""
        call = self._calls.popleft()
        return call.function(call.argument)

    def drop(self, unwanted: Callable[[Any], bool]) -> int:
        """Drop calls that have not started and whose argument is unwanted; return their number."""
        kept = [call for call in self._calls if not unwanted(call.argument)]
        dropped = len(self._calls) - len(kept)
        self._calls = collections.deque(kept)
        return dropped

    def map(self, function: Callable[[Any], Any], arguments: Sequence[Any]) -> Iterator[tuple[int, Any]]:
        """Run a call for each argument; yield (index of the argument, result) in the order of completion."""
        for i, argument in enumerate(arguments):
            self.submit(functools.partial(_numbered, i, function), argument)
        for _ in arguments:
            yield self.next()

    def close(self) -> None:
        """Stop the workers; there are none in this process."""

    def __exit__(self, *error: object) -> None:
        self.close()


class PooledCalls(Calls):
    """Calls on an executor with the interface of `concurrent.futures`: of Python, loky, Dask, mpi4py.

    A call whose worker died is retried alone, to find the one that kills its worker. A pool that breaks when a worker
    dies, as pools of processes do, is replaced if there is a factory.

    Args:
        pool: An executor, which is not closed, or a factory of executors, which are closed.
        workers: Largest number of calls submitted to the pool at once, an int >= 1; further ones wait, and can still be
            dropped.
        losses: Number of retries of a call whose worker died.

    Raises:
        ValueError: `pool` is neither an executor nor a factory.
    """

    def __init__(self, pool: Any, workers: int = 1000, losses: int = 2) -> None:
        super().__init__()
        made = hasattr(pool, "submit") and not isinstance(pool, type)
        self._factory: Any = None if made else pool
        self._made: Any = pool if made else None
        if not (made or callable(pool)):
            raise ValueError(f"executor must be a concurrent.futures.Executor or a factory of one, got {pool!r}")
        self.workers, self._losses = workers, losses
        self._flying: dict[concurrent.futures.Future[Any], _Call] = {}
        self._suspects: collections.deque[_Call] = collections.deque()

    def next(self) -> Any:
        """Return the result of a finished call, or raise its exception.

        Raises:
            WorkerLost: A call exceeded its time limit, or repeatedly lost its worker; other calls continue.
            RuntimeError: The pool is broken, and there is no factory to replace it.
        """
        while True:
            self._hand()
            finished, _ = concurrent.futures.wait(self._flying, return_when=concurrent.futures.FIRST_COMPLETED)
            future = finished.pop()
            call = self._flying.pop(future)
            try:
                ok, value = future.result()
            except Exception as error:  # what the call raises is a value: everything else is a lost worker
                self._lose(call, error)
                continue
            with contextlib.suppress(RuntimeError):  # a pool that is broken now is reported by the next call
                self._hand(call)
            if not ok:
                raise value
            return value

    def _hand(self, last: _Call | None = None) -> None:
        """Submit pending calls to the pool: those whose worker died one at a time, others up to the limit.

        A call that runs the same outside code as the last call comes first, because its worker is free.
        """
        while self._suspects or self._calls:
            if len(self._flying) >= (1 if self._suspects else self.workers):
                return
            call = (self._suspects or self._calls)[0]
            if last is not None and not self._suspects:
                alike, last = last.foreign, None
                call = next((c for c in self._calls if c.foreign == alike), call)
            try:
                if self._made is None:
                    self._made = made = self._factory()
                    if not callable(getattr(made, "submit", None)):
                        raise ValueError(f"executor must be a factory of objects with submit, got {shown(made)} of it")
                future = self._made.submit(_caught, call.function, call.argument)
                if not isinstance(future, concurrent.futures.Future):
                    got = f"{type(future).__module__}.{type(future).__qualname__}"
                    raise ValueError(f"executor must return a concurrent.futures.Future from submit, got a {got}")
            except concurrent.futures.BrokenExecutor as error:
                self._replace(error)
                continue
            (self._suspects or self._calls).remove(call)
            self._flying[future] = call

    def _lose(self, call: _Call, error: Exception) -> None:
        """Requeue a call whose worker died; raise `WorkerLost` after too many losses, or beyond its time limit."""
        if isinstance(error, concurrent.futures.BrokenExecutor):
            self._replace(error)
        call.losses += 1
        if isinstance(error, WorkerLost):
            raise WorkerLost(call.argument, str(error)) from error
        if call.losses > self._losses:
            died = isinstance(error, (concurrent.futures.BrokenExecutor, ChildProcessError))
            text = "" if died else f"the executor lost {call.argument!s:.200} each time, last by {error!r:.200}"
            raise WorkerLost(call.argument, text) from error
        self._suspects.append(call)

    def _replace(self, error: Exception) -> None:
        """Drop a broken pool; raise a RuntimeError if there is no factory."""
        if self._factory is None:
            raise RuntimeError(
                f"executor must not break unless it is a factory, which can replace it, got {error}; "
                "finished runs are stored, and the same call resumes"
            ) from error
        self._shut()

    def _shut(self) -> None:
        if self._factory is not None and self._made is not None:
            made, self._made = self._made, None
            with contextlib.suppress(Exception):  # it is broken
                made.shutdown(wait=False, cancel_futures=True)

    def close(self) -> None:
        """Cancel pending calls, and close a pool made by a factory."""
        for future in self._flying:
            future.cancel()
        self._flying.clear()
        self._shut()


AnyExecutor = Calls | concurrent.futures.Executor | Callable[[], concurrent.futures.Executor]
"""An executor, a factory of one, or `Calls` that the caller closes."""


def calls_on(pool: AnyExecutor | None) -> contextlib.AbstractContextManager[Calls]:
    """Return a context of calls on a user's executor or factory, or in this process (None); `Calls` are not closed."""
    if isinstance(pool, Calls):
        return contextlib.nullcontext(pool)
    return Calls() if pool is None else PooledCalls(pool)


def of_jobs(jobs: int) -> Calls:
    """Return calls in this process for one job, in `jobs` processes for more."""
    if jobs == 1:
        return Calls()
    from hpo_envs.benchmarks.runs.processes import Processes

    return PooledCalls(functools.partial(Processes, jobs), jobs)


def _numbered(i: int, function: Callable[[Any], Any], argument: Any) -> tuple[int, Any]:
    return i, function(argument)


def _caught(function: Callable[[Any], Any], argument: Any) -> tuple[bool, Any]:
    """Execute a call; return whether it succeeded, and its result or exception."""
    try:
        return True, function(argument)
    except Exception as error:
        error.add_note(traceback.format_exc())
        return False, error

"""Calls on any `concurrent.futures.Executor`: a pool of processes or threads, loky's, Dask's, submitit's, mpi4py's.

What a call raises comes back as a value, so that everything else that a future raises means a lost worker.
"""

import collections
import concurrent.futures
import contextlib
import traceback
from collections.abc import Callable
from typing import Any

from hpo_envs.benchmarks.runs.executors import LOSSES, Call, Executor, Serial, WorkerLost

FLYING = 1000
"""Calls that are handed to a pool at once, at most; the others can still be dropped."""

AnyExecutor = Executor | concurrent.futures.Executor | Callable[[], concurrent.futures.Executor]
"""An executor of ours, anybody's, or a factory of one."""


class Futures(Executor):
    """Runs calls on an executor with the interface of `concurrent.futures`.

    A call whose worker died is retried, alone, so that the one that kills its worker is found. A pool that breaks at a
    loss, as those of processes do, is replaced where there is a factory.

    Args:
        pool: The executor, which is not closed; or a factory of one, which is.
        flying: Calls that are handed to it at once, an int >= 1.
        losses: Retries of a call whose worker died.

    Raises:
        ValueError: `pool` is neither.
    """

    def __init__(self, pool: Any, flying: int = FLYING, losses: int = LOSSES) -> None:
        super().__init__()
        self._factory = None if hasattr(pool, "submit") else pool
        if self._factory is not None and not callable(pool):
            raise ValueError(f"executor must be a concurrent.futures.Executor or a factory of one, got {pool!r}")
        self._made: Any = pool if self._factory is None else None
        self.workers, self._losses = flying, losses
        self._flying: dict[concurrent.futures.Future[Any], Call] = {}
        self._suspects: collections.deque[Call] = collections.deque()

    def submit(self, function: Callable[[Any], Any], argument: Any) -> None:
        """Submit a call, and hand it to the pool if that has room."""
        super().submit(function, argument)
        self._hand()

    def next(self) -> Any:
        """Return the result of the first finished call.

        Raises:
            WorkerLost: Workers keep dying at this call; others continue.
            RuntimeError: The pool is broken, and there is no factory to replace it.
        """
        while True:
            self._hand()
            finished, _ = concurrent.futures.wait(self._flying, return_when=concurrent.futures.FIRST_COMPLETED)
            future = finished.pop()
            call = self._flying.pop(future)
            try:
                ok, value = future.result()
            except Exception as error:
                self._lose(call, error)
                continue
            if not ok:
                raise value
            return value

    def _hand(self) -> None:
        """Hand calls to the pool: one that has lost a worker alone, others as far as there is room."""
        while self._suspects or self._calls:
            if len(self._flying) >= (1 if self._suspects else self.workers):
                return
            call = (self._suspects or self._calls)[0]
            try:
                if self._made is None:
                    assert self._factory is not None
                    self._made = self._factory()
                future = self._made.submit(_caught, call.function, call.argument)
            except (concurrent.futures.BrokenExecutor, RuntimeError) as error:  # the latter of a pool that was closed
                self._replace(error)
                continue
            (self._suspects or self._calls).popleft()
            self._flying[future] = call

    def _lose(self, call: Call, error: Exception) -> None:
        """Take a call back whose worker was lost.

        Raises:
            WorkerLost: It has lost too many.
        """
        if isinstance(error, concurrent.futures.BrokenExecutor):
            self._replace(error)
        call.losses += 1
        if call.losses > self._losses:
            raise WorkerLost(call.argument) from error
        self._suspects.append(call)

    def _replace(self, error: Exception) -> None:
        """Drop a broken pool.

        Raises:
            RuntimeError: There is no factory to make another one.
        """
        if self._factory is None:
            raise RuntimeError(
                f"executor must work until the end, or be a factory that replaces it, got one that broke ({error}); "
                "what is finished is stored, and the same call resumes"
            ) from error
        self._shut()

    def _shut(self) -> None:
        if self._factory is not None and self._made is not None:
            made, self._made = self._made, None
            with contextlib.suppress(Exception):  # it is broken
                made.shutdown(wait=False, cancel_futures=True)

    def close(self) -> None:
        """Cancel pending calls, and close a pool that a factory made."""
        for future in self._flying:
            future.cancel()
        self._flying.clear()
        self._shut()


def _caught(function: Callable[[Any], Any], argument: Any) -> tuple[bool, Any]:
    """Whether a call succeeded, and its result or exception."""
    try:
        return True, function(argument)
    except Exception as error:
        error.add_note(traceback.format_exc())
        return False, error


def of_pool(pool: AnyExecutor | None) -> Executor:
    """Executor of what a user gives, as a context manager that closes nothing of the user's.

    Args:
        pool: See `AnyExecutor`; None: this process.

    Raises:
        ValueError: None of these.
    """
    if pool is None:
        return Serial()
    return pool if isinstance(pool, Executor) else Futures(pool)

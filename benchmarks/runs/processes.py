"""A pool of processes that kills calls beyond their time limit and isolates code from outside this package.

A dead worker only affects its own call, and a worker that has run code from outside this package runs no other code.
"""

import concurrent.futures
import contextlib
import ctypes
import functools
import multiprocessing
import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable
from multiprocessing import connection
from typing import Any

from hpo_envs.benchmarks.runs import limits
from hpo_envs.tables import screen

TICK = 1.0
"""Seconds between two checks of a worker that has not answered yet."""


class Processes(concurrent.futures.Executor):
    """A number of processes on this machine, each with one call at a time, so that calls do not affect each other.

    A worker whose call exceeds its `limits.deadline` by `limits.GRACE` is killed, and the call raises
    `limits.WorkerLost`; one that dies makes its call raise `ChildProcessError`. Programs that use it need `if __name__
    == "__main__":`, as with every pool of spawned processes.
    """

    def __init__(self, workers: int) -> None:
        self._workers = workers
        self._threads = concurrent.futures.ThreadPoolExecutor(workers)  # one waits for each process
        self._change = threading.Lock()
        self._all: list[_Worker] = []
        self._idle: list[_Worker] = []
        self._open = True

    def submit(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> concurrent.futures.Future[Any]:
        """Submit a call; `foreign` of its last positional argument, if it has one, names the outside code that runs."""
        return self._threads.submit(self._carry_out, functools.partial(function, *args, **kwargs))

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Kill the workers, with `wait` once all submitted calls have ended; `cancel_futures` drops those not begun."""
        self._threads.shutdown(wait, cancel_futures=cancel_futures)
        with self._change:
            self._open = False
            for worker in self._all:
                worker.process.kill()
            for worker in self._idle:
                worker.end()

    def _carry_out(self, call: functools.partial[Any]) -> Any:
        worker = self._worker(getattr(call.args[-1], "foreign", None) if call.args else None)
        try:
            ok, value = worker.answer(call)
        except BaseException:
            with self._change:
                self._all.remove(worker)
            worker.end()
            raise
        self._idle.append(worker)
        if not ok:
            raise value
        return value

    def _worker(self, code: str | None) -> "_Worker":
        """Take an idle worker that has run no outside code other than `code`, or start one."""
        with self._change:
            if not self._open:
                raise concurrent.futures.CancelledError
            for worker in sorted(self._idle, key=lambda worker: worker.foreign is None):
                if worker.foreign in (None, code) and worker.process.is_alive():
                    break
            else:
                if len(self._all) == self._workers:
                    old = self._idle.pop(0)
                    self._all.remove(old)
                    old.end()
                worker = _Worker()
                self._all.append(worker)
                self._idle.append(worker)
            self._idle.remove(worker)
            worker.foreign = code
            return worker


class _Worker:
    """The parent's handle of a process that executes calls."""

    def __init__(self) -> None:
        screen.open_closed()
        context = multiprocessing.get_context("spawn")  # a fork of a process with threads (Arrow's, BLAS') may hang
        self.pipe, theirs = context.Pipe()
        shown, output = context.Pipe(duplex=False)
        screen.relay(shown)
        self.process = context.Process(target=_work, args=(theirs, output))
        self.process.start()
        theirs.close()
        output.close()
        self.foreign: str | None = None
        self._number = 0

    def answer(self, call: Callable[[], Any]) -> tuple[bool, Any]:
        """Execute a call in the process; return whether it succeeded, and its result or exception.

        Raises:
            ChildProcessError: The worker has died.
            limits.WorkerLost: The process was killed because the call exceeded its time limit.
        """
        self._number += 1
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # it has just died, which is seen below
            self.pipe.send((self._number, call))
        limit, age = None, 0.0
        while True:
            start = time.monotonic()
            ready = connection.wait([self.pipe, self.process.sentinel], TICK)
            age += min(time.monotonic() - start, 2 * TICK)  # less than the clock says where all were stopped
            if self.pipe in ready:
                left = threading.TIMEOUT_MAX if limit is None else max(0.0, limit[0] + limits.GRACE - age)
                kill, start = threading.Timer(left, self.process.kill), time.monotonic()
                try:
                    if limit is not None:
                        kill.start()  # what an agent wrote into the pipe may announce more than comes
                    kind, *facts = self.pipe.recv()
                except (EOFError, OSError):
                    if limit is not None and time.monotonic() - start >= left:
                        raise limits.WorkerLost(call, limit[1]) from None
                    raise ChildProcessError("the worker died") from None
                except Exception as error:  # what was returned or raised cannot be read here
                    return False, error
                finally:
                    kill.cancel()
                if kind == "limit":
                    limit, age = facts[0], 0.0
                elif facts[0] == self._number:  # else of another call
                    return facts[1], facts[2]
            elif ready:
                raise ChildProcessError("the worker died")
            if limit is not None and age > limit[0] + limits.GRACE:
                raise limits.WorkerLost(call, limit[1])

    def end(self) -> None:
        """Kill the process (a stopped one reacts to no other signal) and close its pipe."""
        self.process.kill()
        self.process.join()
        self.pipe.close()


def _work(pipe: connection.Connection, output: connection.Connection) -> None:
    """Execute calls until the parent is gone; report the start and end of time limits to it."""
    _prepare()
    if os.name == "posix":
        for stream in (sys.stdout, sys.stderr):
            os.dup2(output.fileno(), stream.fileno())
            stream.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    limits.watch(lambda limit: pipe.send(("limit", limit)))
    number, process = 0, os.getpid()
    while True:
        number += 1
        try:
            _, call = pipe.recv()
        except (EOFError, OSError):
            return
        except Exception as error:  # what the call needs cannot be imported
            pipe.send(("answer", number, False, error))
            continue
        try:
            answer = True, call()
        except BaseException as error:
            error.add_note(traceback.format_exc())
            answer = False, error
        if os.getpid() != process:  # a child that the call forked has returned, too: its parent answers
            os._exit(0)
        try:
            pipe.send(("answer", number, *answer))
        except Exception as error:
            problem = ValueError(f"the result or exception of a call must be picklable, got {error!r}")
            pipe.send(("answer", number, False, problem))


def _prepare() -> None:
    """Ignore Ctrl-C, which the parent handles; end this process with its parent, and on Linux its own forks, too."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if sys.platform == "linux":
        libc = ctypes.CDLL(None)
        os.register_at_fork(after_in_child=lambda: libc.prctl(1, signal.SIGKILL))  # PR_SET_PDEATHSIG
    threading.Thread(target=_follow, args=(multiprocessing.parent_process(),), daemon=True).start()


def _follow(parent: Any) -> None:
    parent.join()
    os._exit(1)

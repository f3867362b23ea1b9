"""Limits of a run: default time limit, share of memory, BLAS threads; Ctrl-C raised by an agent."""

import contextlib
import ctypes
import functools
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

from threadpoolctl import ThreadpoolController

RUN_SECONDS = 3600.0
"""Default time limit of a run in seconds."""

GRACE = 5.0
"""Seconds between the end of the time limit and the kill of a worker whose code has not stopped."""


SHARE = 0.8
"""Fraction of the free memory at the start that a batch of runs may use."""


class RunTimeout(BaseException):
    """A run exceeded its time limit; not an `Exception`, so that agents do not catch it by accident."""


class WorkerLost(ChildProcessError):
    """A call killed its worker, or was killed because it exceeded its time limit; `argument` is that of the call."""

    def __init__(self, argument: Any, said: str = "") -> None:
        super().__init__(said or f"the worker died each time (out of memory? os._exit?) at {argument!s:.200}")
        self.argument = argument


_inner = threading.local()
"""Its `limit` is the end of the innermost deadline in this thread, on the monotonic clock, and its message."""

_tell: Callable[[tuple[float, str] | None], object] = lambda limit: None  # noqa: E731


def watch(tell: Callable[[tuple[float, str] | None], object]) -> None:
    """Call `tell` whenever a time limit begins (with its seconds and the error message) or ends (with None).

    For a monitor outside this process: code may block signals, stop its process or never return to Python.
    """
    global _tell
    _tell = tell


@contextlib.contextmanager
def deadline(
    seconds: float, text: str = "a run must end within {:g} s (--run-seconds), this one did not"
) -> Iterator[None]:
    """Context that raises `RunTimeout` in the enclosed code after `seconds`, and again every second until it ends.

    In the main thread on POSIX a signal does this, which interrupts sleeping code; elsewhere the interpreter does it
    between two bytecodes. Neither stops a loop in compiled code, but a worker is killed. `text` is the message of the
    error, with a placeholder for the seconds. Of nested contexts of a thread, the first limit counts.
    """
    main = threading.current_thread() is threading.main_thread() and hasattr(signal, "setitimer")
    before: tuple[float, str] | None = getattr(_inner, "limit", None)
    limit = (time.monotonic() + min(seconds, 1e9), text.format(seconds))  # clocks do not accept much longer ones
    _inner.limit = end, text = limit if before is None else min(limit, before)
    seconds = max(end - time.monotonic(), 1e-3)
    _tell((seconds, text))
    try:
        with _alarm(seconds) if main else _thread(seconds):
            yield
    except RunTimeout as timeout:
        timeout.args = timeout.args or (text,)  # another thread can only raise the class
        raise
    finally:
        _inner.limit = before
        _tell(None if before is None else (max(before[0] - time.monotonic(), 0.0), before[1]))


@contextlib.contextmanager
def _alarm(seconds: float) -> Iterator[None]:
    over = False

    def ring(number: int, frame: FrameType | None) -> None:
        if not over:
            raise RunTimeout

    before, start = signal.getsignal(signal.SIGALRM), time.monotonic()
    left, interval = signal.getitimer(signal.ITIMER_REAL)
    try:
        signal.signal(signal.SIGALRM, ring)
        signal.setitimer(signal.ITIMER_REAL, seconds, 1.0)
        yield
    finally:
        try:
            over = True
        finally:  # also if it rang at the line above
            signal.setitimer(signal.ITIMER_REAL, 0.0)
            signal.signal(signal.SIGALRM, before)
            if left:  # of an enclosing limit
                signal.setitimer(signal.ITIMER_REAL, max(left - time.monotonic() + start, 1e-3), interval)


@contextlib.contextmanager
def _thread(seconds: float) -> Iterator[None]:
    over, me = threading.Event(), threading.get_ident()

    def ring() -> None:
        wait = seconds
        while not over.wait(wait):
            ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(me), ctypes.py_object(RunTimeout))
            wait = 1.0

    watch = threading.Thread(target=ring, daemon=True)
    watch.start()
    try:
        yield
    finally:
        over.set()
        watch.join()


@contextlib.contextmanager
def interrupts() -> Iterator[None]:
    """Context in which a `KeyboardInterrupt` that the code itself raises becomes a `RuntimeError`; Ctrl-C does not."""
    before = signal.getsignal(signal.SIGINT)
    ours = threading.current_thread() is threading.main_thread() and callable(before)
    pressed = False

    def note(number: int, frame: FrameType | None) -> None:
        nonlocal pressed
        pressed = True
        before(number, frame)  # type: ignore[operator, misc]

    if ours:
        signal.signal(signal.SIGINT, note)
    try:
        yield
    except KeyboardInterrupt as error:
        if pressed:
            raise
        raise RuntimeError("code must not raise KeyboardInterrupt, which is reserved for Ctrl-C") from error
    finally:
        if ours:
            signal.signal(signal.SIGINT, before)


@contextlib.contextmanager
def memory() -> Iterator[None]:
    """Context that limits the enclosed code to `SHARE` of the free memory; exceeding it raises a `MemoryError`.

    Only on Linux and in the main thread; elsewhere nothing is limited.
    """
    free = available()
    if free is None or threading.current_thread() is not threading.main_thread():
        yield
        return
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    with open("/proc/self/statm", encoding="ascii") as stream:
        now = int(stream.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    limits = [value for value in (soft, hard, now + int(SHARE * free)) if value != resource.RLIM_INFINITY]
    resource.setrlimit(resource.RLIMIT_AS, (min(limits), hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def available() -> int | None:
    """Return the bytes of available memory on Linux; None if unknown."""
    try:
        with open("/proc/meminfo", encoding="ascii") as stream:
            return next(int(line.split()[1]) * 1024 for line in stream if line.startswith("MemAvailable"))
    except (OSError, StopIteration):
        return None


def one_blas_thread() -> contextlib.AbstractContextManager[Any]:
    """Return a context in which BLAS uses one thread; small kernels are ten times slower with two.

    Only loaded libraries are limited, so SciPy's is loaded first.
    """
    import scipy.linalg  # noqa: F401

    return _libraries(len(sys.modules)).limit(limits=1, user_api="blas")  # type: ignore[no-any-return]


@functools.lru_cache(maxsize=1)
def _libraries(modules: int) -> ThreadpoolController:  # finding them takes long; modules: those loaded so far
    return ThreadpoolController()

"""Guard for tests with malicious input: no crash, no hang, no long message, nothing written outside."""

import contextlib
import os
import resource
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

SECONDS = 90.0
"""Time limit of one input in seconds; test machines can be very busy."""

MEGABYTES = 400.0
"""Limit in MB of the growth of the process over all inputs of one test, including imports and caches."""

FORBIDDEN = {"socket.connect", "socket.bind", "subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.fork"}
CHANGES = {"os.mkdir", "os.remove", "os.rename", "os.rmdir", "os.link", "os.symlink", "os.truncate", "shutil.rmtree"}

_allowed: list[str] | None = None
_breaches: list[str] = []


LONGEST = 100_000
"""Largest number of characters of an error's message."""


class Unreadable(AssertionError):
    """An error without message, or with one that is too long."""


class Hang(AssertionError):
    """An input exceeded its time limit."""


def _hook(event: str, args: tuple[Any, ...]) -> None:
    if _allowed is None:
        return
    if event in FORBIDDEN:
        _breaches.append(f"{event} {args!r:.200}")
    elif event == "open":
        path, mode, flags = args
        writes = isinstance(flags, int) and flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC)
        if writes or (isinstance(mode, str) and set(mode) & set("wax+")):
            _check(event, path)
    elif event in CHANGES:
        _check(event, args[0])


def _check(event: str, path: Any) -> None:
    if isinstance(path, int) or _allowed is None:
        return
    whole = os.path.realpath(os.fsdecode(path))
    # Compiled modules are the interpreter's own business.
    if "__pycache__" not in whole and not (whole + os.sep).startswith((*_allowed, os.devnull)):
        _breaches.append(f"{event} {whole}")


sys.addaudithook(_hook)


def _out_of_time(*_: Any) -> None:
    raise Hang(f"an input must be answered within {SECONDS:g} s")


@contextlib.contextmanager
def guarded(*folders: Path, allowed: tuple[type[BaseException], ...] = (ValueError,)) -> Iterator[None]:
    """Allow documented errors, and fail for any other problem."""
    global _allowed
    old = signal.signal(signal.SIGALRM, _out_of_time)
    signal.setitimer(signal.ITIMER_REAL, SECONDS)
    _breaches.clear()
    _allowed = [os.path.realpath(f) + os.sep for f in folders]
    try:
        yield
    except allowed as error:
        if not 1 <= len(str(error)) < LONGEST:
            raise Unreadable(f"an error must have 1 to {LONGEST} characters, got {len(str(error))}") from error
    finally:
        _allowed = None
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, old)
    assert not _breaches, _breaches


@contextlib.contextmanager
def bounded() -> Iterator[None]:
    """Fail if the peak memory of the process grows too much."""
    before = peak()
    yield
    assert peak() - before < MEGABYTES, f"memory must stay bounded, grew by {peak() - before:.0f} MB"


def peak() -> float:
    """Largest resident size so far, in MB."""
    kilobytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return kilobytes / (1 << 20 if sys.platform == "darwin" else 1 << 10)

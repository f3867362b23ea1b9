"""Lock on a folder: the system's, or a file if the file system has none (network drives, Windows); stale locks.

The file names its holder, which touches it every `BEAT` seconds. A lock is abandoned if its holder was a process of
this machine and namespace and has ended, or if it was not touched for `STALE` seconds by the waiting process's clock.
A process that breaks a lock renames it first, so that only one process succeeds.
"""

from __future__ import annotations

import contextlib
import json
import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

from hpo_envs.tables.files.atomic import alive, machine, start_of

NAME = ".lock"
BEAT, STALE = 2.0, 15.0


@contextlib.contextmanager
def locked(folder: Path, wait: bool = True) -> Iterator[None]:
    """Hold the lock on a folder, after waiting for other holders to release it.

    Raises:
        BlockingIOError: The lock is held already, and `wait` is False.
        OSError: The folder cannot be opened, or its lock file cannot be written.
    """
    with contextlib.ExitStack() as stack:
        handle = _of_system(folder, wait)
        if handle is None:
            stack.enter_context(_file(folder / NAME, wait))
        else:  # goes with the process that holds it
            stack.callback(_released, handle, os.getpid(), os.fstat(handle))
        yield


def _of_system(folder: Path, wait: bool) -> int | None:
    """Take the system's lock on a folder and return its handle; None if the system or file system has none."""
    if fcntl is None:
        return None
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except BlockingIOError:
        os.close(handle)
        raise
    except OSError:
        os.close(handle)
        return None
    return handle


def _released(handle: int, process: int, folder: os.stat_result) -> None:
    """Release the system's lock, also where forked children still have the handle; they themselves only close it.

    A handle that a function closed meanwhile, or that is another file's now, is left alone.
    """
    try:
        if not os.path.samestat(os.fstat(handle), folder):
            return
    except OSError:
        return
    if os.getpid() == process:
        fcntl.flock(handle, fcntl.LOCK_UN)
    os.close(handle)


@contextlib.contextmanager
def _file(path: Path, wait: bool) -> Iterator[None]:
    pid = os.getpid()
    own = {"machine": machine(), "pid": pid, "start": start_of(pid), "key": os.urandom(8).hex()}
    identity = json.dumps(own)
    while not _taken(path, identity):
        held = _read(path)
        if held is None or _abandoned(path, held):
            _break(path, held)
        elif not wait:
            raise BlockingIOError(f"{path} is held by {held}")
        else:
            time.sleep(BEAT / 4)
    done = threading.Event()
    beats = threading.Thread(target=_beat, args=(path, identity, done), daemon=True)
    beats.start()
    try:
        yield
    finally:
        done.set()
        beats.join()
        if _read(path) == identity:
            path.unlink()


def _taken(path: Path, identity: str) -> bool:
    try:
        handle = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY)
    except FileExistsError:
        return False
    with os.fdopen(handle, "w") as stream:
        stream.write(identity)
    return True


def _read(path: Path) -> str | None:
    """The identity in a lock file: empty while it is being written, None if there is no lock."""
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return None


def _abandoned(path: Path, held: str) -> bool:
    """Return whether a lock is abandoned; waits up to `STALE` seconds for a touch if its process may be running."""
    with contextlib.suppress(ValueError, KeyError, TypeError):
        holder: dict[str, Any] = json.loads(held)
        if holder["machine"] == machine() and not alive(int(holder["pid"]), holder["start"]):
            return True
    beat, end = _beaten(path), time.monotonic() + STALE
    while time.monotonic() < end:
        time.sleep(min(BEAT / 4, STALE / 4))
        if _beaten(path) != beat or _read(path) != held:
            return False
    return True


def _beaten(path: Path) -> int | None:
    try:
        return path.stat().st_mtime_ns
    except FileNotFoundError:
        return None


def _break(path: Path, held: str | None) -> None:
    """Remove an abandoned lock; one that was taken meanwhile is restored."""
    aside = path.with_name(f"{NAME}-{os.urandom(8).hex()}")
    with contextlib.suppress(FileNotFoundError):
        os.rename(path, aside)
        if _read(aside) != held:
            with contextlib.suppress(OSError):
                os.link(aside, path)
        aside.unlink()


def _beat(path: Path, identity: str, done: threading.Event) -> None:
    while not done.wait(BEAT):
        if _read(path) != identity:
            return
        with contextlib.suppress(OSError):
            os.utime(path)

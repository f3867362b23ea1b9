"""Membership in a shared search (`join`): heartbeats that show which processes are alive."""

import contextlib
import os
import platform
import secrets
import threading
import time
from pathlib import Path

from hpo_envs.tables.files.atomic import alive, machine, start_of
from hpo_envs.tables.files.lock import locked

BEAT, STALE = 5.0, 60.0
"""Seconds between heartbeats, and seconds without one after which a process of another namespace counts as dead."""

TRIES = 5
"""Attempts to lock a search, within `BEAT` seconds, before the holder of the lock counts as a process that has not
joined."""

CLOCK = ".clock"
"""File whose time of modification shows the clock of the file system."""


class Membership:
    """Membership of this process in a search that several processes share.

    Args:
        folder: Folder of the search.

    Attributes:
        name: Unique name of the process: `HOST:PID:MACHINE-START-RANDOM`.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder / "workers"
        self._folder.mkdir(parents=True, exist_ok=True)
        pid = os.getpid()
        self.name = f"{platform.node()}:{pid}:{machine()}-{start_of(pid)}-{secrets.token_hex(4)}"
        self._ended = threading.Event()
        self._touch()
        threading.Thread(target=self._beat, daemon=True).start()

    def _touch(self) -> None:
        _file(self._folder, self.name).touch()

    def _beat(self) -> None:
        while not self._ended.wait(BEAT):
            with contextlib.suppress(OSError):  # a file server may be away for a while
                self._touch()

    def lives(self, name: str) -> bool:
        """Send a heartbeat; return whether the process with this name is alive, see `lives`."""
        self._touch()
        return name == self.name or lives(self._folder.parent, name)

    def excluded(self) -> bool:
        """Return whether a process that has not joined the search holds its lock, after at most `BEAT` seconds."""
        own = {_file(self._folder, self.name).name, CLOCK}
        for _ in range(TRIES):
            try:
                with locked(self._folder.parent, wait=False):
                    return False
            except BlockingIOError:
                if any(file.name not in own for file in self._folder.iterdir()):
                    return False
            time.sleep(BEAT / TRIES)
        return True

    def close(self) -> None:
        """Leave the search: stop the heartbeat and delete its file."""
        self._ended.set()
        _file(self._folder, self.name).unlink(missing_ok=True)


def _file(folder: Path, name: str) -> Path:
    return folder / name.replace(":", "_").replace("/", "_")


def lives(folder: Path, name: str) -> bool:
    """Return whether a process is alive: in this process namespace by its id, elsewhere by its last heartbeat.

    A process that has left the search is not alive.

    Args:
        folder: Folder of the search.
        name: Name of the process, see `Membership`.
    """
    file = _file(folder / "workers", name)
    if not file.exists():
        return False
    host, _, key = name.rpartition(":")
    place, start, _ = f"{key}--".split("-", 2)
    process = host.rpartition(":")[2]
    if place == machine() and process.isdigit() and os.name == "posix":
        return alive(int(process), start)
    clock = folder / "workers" / CLOCK
    clock.touch()  # the time of the file system, whatever this machine's is
    return clock.stat().st_mtime - file.stat().st_mtime < STALE

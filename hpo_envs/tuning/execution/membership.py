"""Processes that share a search (`join`): which of them are alive, so that evaluations of dead ones are taken over."""

import os
import platform
import secrets
import threading
import time
from pathlib import Path

from hpo_envs.tables.files.lock import locked

BEAT, STALE = 5.0, 60.0
"""Seconds between heartbeats, and seconds without one after which a process of another machine counts as dead."""

TRIES = 5
"""Attempts to lock a search, within `BEAT`, before its holder counts as a process that does not share it."""

CLOCK = ".clock"
"""File whose time of modification shows the clock of the file system."""


class Membership:
    """Membership of this process in a search that several processes share.

    Args:
        folder: Folder of the search.

    Attributes:
        name: Host, process id and a random part.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder / "workers"
        self._folder.mkdir(parents=True, exist_ok=True)
        self.name = f"{platform.node()}:{os.getpid()}:{secrets.token_hex(4)}"
        self._ended = threading.Event()
        self._touch()
        threading.Thread(target=self._beat, daemon=True).start()

    def _touch(self) -> None:
        _file(self._folder, self.name).touch()

    def _beat(self) -> None:
        while not self._ended.wait(BEAT):
            self._touch()

    def lives(self, name: str) -> bool:
        """Return whether a process of the search is alive; this one always is."""
        self._touch()
        return name == self.name or lives(self._folder.parent, name)

    def excluded(self) -> bool:
        """Return whether a process that does not share the search holds its lock."""
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
        """Leave the search."""
        self._ended.set()
        _file(self._folder, self.name).unlink(missing_ok=True)


def _file(folder: Path, name: str) -> Path:
    return folder / name.replace(":", "_").replace("/", "_")


def _runs(process: int) -> bool:
    """Return whether a process of this machine is alive; a zombie is not."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    status = Path(f"/proc/{process}/stat")
    return not status.exists() or status.read_text(encoding="utf-8").rpartition(")")[2].split()[0] != "Z"


def lives(folder: Path, name: str) -> bool:
    """Return whether a process is alive: on this machine by its id, elsewhere by its last heartbeat.

    One that has left the search is not.

    Args:
        folder: Folder of the search.
        name: Name of the process, see `Membership`.
    """
    file = _file(folder / "workers", name)
    if not file.exists():
        return False
    host, _, process = name.rpartition(":")[0].rpartition(":")
    if host == platform.node() and process.isdigit():
        return _runs(int(process))
    clock = folder / "workers" / CLOCK
    clock.touch()  # the time of the file system, whatever this machine's is
    return clock.stat().st_mtime - file.stat().st_mtime < STALE

"""A small study, a module of a user's own agents, and a Dask cluster."""

import json
import subprocess
import sys
import time
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from hpo_envs.benchmarks.runs.episodes import seeds_of

SMALL: dict[str, Any] = {
    "seeds": 5,
    "budget": 4,
    "environments": ["NMTHPO-zhen-v0", "NMTHPO-zhen-mo-v0"],
    "agents": ["random", {"name": "graph", "algorithm": "graph-ei-rbf"}],
}
UNLUCKY, DEADLY = ([seeds_of(env_id, seed)[1] for env_id in SMALL["environments"]] for seed in (2, 3))
MINE = f"""
import os, signal
from pathlib import Path
from hpo_envs.agents.random import RandomSearch

class Fails(RandomSearch):
    def __init__(self, problem, seed):
        super().__init__(problem, seed)
        if seed in {UNLUCKY}:
            raise RuntimeError("seed 2 is unlucky")

class Dies(RandomSearch):
    '''Takes its process with it: always, or once.'''
    def __init__(self, problem, seed, flag, once=True):
        super().__init__(problem, seed)
        if seed in {DEADLY} and not (once and Path(flag).exists()):
            Path(flag).touch()
            os.kill(os.getpid(), signal.SIGKILL)
"""


class Cluster:
    """A Dask scheduler and workers on this machine, each a process of its own, as on machines that others set up.

    Args:
        folder: For what they write; must exist.
        workers: How many.

    Attributes:
        scheduler: The process of the scheduler.
        workers: The processes of the workers.
    """

    def __init__(self, folder: Path, workers: int) -> None:
        self._folder, self._count = folder, workers
        self.workers: list[subprocess.Popen[bytes]] = []
        self.start()

    @property
    def address(self) -> str:
        """Of the scheduler."""
        return str(json.loads(self._file.read_text(encoding="utf-8"))["address"])

    def start(self) -> None:
        """Starts a scheduler and its workers, in place of those there may be."""
        self.close()
        self._file = self._folder / f"scheduler-{time.monotonic_ns()}.json"
        self.scheduler = self._start("scheduler", "--host", "127.0.0.1", "--port", "0")
        begin = time.monotonic()
        while not (self._file.exists() and self._file.stat().st_size):
            if time.monotonic() > begin + 120:
                raise TimeoutError("the scheduler did not start")
            time.sleep(0.05)
        self.workers = [self.add() for _ in range(self._count)]

    def add(self) -> subprocess.Popen[bytes]:
        """Starts a worker more, of one thread and without a nanny."""
        return self._start("worker", "--nthreads", "1", "--no-nanny", "--local-directory", str(self._folder))

    def _start(self, what: str, *words: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", f"distributed.cli.dask_{what}", "--no-dashboard", *words]
        with open(self._folder / "log", "ab") as log:
            return subprocess.Popen([*command, "--scheduler-file", str(self._file)], stdout=log, stderr=log)

    def close(self) -> None:
        """Kills all of them."""
        for process in (*self.workers, *([self.scheduler] if self.workers else [])):
            process.kill()
            process.wait()
        self.workers = []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

"""Disturbs a study at random moments, continues it, and compares it with one that was left alone.

python -m hpo_envs.benchmarks.performance.crash --how kill --times 50 --jobs 2

kill       SIGKILL to the study's process
workers    SIGKILL to one of its worker processes
stop       SIGSTOP to the study, its workers or both, and SIGCONT later, sometimes after more than a run may take
clock      as kill, with a wall clock that is years off at each look
dask       SIGKILL to a worker of a Dask cluster, in whose place another one starts
scheduler  SIGKILL to the cluster's scheduler, in whose place another one starts
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

import numpy as np

from hpo_envs.benchmarks.performance import trials
from hpo_envs.benchmarks.study import executors, parquet, scheduler, store, study
from hpo_envs.core import screen

MODULE = "hpo_envs.benchmarks.performance.crash"

RUN_SECONDS = 20.0
"""How long a run of the study may take; some stops are longer."""

CLOCK = """
import random, time
for name, second in (("time", 1), ("time_ns", 10**9)):
    true = getattr(time, name)
    setattr(time, name, lambda true=true, second=second: true() + random.randint(-10**9, 10**9) * second)
"""
"""A `sitecustomize` module, which each interpreter imports as it starts."""


def work(folder: Path, times: int, jobs: int, seconds: float, address: str = "") -> int:
    """Runs the study, or what is missing of it; it is long enough to be disturbed so often.

    Returns:
        How many agents failed.
    """
    data = {
        "seeds": 12 * times,
        "table": "surrogate",
        "environments": ["NMTHPO-zhen-v0", "NMTHPO-zhen-mo-v0", "FIESTA-tdsa8-v0"],
        "agents": ["random", "graph-ei-rbf", "bo-ei-rbf"],
    }
    with executors.Dask(address) if address else executors.of_jobs(jobs) as executor:
        try:
            outcome = scheduler.conduct(
                study.from_data(data), folder, executor, seconds=seconds, run_seconds=RUN_SECONDS
            )
        except ConnectionError as gone:
            sys.exit(str(gone))
    for (env, agent), error in outcome.errors.items():
        print(f"{agent} on {env}: {error.strip().splitlines()[-1]}", file=sys.stderr)
    return len(outcome.errors)


@dataclass(frozen=True)
class Result:
    """What came of it.

    Attributes:
        how: How the study was disturbed.
        times: How often, while it ran.
        grown: Before how many of them it had stored runs since the one before.
        starts: How often it was started.
        runs: Number of runs at the end.
        doubled: How many of them were stored twice.
        same: Whether the disturbed study equals the other one to the bit.
        good: Whether nothing went wrong.
    """

    how: str
    times: int
    grown: int
    starts: int
    runs: int
    doubled: int
    same: bool

    @property
    def good(self) -> bool:
        """Whether nothing was lost, doubled or changed, and a study that was not killed ended by itself."""
        return self.same and self.doubled == 0 and self.times > 0 and (self.how != "stop" or self.starts == 1)


def trial(folder: Path, how: str, times: int, jobs: int, seed: int, seconds: float = 0.05) -> Result:
    """Runs the study twice, once with disturbances.

    Args:
        folder: For the runs of both.
        how: One of `HOW`.
        times: How often to disturb it.
        jobs: Processes of the study.
        seed: Of the moments.
        seconds: Length of a task, so short that there is much to interrupt.

    Raises:
        AssertionError: Runs that were stored are gone, changed or half there; or a study that was left alone failed.
    """
    rng = np.random.default_rng(seed)
    whole, torn = folder / "whole", folder / "torn"
    command = [sys.executable, "-W", "ignore", "-m", MODULE, f"--times={times}", f"--jobs={jobs}"]
    command.append(f"--seconds={seconds}")
    done = grown = starts = 0
    have: dict[store.Key, str] = {}
    seen: dict[Path, dict[store.Key, str]] = {}
    with Cluster(folder, jobs) if how in ("dask", "scheduler") else contextlib.nullcontext() as cluster:
        while done < times:
            with _started(command, torn, folder if how == "clock" else None, cluster) as process:
                starts += 1
                while done < times and _moment(process, torn, float(rng.uniform(0.0, 0.3))):
                    done += HOW[how](process, cluster, rng)
                    now = _stored(torn, seen)
                    assert have.items() <= now.items(), "a run that was stored is gone or has changed"
                    grown += len(now) > len(have)
                    have = now
                if process.wait() == 0:
                    break
    for target in (torn, whole):
        subprocess.run([*command, "--work", str(target)], check=True)  # noqa: S603 (this module, in another process)
    one, two = store.read(whole), store.read(torn)
    stored = sum(len(block) for _, block in store.Store(torn).blocks())
    return Result(how, done, grown, starts, len(two), stored - len(two), store.digest(one) == store.digest(two))


def _stored(folder: Path, seen: dict[Path, dict[store.Key, str]]) -> dict[store.Key, str]:
    """The digests of the runs that are stored; of parts seen before, whose names have their sha256, nothing is read."""
    here = sorted(folder.rglob("*.parquet"))
    for part in here:
        if part not in seen:
            with contextlib.suppress(FileNotFoundError):  # a study that ends has tidied up
                seen[part] = {store.key_of(r): store.digest([r]) for r in parquet.decode(part).runs()}
    return {key: digest for part in here for key, digest in seen.get(part, {}).items()}


@contextlib.contextmanager
def _started(
    command: Sequence[str], out: Path, clock: Path | None, cluster: Cluster | None
) -> Iterator[subprocess.Popen[bytes]]:
    """A study at work in a group of processes of its own; the group does not outlive the context."""
    variables = dict(os.environ)
    if clock is not None:
        (clock / "sitecustomize.py").write_text(CLOCK, encoding="utf-8")
        variables["PYTHONPATH"] = os.pathsep.join([str(clock), *filter(None, [variables.get("PYTHONPATH")])])
    where = [f"--address={cluster.address}"] if cluster else []
    command = [*command, *where, "--work", str(out)]
    process = subprocess.Popen(command, env=variables, start_new_session=True)  # noqa: S603 (this module)
    try:
        yield process
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _moment(process: subprocess.Popen[bytes], folder: Path, seconds: float) -> bool:
    """Waits till a study is at work (a new part) and for some moment more, or, every fourth time, just for that.

    Returns:
        Whether it runs still.
    """
    before = len(list(folder.rglob("*.parquet")))
    begin = time.monotonic()
    if int(seconds * 1000) % 4:
        while process.poll() is None and time.monotonic() < begin + 60:
            if len(list(folder.rglob("*.parquet"))) > before:
                break
            time.sleep(0.01)
    time.sleep(seconds)
    return process.poll() is None


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
            assert time.monotonic() < begin + 120, "the scheduler did not start"
            time.sleep(0.05)
        self.workers = [self.add() for _ in range(self._count)]

    def add(self) -> subprocess.Popen[bytes]:
        """Starts a worker more, of one thread and without a nanny."""
        return self._start("worker", "--nthreads", "1", "--no-nanny", "--local-directory", str(self._folder))

    def _start(self, what: str, *words: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", f"distributed.cli.dask_{what}", "--no-dashboard", *words]
        with open(self._folder / "log", "ab") as log:
            return subprocess.Popen([*command, "--scheduler-file", str(self._file)], stdout=log, stderr=log)  # noqa: S603

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


def _kill(process: subprocess.Popen[bytes], cluster: Cluster | None, rng: np.random.Generator) -> bool:
    process.kill()
    process.wait()
    return True


def _kill_worker(process: subprocess.Popen[bytes], cluster: Cluster | None, rng: np.random.Generator) -> bool:
    workers = _workers(process.pid)
    if workers:
        os.kill(int(rng.choice(workers)), signal.SIGKILL)
    return bool(workers)


def _stop(process: subprocess.Popen[bytes], cluster: Cluster | None, rng: np.random.Generator) -> bool:
    everybody = [process.pid, *_workers(process.pid)]
    some = (everybody, everybody[:1], everybody[1:])[int(rng.integers(3))] or everybody
    _send(some, signal.SIGSTOP)
    time.sleep(RUN_SECONDS + 1.0 if rng.random() > 0.95 else rng.uniform(0.0, 0.3))
    _send(some, signal.SIGCONT)
    return True


def _kill_far_worker(process: subprocess.Popen[bytes], cluster: Cluster | None, rng: np.random.Generator) -> bool:
    assert cluster is not None
    i = int(rng.integers(len(cluster.workers)))
    _kill(cluster.workers[i], cluster, rng)
    cluster.workers[i] = cluster.add()
    return True


def _kill_scheduler(process: subprocess.Popen[bytes], cluster: Cluster | None, rng: np.random.Generator) -> bool:
    assert cluster is not None
    _kill(cluster.scheduler, cluster, rng)
    assert process.wait(120) != 0, "a study without its scheduler must say that it did not end"
    cluster.start()
    return True


Disturb = Callable[[subprocess.Popen[bytes], Cluster | None, np.random.Generator], bool]
"""`disturb(process, cluster, rng)`: whether there was something to disturb."""

HOW: dict[str, Disturb] = {
    "kill": _kill,
    "workers": _kill_worker,
    "stop": _stop,
    "clock": _kill,
    "dask": _kill_far_worker,
    "scheduler": _kill_scheduler,
}


def _send(processes: Sequence[int], what: signal.Signals) -> None:
    for process in processes:
        with contextlib.suppress(ProcessLookupError):
            os.kill(process, what)


def _workers(pid: int) -> list[int]:
    """Worker processes that a study has started (Linux)."""
    found: list[int] = []
    with contextlib.suppress(FileNotFoundError):
        for thread in Path(f"/proc/{pid}/task").iterdir():
            found.extend(map(int, (thread / "children").read_text(encoding="ascii").split()))
    return [child for child in found if b"spawn_main" in _command(child)]


def _command(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except FileNotFoundError:
        return b""


@screen.on()
def main() -> int:
    """Makes the trial from the command line; exit status 1 if anything was lost or doubled."""
    parser = trials.parser(
        __doc__,
        times=(50, "how often to disturb the study"),
        jobs=(2, "processes of the study"),
        seed=(0, "of the moments"),
        seconds=(0.05, "length of a task"),
    )
    parser.add_argument("--how", choices=[*HOW], default="kill", help="as above (default: %(default)s)")
    parser.add_argument("--work", type=Path, help="only run the study, in this folder")
    parser.add_argument("--address", default="", help="of the Dask scheduler that it uses")
    args = vars(parser.parse_args())
    out, address = args.pop("work"), args.pop("address")
    if out is not None:
        return 1 if work(out, args["times"], args["jobs"], args["seconds"], address) else 0
    return trials.conduct(trial, **args)


if __name__ == "__main__":
    sys.exit(main())

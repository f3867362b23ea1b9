"""Kills a study at random moments, continues it, and compares it with one that was left alone.

python -m hpo_envs.benchmarks.performance.crash --kills 50 --jobs 2
"""

from __future__ import annotations

import argparse
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from hpo_envs.benchmarks.study import executors, scheduler, store, study


def work(folder: Path, kills: int, jobs: int, seconds: float) -> None:
    """Runs the study, or what is missing of it; it is long enough to be killed so often."""
    data = {
        "seeds": 12 * kills,
        "table": "surrogate",
        "environments": ["NMTHPO-zhen-v0", "NMTHPO-zhen-mo-v0", "FIESTA-tdsa8-v0"],
        "agents": ["random", "graph-ei-rbf", "bo-ei-rbf"],
    }
    with executors.of_jobs(jobs) as executor:
        scheduler.conduct(study.from_data(data), folder, executor, seconds=seconds)


@dataclass(frozen=True)
class Result:
    """What came of it.

    Attributes:
        kills: How many processes were killed while they ran.
        grown: How many of them had stored runs that were not stored before.
        same: Whether the continued study equals the uninterrupted one to the bit.
        runs: Number of runs.
    """

    kills: int
    grown: int
    same: bool
    runs: int


def trial(folder: Path, kills: int, jobs: int, seed: int, seconds: float = 0.05) -> Result:
    """Runs the study twice, once with kills.

    Args:
        folder: For the runs of both.
        kills: How often to kill (`SIGKILL`).
        jobs: Processes of the study.
        seed: Of the moments.
        seconds: Length of a task, so short that there is much to interrupt.

    Raises:
        AssertionError: Runs that were stored are gone, changed or half there.
    """
    here = [
        sys.executable,
        "-W",
        "ignore",
        "-m",
        "hpo_envs.benchmarks.performance.crash",
        f"--kills={kills}",
        f"--jobs={jobs}",
    ]
    command = [*here, f"--seconds={seconds}", "--work"]
    rng = np.random.default_rng(seed)
    whole, torn = folder / "whole", folder / "torn"
    killed = grown = 0
    have: dict[store.Key, str] = {}
    while killed < kills:
        process = subprocess.Popen([*command, str(torn)])  # noqa: S603 (this module, in another process)
        _wait(process, torn, len(have), float(rng.uniform(0.0, 0.3)))
        if process.poll() is not None:
            break  # it finished before it could be killed
        process.send_signal(signal.SIGKILL)
        process.wait()
        killed += 1
        now = {store.key_of(r): store.digest([r]) for r in store.read(torn)} if torn.is_dir() else {}
        assert have.items() <= now.items(), "a run that was stored is gone or has changed"
        grown += len(now) > len(have)
        have = now
    for target in (torn, whole):
        subprocess.run([*command, str(target)], check=True)  # noqa: S603 (as above)
    one, two = store.read(whole), store.read(torn)
    return Result(killed, grown, store.digest(one) == store.digest(two), len(two))


def _wait(process: subprocess.Popen[bytes], folder: Path, have: int, seconds: float) -> None:
    """Waits till a study is at work (a new part) and for some moment more, or, every fourth time, just for that."""
    before = len(list(folder.rglob("*.parquet")))
    begin = time.monotonic()
    if int(seconds * 1000) % 4:
        while process.poll() is None and time.monotonic() < begin + 60:
            if len(list(folder.rglob("*.parquet"))) > before:
                break
            time.sleep(0.01)
    time.sleep(seconds)


def main() -> int:
    """Runs the trial from the command line; exit status 1 if the studies differ."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=50, help="how often to kill (default: %(default)s)")
    parser.add_argument("--jobs", type=int, default=1, help="processes of the study (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="of the moments (default: %(default)s)")
    parser.add_argument("--seconds", type=float, default=0.05, help="length of a task (default: %(default)s)")
    parser.add_argument("--work", type=Path, help="only run the study, in this folder")
    args = parser.parse_args()
    if args.work is not None:
        work(args.work, args.kills, args.jobs, args.seconds)
        return 0
    with tempfile.TemporaryDirectory() as folder:
        result = trial(Path(folder), args.kills, args.jobs, args.seed, args.seconds)
    print(result)
    return 0 if result.same and result.kills == args.kills else 1


if __name__ == "__main__":
    sys.exit(main())

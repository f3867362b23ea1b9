"""Kills a search with four workers at random moments, starts it again, and looks whether the budget was spent once.

    python -m hpo_envs.benchmarks.performance.killed --kills 20

The program is `docs/examples/tune_sklearn.py`: 40 evaluations of a support vector machine of scikit-learn.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import hpo_envs
from hpo_envs.benchmarks.performance import trials
from hpo_envs.benchmarks.study.journal import Journal
from hpo_envs.benchmarks.tuning.record import NAME
from hpo_envs.core import screen

ROOT = Path(hpo_envs.__file__).resolve().parent.parent
EXAMPLE = ROOT / "docs" / "examples" / "tune_sklearn.py"

MOST = 3
"""Records that a search may write between two kills, at most: 40 evaluations write 80."""


@dataclass(frozen=True)
class Result:
    """What came of it.

    Attributes:
        kills: How often it was killed while it ran.
        budget: Evaluations that it was to make.
        ended: How many are on record at the end.
        doubled: How many of them ended more than once.
        changed: How many were on record before a kill, and were others after it.
    """

    kills: int
    budget: int
    ended: int
    doubled: int
    changed: int

    @property
    def good(self) -> bool:
        """Whether the budget was spent exactly once."""
        return self.kills > 0 and self.ended == self.budget and not self.doubled and not self.changed


def trial(folder: Path, kills: int, seed: int = 0, program: Path = EXAMPLE, budget: int = 40) -> Result:
    """Kills a program that tunes, again and again, and then leaves it alone.

    Args:
        folder: For the search.
        kills: How often to kill it: its process, or every other time its workers with it.
        seed: Of the moments.
        program: Python program whose only argument is the folder of the search.
        budget: Evaluations that it makes.

    Raises:
        subprocess.CalledProcessError: Left alone, it fails.
    """
    rng = np.random.default_rng(seed)
    out, done, changed = folder / "out", 0, 0
    seen: list[Any] = []
    command = [sys.executable, "-W", "ignore", str(program), str(out)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])}
    while done < kills:
        running = subprocess.Popen(  # noqa: S603 (a program of this repository)
            command, env=environment, start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        _wait(running, out, len(seen) + int(rng.integers(MOST + 1)), float(rng.uniform(0.0, 0.2)))
        if running.poll() is not None:
            break
        kill, group = (os.killpg, os.getpgid(running.pid)) if done % 2 else (os.kill, running.pid)
        kill(group, signal.SIGKILL)
        running.wait()
        done += 1
        now = _records(out)
        changed += _changed(seen, now)
        seen = now
    subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL)  # noqa: S603
    now = _records(out)
    changed += _changed(seen, now)
    ended = [r["number"] for r in now if r["what"] == "ended"]
    return Result(done, budget, len(set(ended)), len(ended) - len(set(ended)), changed)


def _changed(before: list[Any], now: list[Any]) -> int:
    """How many records are other ones, or gone."""
    return sum(a != b for a, b in zip(before, now, strict=False)) + max(len(before) - len(now), 0)


def _wait(running: subprocess.Popen[bytes], out: Path, records: int, seconds: float) -> None:
    """Waits till so many records are on the disk, and some moment more."""
    while running.poll() is None and len(_records(out)) < records:
        time.sleep(0.02)
    time.sleep(seconds)


def _records(out: Path) -> list[Any]:
    """What is on the disk; a record that is just being written is not."""
    path = out / NAME
    return Journal(path).records if path.is_file() else []


@screen.on()
def main() -> int:
    """Makes the trial from the command line; exit status 1 if anything went wrong."""
    parser = trials.parser(__doc__, kills=(20, "how many"), seed=(0, "of the moments"))
    return trials.conduct(trial, **vars(parser.parse_args()))


if __name__ == "__main__":
    sys.exit(main())

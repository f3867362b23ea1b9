"""Several `hpo-envs compare` on one folder at once: does each succeed, is every run there once, are summaries whole?

python -m hpo_envs.benchmarks.performance.races --races 200 --commands 20
"""

from __future__ import annotations

import contextlib
import io
import multiprocessing
import os
import runpy
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from hpo_envs.benchmarks.performance import trials
from hpo_envs.benchmarks.study import store
from hpo_envs.core import screen

ENV, PLAIN = "NMTHPO-swen-v0", "NMTHPO-swen-mo-v0"
"""What is run: one race in ten draws a plot, which takes longest, the others have two objectives and none."""

OPTIONS = ("--agents=random,regularized-evolution", "--budget=5", "--table=surrogate")


@dataclass
class Result:
    """What came of it.

    Attributes:
        races: How many there were.
        processes: How many processes ran in them.
        shared: Races in which several processes made runs.
        faults: What was wrong, one line each; must be none.
    """

    races: int = 0
    processes: int = 0
    shared: int = 0
    faults: list[str] = field(default_factory=list)

    @property
    def good(self) -> bool:
        """Whether nothing was wrong."""
        return not self.faults


def trial(folder: Path, races: int, commands: int, seed: int = 0, seeds: int = 24) -> Result:
    """Runs races, of two and of four processes in turn, each on a folder of its own.

    Args:
        folder: For the folders.
        races: How many.
        commands: In how many of them, the first ones, each process is an interpreter of its own, started from the
            command line; in the others it is a fork that runs the same command.
        seed: Of the moments at which processes start.
        seeds: Runs of each agent.
    """
    rng, result = np.random.default_rng(seed), Result()
    whole: dict[str, Path] = {}
    for k in range(races):
        env = PLAIN if k % 10 else ENV
        options = ["compare", f"--env={env}", *OPTIONS, f"--seeds={seeds}"]
        if env not in whole:
            whole[env] = folder / f"alone-{env}"
            assert _forks([options], whole[env], [0.0]) == [0]
        out, count = folder / str(k), 2 + 2 * (k % 2)
        # Some processes wait less than a part takes, some longer, so that all phases meet.
        waits = rng.uniform(0.0, 0.1 if k % 3 else 1.0, count).tolist()
        statuses = (_interpreters if k < commands else _forks)([options] * count, out, waits)
        result.races += 1
        result.processes += count
        result.faults.extend(f"race {k}: {fault}" for fault in faults(out, whole[env], env, statuses))
        logs = [(out / f"log-{i}").read_text(encoding="utf-8") for i in range(count)]
        result.shared += sum(" runs made in " in t and "\n0 runs made" not in t for t in logs) > 1
    return result


def _interpreters(commands: Sequence[Sequence[str]], out: Path, waits: Sequence[float]) -> list[int]:
    out.mkdir(parents=True)
    running = []
    for i, (words, wait) in enumerate(zip(commands, waits, strict=True)):
        with open(out / f"log-{i}", "wb") as log:
            command = [sys.executable, "-W", "ignore", "-m", "hpo_envs", *words, f"--out={out}"]
            running.append(subprocess.Popen(command, stdout=log, stderr=log))  # noqa: S603 (this package's command)
        time.sleep(wait / len(commands))
    return [process.wait() for process in running]


def _forks(commands: Sequence[Sequence[str]], out: Path, waits: Sequence[float]) -> list[int]:
    out.mkdir(parents=True, exist_ok=True)
    context = multiprocessing.get_context("fork")
    running = []
    for i, (words, wait) in enumerate(zip(commands, waits, strict=True)):
        running.append(context.Process(target=_command, args=([*words, f"--out={out}"], out / f"log-{i}", wait)))
        running[-1].start()
    for process in running:
        process.join()
    return [process.exitcode or 0 for process in running]


def _command(words: list[str], log: Path, wait: float) -> None:
    text, status = io.StringIO(), 0
    time.sleep(wait)
    sys.argv[1:] = words
    with contextlib.redirect_stdout(text), contextlib.redirect_stderr(text):
        try:
            runpy.run_module("hpo_envs", run_name="__main__")
        except SystemExit as stop:
            status = int(stop.code or 0)
    log.write_text(text.getvalue(), encoding="utf-8")
    os._exit(status)


def faults(out: Path, alone: Path, env: str, statuses: Sequence[int]) -> list[str]:
    """What is wrong with a folder, compared with that of one process alone."""
    wrong = [f"process {i} ended with {status}" for i, status in enumerate(statuses) if status]
    logs = [out / f"log-{i}" for i, status in enumerate(statuses) if status]
    wrong += [f"{log.name} says {log.read_text(encoding='utf-8')[-300:]!r}" for log in logs if log.exists()]
    runs, expected = store.read(out), store.read(alone)
    if store.digest(runs) != store.digest(expected):
        wrong.append(f"{len(runs)} runs instead of {len(expected)}, or different ones")
    stored = sum(len(block) for _, block in store.Store(out).blocks())
    if stored != len(expected):
        wrong.append(f"{stored} runs in parts instead of {len(expected)}")
    files = [
        p for p in (*alone.iterdir(), *(alone / env).iterdir()) if p.is_file() and p.suffix not in (".parquet", "")
    ]
    for file in sorted(p.relative_to(alone) for p in files):
        if not (out / file).is_file() or (out / file).read_bytes() != (alone / file).read_bytes():
            wrong.append(f"{file} is missing or differs")
    wrong += [f"{p.name} was left behind" for p in out.rglob("*.part")]
    return wrong


@screen.on()
def main() -> int:
    """Makes the trial from the command line; exit status 1 if anything went wrong."""
    parser = trials.parser(
        __doc__, races=(200, "how many"), commands=(20, "races of interpreters"), seed=(0, "of the moments")
    )
    return trials.conduct(trial, **vars(parser.parse_args()))


if __name__ == "__main__":
    sys.exit(main())

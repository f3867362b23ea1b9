"""Damages stored parts and journals, a bit or an end at a time, and counts how often other data are read from them.

python -m hpo_envs.benchmarks.performance.flips --flips 10000 --truncations 1000
"""

from __future__ import annotations

import collections
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from hpo_envs.benchmarks.performance import trials
from hpo_envs.benchmarks.runs import run
from hpo_envs.benchmarks.study import parquet, store
from hpo_envs.benchmarks.study.journal import Journal
from hpo_envs.core import screen

IDS = ("NMTHPO-swen-v0", "NMTHPO-swen-mo-v0", "NMTLC-swen-v0", "FIESTA-tdsa8-v0", "CharHPO-v0", "NASBenchNLP-cell-v0")
"""One of each engine, and one with two objectives."""

BUDGETS = {"NMTLC-swen-v0": None}
"""Budgets other than 20 evaluations."""


@dataclass(frozen=True)
class Result:
    """What came of it.

    Attributes:
        refused: Damaged files that were refused.
        shortened: Damaged journals that were read up to a line that had not been finished, as after a kill.
        other: Damaged files from which other data were read; must be 0.
    """

    refused: int
    shortened: int
    other: int

    @property
    def good(self) -> bool:
        """Whether no other data were read."""
        return self.other == 0


def trial(folder: Path, flips: int, truncations: int, seed: int = 0, seeds: int = 20) -> Result:
    """Damages copies of parts and of a journal, all with the same share, and reads them.

    Args:
        folder: For the files.
        flips: How often to flip one bit, anywhere in a file.
        truncations: How often to cut a file off, anywhere.
        seed: Of the places.
        seeds: Runs in a part.
    """
    files = _files(folder, seeds)
    rng = np.random.default_rng(seed)
    counts: collections.Counter[str] = collections.Counter()
    for k in range(flips + truncations):
        path, read = files[k % len(files)]
        whole = path.read_bytes()
        if k < flips:
            data = bytearray(whole)
            at = int(rng.integers(8 * len(data)))
            data[at // 8] ^= 1 << at % 8
        else:
            data = bytearray(whole[: int(rng.integers(len(whole)))])
        path.write_bytes(data)
        counts[read(path)] += 1
        path.write_bytes(whole)
    return Result(counts["refused"], counts["shortened"], counts["other"])


def _files(folder: Path, seeds: int) -> list[tuple[Path, Callable[[Path], str]]]:
    """Parts of all engines and a journal, each with the function that reads a damaged copy and says what came of it."""
    for env in IDS:
        store.write(run("random", env, range(seeds), budget=BUDGETS.get(env, 20)), folder / "runs")
    made: list[tuple[Path, Callable[[Path], str]]] = [(p, _read_part) for p in sorted(folder.rglob("*.parquet"))]
    journal = Journal(folder / "journal")
    rng = np.random.default_rng(0)
    for k in range(seeds):
        journal.append({"number": k, "config": {"a": float(rng.random()), "b": "x" * (k % 7)}, "reward": rng.random()})
    records = journal.records

    def read_journal(path: Path) -> str:
        try:
            got = Journal(path).records
        except ValueError:
            return "refused"
        return "shortened" if got == records[: len(got)] and len(got) < len(records) else "other"

    return [*made, (journal.path, read_journal)]


def _read_part(path: Path) -> str:
    try:
        parquet.decode(path)
    except ValueError:
        return "refused"
    return "other"


@screen.on()
def main() -> int:
    """Makes the trial from the command line; exit status 1 if other data were read."""
    parser = trials.parser(
        __doc__,
        flips=(10000, "single bits to flip"),
        truncations=(1000, "files to cut off"),
        seed=(0, "of the places"),
    )
    return trials.conduct(trial, **vars(parser.parse_args()))


if __name__ == "__main__":
    sys.exit(main())

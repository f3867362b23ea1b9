"""Trains what CharMini's table is made of, or one row of it again.

Trainings are kept one by one in `--out`: stopped however, the same command goes on where it was, and nothing is trained
twice. They take one thread each. `--pack` writes what is kept, and what ships, as the table's data.
"""

from __future__ import annotations

import argparse
import io
import itertools
import sys
from pathlib import Path
from typing import Any

import numpy as np

from hpo_envs.benchmarks.study import executors, trainings
from hpo_envs.tables import store
from hpo_envs.tables.datasets.cellmini import measure as cells
from hpo_envs.tables.datasets.charmini import measure, measured
from hpo_envs.tables.datasets.charmini.check import compare
from hpo_envs.tables.datasets.charmini.names import ARCHITECTURES, SEEDS, architecture_of
from hpo_envs.tables.files import atomic
from hpo_envs.tables.table import one_of
from hpo_envs.tables.trained.record import trainer

VERDICTS = {
    "same": "the same in every epoch",
    "agrees": "not the same, and within what seeds differ by",
    "differs": "not the same, by more than seeds differ",
}

SUITES: dict[str, Any] = {suite.NAME: suite for suite in (measure, cells)}
"""Modules of what can be measured, by what the command is asked for."""

EPILOG = """\
examples:
  hpo-envs measure CharMini --jobs 2 --out charmini/             every training that does not ship yet
  hpo-envs measure CharMini --out charmini/ --pack measured.npz  what is stored, as the data of the table
  hpo-envs measure CharMini --check 10                           train ten that ship again, and compare
  hpo-envs measure CharMini-eng-lstm-v0 --row 17 --seed 1        train a row again, and compare epoch by epoch"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the options."""
    parser.add_argument("name", help="CharMini: all that is missing; or an id of it: one row")
    parser.add_argument("--out", type=Path, default=Path("charmini"), help="folder (default: %(default)s)")
    parser.add_argument("--jobs", type=int, default=1, help="trainings at once (default: %(default)s)")
    parser.add_argument("--rows", type=int, help="configurations, or cells (default: 64; of CellMini all)")
    parser.add_argument("--check", type=int, metavar="N", help="train N of those that ship again, and compare")
    parser.add_argument("--row", type=int, help="row of the id's table to train again")
    parser.add_argument("--seed", type=int, default=0, help="which of its trainings, 0 to 2 (default: %(default)s)")
    parser.add_argument("--pack", type=Path, metavar="FILE", help="train nothing; write what is stored to FILE")


def run(args: argparse.Namespace) -> int:
    """Runs the command."""
    if args.name in measure.IDS:
        return _again(measure.IDS[args.name], args.row, args.seed)
    suite = SUITES[one_of("name", args.name, (*SUITES, *measure.IDS))]
    if args.row is not None:
        raise ValueError(f"--row must go with an id, such as {next(iter(measure.IDS))}, got {args.name}")
    if args.pack is not None:
        return _pack(args.out, args.pack)
    if args.check is not None:
        return _check(args.check)
    rows = suite.ROWS if args.rows is None else args.rows
    if not 1 <= rows <= suite.DRAWN:
        raise ValueError(f"--rows must be an int from 1 to {suite.DRAWN}, got {rows}")
    if args.jobs < 1:
        raise ValueError(f"--jobs must be an int >= 1, got {args.jobs}")
    trainer()
    tasks, known = suite.tasks(rows), suite.known()
    with executors.of_jobs(args.jobs) as executor:
        made = trainings.conduct(tasks, suite.train, args.out, executor, known=known, watch=_watch)
    print(f"{made} trainings made, {len(tasks)} in all; {args.out}")
    return 0


def _again(table: str, row: int | None, seed: int) -> int:
    """Trains a row again; the exit status is 1 where it differs by more than seeds do."""
    stored = store.load(table)
    if row is None or not 0 <= row < len(stored):
        raise ValueError(f"--row must be an int from 0 to {len(stored) - 1}, got {row}")
    if not 0 <= seed < SEEDS:
        raise ValueError(f"--seed must be an int from 0 to {SEEDS - 1}, got {seed}")
    record = measure.train(f"{architecture_of(table)}-{stored.source_index[row]}-{seed}")
    check = compare(measured.load(), record)
    print(f"{'epoch':>5}{'accuracy':>20}{'phoneme errors':>20}{'nll':>24}")
    for epoch, (old, new) in enumerate(itertools.zip_longest(check.stored.tolist(), check.new.tolist()), 1):
        cells = [_pair(old, new, j, digits) for j, digits in ((0, 1), (1, 1), (2, 6))]
        print(f"{epoch:>5}{cells[0]:>20}{cells[1]:>20}{cells[2]:>24}")
    print(f"stored and new: {VERDICTS[check.verdict]} ({check.deviations:.2f} seed standard deviations apart)")
    print(f"{record['processor']}, torch {record['versions']['torch']}, {sum(record['seconds'][-1:]):.0f} s")
    return 1 if check.verdict == "differs" else 0


def _check(count: int) -> int:
    """Trains some again, spread over all that ship; the exit status is 1 where one differs by more than seeds do."""
    known = measured.known()
    if not 1 <= count <= len(known):
        raise ValueError(f"--check must be an int from 1 to {len(known)}, which ship, got {count}")
    verdicts = []
    for task in known[:: len(known) // count][:count]:
        check = compare(measured.load(), measure.train(task))
        verdicts.append(check.verdict)
        print(f"{task}: {VERDICTS[check.verdict]} ({check.deviations:.2f} seed standard deviations apart)")
    counts = ", ".join(f"{verdicts.count(v)} {v}" for v in VERDICTS)
    print(f"{count} trainings made again: {counts}")
    return 1 if "differs" in verdicts else 0


def _pair(old: list[float] | None, new: list[float] | None, j: int, digits: int) -> str:
    return "  ".join("-" if values is None else f"{values[j]:.{digits}f}" for values in (old, new))


def _pack(folder: Path, target: Path) -> int:
    before = measured.load() if measured.FILE.exists() else None
    arrays = measured.pack(trainings.records(folder), before)
    stream = io.BytesIO()
    np.savez_compressed(stream, **arrays)
    atomic.write(target, stream.getvalue())
    counts = ", ".join(f"{measured.complete(arrays, name)} of {name}" for name in ARCHITECTURES)
    print(f"{target}: configurations with all seeds: {counts}")
    return 0


def _watch(done: int, total: int) -> None:
    print(f"{done} of {total} trainings", file=sys.stderr, flush=True)

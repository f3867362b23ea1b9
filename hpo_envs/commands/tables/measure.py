"""Trains what the tables of this project are made of, or one row of them again.

Trainings are kept one by one in `--out`: stopped however, the same command goes on where it was, and nothing is trained
twice. They take one thread each. `--pack` writes what is kept, and what ships, as the table's data.
"""

from __future__ import annotations

import argparse
import io
import itertools
import sys
from pathlib import Path

import numpy as np

from hpo_envs.benchmarks.study import executors, trainings
from hpo_envs.checks import one_of
from hpo_envs.tables import store
from hpo_envs.tables.datasets.cellmini import measure as cellmini
from hpo_envs.tables.datasets.charmini import measure as charmini
from hpo_envs.tables.datasets.trained.record import trainer
from hpo_envs.tables.datasets.trained.suite import VERDICTS, Suite
from hpo_envs.tables.files import atomic

SUITES = {suite.name: suite for suite in (charmini.SUITE, cellmini.SUITE)}
"""What can be measured, by what the command is asked for."""

EPILOG = """\
examples:
  hpo-envs measure CharMini --jobs 2 --out charmini/             every training that does not ship yet
  hpo-envs measure CharMini --out charmini/ --pack measured.npz  what is stored, as the data of the table
  hpo-envs measure CharMini --check 10                           train ten that ship again, and compare
  hpo-envs measure CharMini-eng-lstm-v0 --row 17 --seed 1        train a row again, and compare epoch by epoch
  hpo-envs measure CellMini --jobs 2 --out cellmini/             the cells"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the options."""
    parser.add_argument("name", help=f"{' or '.join(SUITES)}: all that is missing; or an id of theirs: one row")
    parser.add_argument("--out", type=Path, help="folder (default: the name in small letters)")
    parser.add_argument("--jobs", type=int, default=1, help="trainings at once (default: %(default)s)")
    rows = ", ".join(f"{suite.rows} of {suite.name}" for suite in SUITES.values())
    parser.add_argument("--rows", type=int, help=f"configurations (default: {rows})")
    parser.add_argument("--check", type=int, metavar="N", help="train N of those that ship again, and compare")
    parser.add_argument("--row", type=int, help="row of the id's table to train again")
    parser.add_argument("--seed", type=int, default=0, help="which of its trainings, from 0 (default: %(default)s)")
    parser.add_argument("--pack", type=Path, metavar="FILE", help="train nothing; write what is stored to FILE")


def run(args: argparse.Namespace) -> int:
    """Runs the command."""
    ids = {env_id: suite for suite in SUITES.values() for env_id in suite.ids}
    if args.name in ids:
        return _again(ids[args.name], args.name, args.row, args.seed)
    suite = SUITES[one_of("name", args.name, (*SUITES, *ids))]
    if args.row is not None:
        raise ValueError(f"--row must go with an id, such as {next(iter(ids))}, got {args.name}")
    out = Path(suite.name.lower()) if args.out is None else args.out
    if args.pack is not None:
        return _pack(suite, out, args.pack)
    if args.check is not None:
        return _check(suite, args.check)
    rows, most = suite.rows if args.rows is None else args.rows, len(suite.packing.axes[-2])
    if not 1 <= rows <= most:
        raise ValueError(f"--rows must be an int from 1 to {most}, got {rows}")
    if args.jobs < 1:
        raise ValueError(f"--jobs must be an int >= 1, got {args.jobs}")
    trainer()
    tasks, known = suite.tasks(rows), suite.packing.known()
    with executors.of_jobs(args.jobs) as executor:
        made = trainings.conduct(tasks, suite.train, out, executor, known=known, watch=_watch)
    print(f"{made} trainings made, {len(tasks)} in all; {out}")
    return 0


def _again(suite: Suite, env_id: str, row: int | None, seed: int) -> int:
    """Trains a row again; the exit status is 1 where it differs by more than seeds do."""
    table, prefix = suite.ids[env_id]
    stored, seeds = store.load(table), len(suite.packing.axes[-1])
    if row is None or not 0 <= row < len(stored):
        raise ValueError(f"--row must be an int from 0 to {len(stored) - 1}, got {row}")
    if not 0 <= seed < seeds:
        raise ValueError(f"--seed must be an int from 0 to {seeds - 1}, got {seed}")
    record = suite.train(f"{prefix}{stored.source_index[row]}-{seed}")
    check = suite.compare(suite.packing.load(), record)
    print(f"{'epoch':>5}" + "".join(f"{name:>24}" for name, _ in suite.columns))
    for epoch, (old, new) in enumerate(itertools.zip_longest(check.stored.tolist(), check.new.tolist()), 1):
        cells = [_pair(old, new, j, digits) for j, (_, digits) in enumerate(suite.columns)]
        print(f"{epoch:>5}" + "".join(f"{cell:>24}" for cell in cells))
    print(f"stored and new: {VERDICTS[check.verdict]} ({check.deviations:.2f} seed standard deviations apart)")
    print(f"{record['processor']}, torch {record['versions']['torch']}, {sum(record['seconds'][-1:]):.0f} s")
    return 1 if check.verdict == "differs" else 0


def _check(suite: Suite, count: int) -> int:
    """Trains some again, spread over all that ship; the exit status is 1 where one differs by more than seeds do."""
    known = suite.packing.known()
    if not known:
        raise ValueError(f"--check must have trainings that ship, of which {suite.name} has none yet")
    if not 1 <= count <= len(known):
        raise ValueError(f"--check must be an int from 1 to {len(known)}, which ship, got {count}")
    verdicts = []
    for task in known[:: len(known) // count][:count]:
        check = suite.compare(suite.packing.load(), suite.train(task))
        verdicts.append(check.verdict)
        print(f"{task}: {VERDICTS[check.verdict]} ({check.deviations:.2f} seed standard deviations apart)")
    counts = ", ".join(f"{verdicts.count(v)} {v}" for v in VERDICTS)
    print(f"{count} trainings made again: {counts}")
    return 1 if "differs" in verdicts else 0


def _pair(old: list[float] | None, new: list[float] | None, j: int, digits: int) -> str:
    return "  ".join("-" if values is None else f"{values[j]:.{digits}f}" for values in (old, new))


def _pack(suite: Suite, folder: Path, target: Path) -> int:
    packing = suite.packing
    before = packing.load() if packing.file.exists() else None
    arrays = packing.pack(trainings.records(folder), before)
    stream = io.BytesIO()
    np.savez_compressed(stream, **arrays)
    atomic.write(target, stream.getvalue())
    counts = ", ".join(f"{count} of {kind}" if kind else f"{count}" for kind, count in packing.complete(arrays).items())
    print(f"{target}: configurations with all seeds: {counts}")
    return 0


def _watch(done: int, total: int) -> None:
    print(f"{done} of {total} trainings", file=sys.stderr, flush=True)

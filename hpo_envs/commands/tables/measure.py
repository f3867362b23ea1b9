"""Trains what CharMini's table is made of, or one row of it again.

Trainings are kept one by one in `--out`: stopped however, the same command goes on where it was, and nothing is trained
twice. They take one thread each. `--pack` writes what is kept, and what ships, as the table's data.
"""

from __future__ import annotations

import argparse
import io
import sys
from pathlib import Path

import numpy as np

from hpo_envs.benchmarks.study import executors, trainings
from hpo_envs.tables.datasets.charmini import measure, measured
from hpo_envs.tables.datasets.charmini.names import PLANNED
from hpo_envs.tables.files import atomic
from hpo_envs.tables.table import nearest

TABLES = ("CharMini",)

EPILOG = """\
examples:
  hpo-envs measure CharMini --jobs 2 --out charmini/             every training that does not ship yet
  hpo-envs measure CharMini --out charmini/ --pack measured.npz  what is there, as the data of the table"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the options."""
    parser.add_argument("name", help="CharMini: the whole table")
    parser.add_argument("--out", type=Path, default=Path("charmini"), help="folder (default: %(default)s)")
    parser.add_argument("--jobs", type=int, default=1, help="trainings at once (default: %(default)s)")
    parser.add_argument("--rows", type=int, default=64, help="configurations (default: %(default)s)")
    parser.add_argument("--pack", type=Path, metavar="FILE", help="train nothing; write what is there to FILE")


def run(args: argparse.Namespace) -> int:
    """Runs the command."""
    if args.name not in TABLES:
        raise ValueError(f"name must be {', '.join(TABLES)}, got {args.name!r}{nearest(args.name, TABLES)}")
    if args.pack is not None:
        return _pack(args.out, args.pack)
    if not 1 <= args.rows <= PLANNED:
        raise ValueError(f"--rows must be an int from 1 to {PLANNED}, got {args.rows}")
    if args.jobs < 1:
        raise ValueError(f"--jobs must be an int >= 1, got {args.jobs}")
    measure.trainer()
    tasks, known = measure.tasks(args.rows), measured.known()
    with executors.of_jobs(args.jobs) as executor:
        made = trainings.conduct(tasks, measure.train, args.out, executor, known=known, watch=_watch)
    print(f"{made} trainings made, {len(tasks)} in all; {args.out}")
    return 0


def _pack(folder: Path, target: Path) -> int:
    before = measured.load() if measured.FILE.exists() else None
    arrays = measured.pack(trainings.records(folder), before)
    stream = io.BytesIO()
    np.savez_compressed(stream, **arrays)
    atomic.write(target, stream.getvalue())
    finished = (arrays["epochs"] > 0).all(axis=2).sum(axis=1)
    print(f"{target}: {int(finished.min())} configurations of each architecture with all seeds")
    return 0


def _watch(done: int, total: int) -> None:
    print(f"{done} of {total} trainings", file=sys.stderr, flush=True)

"""Trainings of this project's tables: of rows that are missing, or repeated for comparison.

Trainings are stored one by one in a folder of `--out`: after any interruption, the same command resumes, and no stored
training is repeated. Each uses one thread. `--pack` writes the stored and the shipped trainings as the table's data.
"""

import argparse
import io
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from hpo_envs.agents.base import whole
from hpo_envs.benchmarks.runs import executors
from hpo_envs.benchmarks.runs.journal import Journal
from hpo_envs.families.cellmini import measure as cellmini
from hpo_envs.families.charmini import measure as charmini
from hpo_envs.families.textmini import measure as textmini
from hpo_envs.families.training.suite import VERDICTS, Suite
from hpo_envs.tables import screen
from hpo_envs.tables.checks import one_of
from hpo_envs.tables.files import atomic
from hpo_envs.tables.files.lock import locked

GROUPS = {charmini.GROUP: (*charmini.SUITES,), textmini.GROUP: (*textmini.suites(),)}
"""Suites by the name of their group, which are trained one after the other."""

SUITES = {suite.name: suite for suite in (*GROUPS[charmini.GROUP], cellmini.SUITE, *GROUPS[textmini.GROUP])}
"""Suites of trainings, by name."""

JOURNAL = "trainings.jsonl"
"""Name of the file of stored trainings."""

EPILOG = """\
examples, after `python -m hpo_envs.benchmarks.study.measure`:
  CharMini-hun --jobs 2                   every training in Hungarian that does not ship yet
  CharMini --jobs 2 --out trainings/      all languages, one after the other
  CharMini-hun --pack hun.npz             what is stored, as the data of the tables
  CharMini --check                        which configurations are complete
  CharMini --check 6                      the same, and retrain six that ship
  CellMini --jobs 2                       the cells
  TextMini-banking-joint                  classifiers of requests to a bank
  TextMini --check 12                     retrain a dozen, spread over all tables"""


def _watch(done: int, total: int, record: Mapping[str, Any] | None) -> None:
    new = "" if record is None else f": {record['task']}, {record['status']}, {sum(record['seconds'][-1:]):.1f} s"
    print(f"{done} of {total} trainings{new}", file=sys.stderr, flush=True)


def conduct(
    tasks: Sequence[str],
    train: Callable[[str], dict[str, Any]],
    folder: Path,
    executor: executors.Calls,
    *,
    known: Collection[str] = (),
    watch: Callable[[int, int, dict[str, Any] | None], object] = _watch,
) -> int:
    """Run the missing trainings in order, and store each as it ends; return the number of these trainings.

    Args:
        tasks: Distinct names of the trainings.
        train: Function from a name to the record of its training, with the name as `task`.
        folder: Folder of the journal, created if missing and locked meanwhile.
        executor: Executor of the trainings, which is not closed.
        known: Names of trainings stored elsewhere.
        watch: Function called at the start and after each training with the number of trainings done, the number of
            all trainings, and the new record (at the start: None).

    Raises:
        WorkerLost: Workers repeatedly died during a training.
        ValueError: The journal is damaged.
        OSError: Writing to the disk fails.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with locked(folder):
        journal = Journal(folder / JOURNAL)
        done = {record["task"] for record in journal.records} | set(known)
        missing = [task for task in tasks if task not in done]
        watch(len(tasks) - len(missing), len(tasks), None)
        for task in missing:
            executor.submit(train, task)
        for left in range(len(missing), 0, -1):
            record = executor.next()
            journal.append(record)
            watch(len(tasks) - left + 1, len(tasks), record)
    return len(missing)


def records(folder: Path) -> list[dict[str, Any]]:
    """Return the stored records in order; `FileNotFoundError` without a journal, `ValueError` if it is damaged."""
    path = folder / JOURNAL
    if not path.exists():
        raise FileNotFoundError(f"trainings must be in {path}, got no such file")
    return Journal(path).records


@screen.on()
def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; return 1 if a training differs by more than the variation between seeds."""
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, epilog=EPILOG, formatter_class=raw)
    names = "CharMini (all languages), CharMini-{language}, CellMini, TextMini (all tables) or TextMini-{task}-{model}"
    parser.add_argument("name", help=f"{names}: all that is missing")
    parser.add_argument("--out", type=Path, default=Path(), help="folder of the folders, such as charmini-hun")
    parser.add_argument("--jobs", type=int, default=1, help="trainings at once (default: %(default)s)")
    parser.add_argument("--rows", type=int, help="configurations (default: all)")
    check = "say which configurations are complete, and retrain and compare N trainings that ship (default: 0)"
    parser.add_argument("--check", type=int, nargs="?", const=0, metavar="N", help=check)
    parser.add_argument("--pack", type=Path, metavar="FILE", help="train nothing; write what is stored to FILE")
    return run(parser.parse_args(argv))


def run(args: argparse.Namespace) -> int:
    """Train, check or pack, according to the arguments; return the exit status."""
    name = one_of("name", args.name, (*GROUPS, *SUITES))
    suites = GROUPS.get(name) or (SUITES[name],)
    if args.pack is not None:
        if len(suites) > 1:
            raise ValueError(f"--pack must go with one of {', '.join(SUITES)}, got {args.name}")
        return _pack(suites[0], _folder(args.out, suites[0]), args.pack)
    if args.check is not None:
        return _check(suites, args.out, args.check)
    rows, most = suites[0].rows if args.rows is None else args.rows, suites[0].rows
    if not 1 <= rows <= most:
        raise ValueError(f"--rows must be an int from 1 to {most}, got {rows}")
    jobs = whole("--jobs", args.jobs, 1)
    with executors.of_jobs(jobs) as executor:
        for suite in suites:
            out, tasks, known = _folder(args.out, suite), suite.tasks(rows), suite.packing.shipped_names()
            made = conduct(tasks, suite.train, out, executor, known=known)
            print(f"{made} trainings made, {len(tasks)} in all; {out}")
    return 0


def _folder(out: Path, suite: Suite) -> Path:
    return out / suite.name.lower()


def _check(suites: Sequence[Suite], out: Path, count: int) -> int:
    """Print which configurations are complete, and repeat `count` shipped trainings, spread over the suites.

    The exit status is 1 if one differs by more than the variation between seeds.
    """
    known: dict[str, list[tuple[Suite, str]]] = {}
    for suite in suites:
        _complete(suite, _folder(out, suite))
        if names := suite.packing.shipped_names():
            known.setdefault(suite.name.rpartition("-")[2], []).extend((suite, name) for name in names)
    if not 0 <= count <= (total := sum(map(len, known.values()))):
        raise ValueError(f"--check must be an int from 0 to {total}, the number of trainings that ship, got {count}")
    chosen = []
    for i, of in enumerate(known.values()):
        share = min(len(of), count // len(known) + (i < count % len(known)))
        chosen += [of[k * len(of) // share] for k in range(share)]
    verdicts = []
    for suite, task in chosen:
        check = suite.compare(suite.packing.load(), suite.train(task))
        verdicts.append(check.verdict)
        print(f"{task}: {VERDICTS[check.verdict]} ({check.deviations:.2f} seed standard deviations apart)")
    if count:
        counts = ", ".join(f"{verdicts.count(v)} {v}" for v in VERDICTS)
        print(f"{len(chosen)} trainings repeated: {counts}")
    return 1 if "differs" in verdicts else 0


def _complete(suite: Suite, folder: Path) -> None:
    """Print the number of configurations with all trainings, among those that ship and those in the folder."""
    packing = suite.packing
    ships, kept = packing.shipped(), records(folder) if folder.exists() else []
    shipped, done = packing.complete(ships), packing.complete(packing.pack(kept, ships))
    for kind, count in shipped.items():
        more = f"; with {folder}: {done[kind]}" if kept else ""
        print(f"{kind or suite.name}: {count} of {suite.rows} configurations complete{more}")


def _pack(suite: Suite, folder: Path, target: Path) -> int:
    packing = suite.packing
    arrays = packing.pack(records(folder), packing.shipped())
    stream = io.BytesIO()
    np.savez_compressed(stream, **arrays)
    atomic.write(target, stream.getvalue())
    counts = ", ".join(f"{count} of {kind}" if kind else f"{count}" for kind, count in packing.complete(arrays).items())
    print(f"{target}: configurations with all seeds: {counts}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

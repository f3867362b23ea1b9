"""Trainings of a table of our own, kept one by one: whatever stops them, none is lost and none is made twice."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import Any

from hpo_envs.benchmarks.study.executors import Executor, Serial
from hpo_envs.benchmarks.study.journal import Journal
from hpo_envs.tables.files.folder import locked

NAME = "trainings.jsonl"


def conduct(
    tasks: Sequence[str],
    train: Callable[[str], dict[str, Any]],
    folder: Path | str,
    executor: Executor | None = None,
    *,
    known: Collection[str] = (),
    watch: Callable[[int, int, dict[str, Any] | None], object] = lambda done, total, record: None,
) -> int:
    """Run missing trainings, in their order, and store each as it finishes.

    Args:
        tasks: Distinct names of the trainings.
        train: Carries one out: a name in, a record with that name as `task` out.
        folder: Of the journal; made if there is none. One process at a time.
        executor: Where to train; default: this process. It is not closed.
        known: Names of trainings that are kept elsewhere.
        watch: Called at the start and after each training: trainings done, all trainings, the new record.

    Returns:
        Number of trainings carried out now.

    Raises:
        WorkerLost: A worker died at a training again and again.
        OSError: The disk is full or refuses.
    """
    folder, executor = Path(folder), executor or Serial()
    folder.mkdir(parents=True, exist_ok=True)
    with locked(folder):
        journal = Journal(folder / NAME)
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


def records(folder: Path | str) -> list[dict[str, Any]]:
    """Return the kept records, in order of arrival.

    Raises:
        FileNotFoundError: No such trainings.
        ValueError: The journal is damaged.
    """
    path = Path(folder) / NAME
    if not path.exists():
        raise FileNotFoundError(f"trainings must be in {path}, which does not exist")
    return Journal(path).records

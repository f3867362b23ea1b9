"""Workers that carry out calls side by side, and whose death is not felt by others."""

import functools
import os
import signal
import sys
import threading
import time
from pathlib import Path

import pytest

from hpo_envs.benchmarks.study.executors import Serial, WorkerLost
from hpo_envs.tuning.workers import Threads, executor_of, not_importable, processes
from tests.hpo_envs.tuning import helpers


def die(x: int) -> int:
    os.kill(os.getpid(), signal.SIGKILL)
    return x


def wait_for(path: str) -> str:
    while not Path(path).exists():
        time.sleep(0.01)
    return path


def test_threads_are_batched() -> None:
    meeting = threading.Barrier(2, timeout=30)
    with Threads(2) as pool:
        for i in range(2):
            pool.submit(lambda i: (meeting.wait(), i)[1], i)
        assert {pool.next(), pool.next()} == {0, 1}


@pytest.mark.hostile
def test_death_is_not_felt_by_others(tmp_path: Path) -> None:
    with processes(2, die) as pool:
        pool.submit(wait_for, str(tmp_path / "go"))
        pool.submit(die, 7)
        pool.submit(abs, -3)  # waits for a worker
        with pytest.raises(WorkerLost) as lost:
            pool.next()
        assert lost.value.argument == 7
        assert pool.next() == 3
        (tmp_path / "go").touch()
        assert pool.next() == str(tmp_path / "go")


def test_kind_is_chosen_by_what_can_be_imported() -> None:
    assert isinstance(executor_of("auto", 1, lambda config: 1.0), Serial)
    with pytest.warns(UserWarning, match="workers are threads, because"):
        pool = executor_of("auto", 2, lambda config: 1.0)
    assert isinstance(pool, Threads)
    pool.close()
    with pytest.raises(ValueError, match="function must be one that other processes can import"):
        executor_of("processes", 2, lambda config: 1.0)
    with pytest.raises(ValueError, match="executor must be one of .*, got 'thread', did you mean 'threads'"):
        executor_of("thread", 2, helpers.train)


def test_what_other_processes_can_import(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not_importable(helpers.train) is None
    assert not_importable(functools.partial(helpers.train)) is None
    assert "cannot be handed over" in str(not_importable(lambda config: 1.0))

    def interactive(config: object) -> float:
        return 1.0

    interactive.__module__ = "__main__"
    monkeypatch.delattr(sys.modules["__main__"], "__file__", raising=False)
    assert not_importable(interactive) == f"{interactive.__qualname__} was defined in an interactive session"

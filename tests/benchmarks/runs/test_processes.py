"""The own pool: what takes too long is killed, what others run is kept apart."""

import concurrent.futures
import os
import time

import pytest

from hpo_envs.benchmarks.runs import limits
from hpo_envs.benchmarks.runs.executors import WorkerLost
from hpo_envs.benchmarks.runs.processes import Processes

pytestmark = pytest.mark.hostile


class Code:
    def __init__(self, foreign: str | None) -> None:
        self.foreign = foreign


def process_of(code: Code) -> int:
    return os.getpid()


def endless(code: Code) -> None:
    with limits.deadline(0.1, "must end within {:g} s"):
        while True:
            try:
                time.sleep(60)
            except BaseException:
                continue


def test_worker_of_foreign_code_runs_nothing_else() -> None:
    with Processes(1) as pool:
        first, again, other, own = (
            pool.submit(process_of, Code(foreign)).result() for foreign in (None, None, "a:A", "b:B")
        )
        assert first == again == other != own
        assert pool.submit(process_of, Code(None)).result() not in (first, own)


def test_call_that_takes_too_long_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "GRACE", 0.1)
    with Processes(2) as pool:
        late = pool.submit(endless, Code(None))
        with pytest.raises(WorkerLost, match="must end within 0.1 s"):
            late.result()
        with pytest.raises(ChildProcessError, match="the worker died"):
            pool.submit(os._exit, 3).result()
        assert pool.submit(abs, -3).result() == 3
        busy = pool.submit(time.sleep, 60)
        pool.shutdown(wait=False, cancel_futures=True)
        with pytest.raises((ChildProcessError, concurrent.futures.CancelledError)):
            busy.result()
        with pytest.raises(RuntimeError):
            pool.submit(abs, -3)

"""The pool of processes: calls beyond their time limit are killed, outside code is kept apart."""

import concurrent.futures
import os
import sys
import time

import pytest

from hpo_envs.benchmarks.runs import limits
from hpo_envs.benchmarks.runs.executors import WorkerLost
from hpo_envs.benchmarks.runs.processes import Processes
from tests.helpers import rejects

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


def garbled(code: Code) -> None:
    with limits.deadline(2.0, "must end within {:g} s"):
        for fd in range(3, 64):
            if os.path.exists(f"/proc/self/fd/{fd}") and os.readlink(f"/proc/self/fd/{fd}").startswith("socket"):
                os.write(fd, b"\0\xff\xff\xff announces more than comes")
        time.sleep(60)


@pytest.mark.skipif(sys.platform != "linux", reason="looks at /proc")
def test_worker_whose_pipe_is_garbled_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "GRACE", 0.1)
    with Processes(1) as pool:
        rejects("must end within 2 s", pool.submit(garbled, Code(None)).result, timeout=60, error=WorkerLost)
        assert pool.submit(abs, -3).result() == 3


def test_worker_of_foreign_code_runs_nothing_else() -> None:
    with Processes(1) as pool:
        first, again, other, own = (pool.submit(process_of, Code(f)).result() for f in (None, None, "a:A", "b:B"))
        assert first == again == other != own
        assert pool.submit(process_of, Code(None)).result() not in (first, own)


def test_call_that_takes_too_long_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "GRACE", 0.1)
    with Processes(2) as pool:
        late = pool.submit(endless, Code(None))
        rejects("must end within 0.1 s", late.result, error=WorkerLost)
        rejects("the worker died", pool.submit(os._exit, 3).result, error=ChildProcessError)
        assert pool.submit(abs, -3).result() == 3
        busy = pool.submit(time.sleep, 60)
        pool.shutdown(wait=False, cancel_futures=True)
        with pytest.raises((ChildProcessError, concurrent.futures.CancelledError)):
            busy.result()
        with pytest.raises(RuntimeError):
            pool.submit(abs, -3)

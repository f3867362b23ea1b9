"""What a run may take of time, and what it leaves behind; memory is tested in `tests/robustness/test_trust.py`."""

import os
import signal
import subprocess
import sys
import threading
import time
import warnings
from pathlib import Path

import numpy as np
import pytest

from hpo_envs.benchmarks.runs import limits

pytestmark = pytest.mark.hostile


@pytest.mark.parametrize("thread", [False, True])
def test_what_takes_too_long_is_ended_again_and_again(thread: bool) -> None:
    caught: list[str] = []

    def within() -> None:
        with limits.deadline(0.2):
            while len(caught) < 2:
                try:
                    while True:
                        time.sleep(0.01)
                except limits.RunTimeout as error:
                    caught.append(str(error))

    if thread:
        worker = threading.Thread(target=within)
        worker.start()
        worker.join()
    else:
        within()
    assert len(caught) == 2
    time.sleep(0.01)  # nothing rings any more


STOPPED = """
import os, signal
from hpo_envs.benchmarks.runs import limits
with limits.deadline(2.0):
    os.kill(os.getpid(), signal.SIGSTOP)
print("ended")
"""


@pytest.mark.skipif(os.name != "posix", reason="stops a process")
def test_time_does_not_pass_while_process_is_stopped() -> None:
    command = [sys.executable, "-c", STOPPED]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert os.WIFSTOPPED(os.waitpid(process.pid, os.WUNTRACED)[1])
        time.sleep(2.2)
        process.send_signal(signal.SIGCONT)
        out, err = process.communicate()
    assert (out, err) == (b"ended\n", b"")


def _state() -> tuple[object, ...]:
    return Path.cwd(), dict(os.environ), warnings.filters[:], np.geterr()


def _change_everything() -> None:
    os.chdir("/")
    os.environ["HPO_ENVS_TEST_ONE"] = os.environ["HPO_ENVS_TEST_NEW"] = "x"
    del os.environ["HPO_ENVS_TEST_TWO"]
    warnings.simplefilter("error")
    np.seterr(all="raise")
    raise SystemExit


def test_process_state_is_restored_after_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HPO_ENVS_TEST_ONE", "1")
    monkeypatch.setenv("HPO_ENVS_TEST_TWO", "2")
    before = _state()
    with pytest.raises(SystemExit), limits.restored():
        _change_everything()
    assert _state() == before

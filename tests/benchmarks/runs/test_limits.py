"""What a run may take of time, and what it leaves behind; memory is tested in `tests/robustness/test_trust.py`."""

from __future__ import annotations

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
def test_time_does_not_pass_while_a_process_is_stopped() -> None:
    command = [sys.executable, "-c", STOPPED]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert os.WIFSTOPPED(os.waitpid(process.pid, os.WUNTRACED)[1])
        time.sleep(2.2)
        process.send_signal(signal.SIGCONT)
        out, err = process.communicate()
    assert (out, err) == (b"ended\n", b"")


def _state() -> tuple[object, ...]:
    umask = os.umask(0o022)
    os.umask(umask)
    streams = sys.stdin, sys.stdout, sys.stderr
    return Path.cwd(), dict(os.environ), streams, sys.getrecursionlimit(), umask, warnings.filters[:], np.geterr()


def _mess() -> None:
    os.chdir("/")
    os.environ["HPO_ENVS_TEST_ONE"] = os.environ["HPO_ENVS_TEST_NEW"] = "x"
    del os.environ["HPO_ENVS_TEST_TWO"]
    sys.stdin = sys.stdout = sys.stderr = None  # type: ignore[assignment]
    os.umask(0o777)
    warnings.simplefilter("error")
    np.seterr(all="raise")
    sys.setrecursionlimit(sys.getrecursionlimit() + 7)
    raise SystemExit


def test_what_a_run_changes_for_its_process_is_put_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HPO_ENVS_TEST_ONE", "1")
    monkeypatch.setenv("HPO_ENVS_TEST_TWO", "2")
    before = _state()
    with pytest.raises(SystemExit), limits.restored():
        _mess()
    assert _state() == before


def test_a_working_folder_that_is_gone_is_no_obstacle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    with limits.restored():
        os.chdir("/")
    os.chdir(tmp_path)


def test_only_a_signal_interrupts() -> None:
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(RuntimeError, match="nobody interrupted"), limits.no_interrupt():
        raise KeyboardInterrupt
    with pytest.raises(KeyboardInterrupt), limits.no_interrupt():
        signal.raise_signal(signal.SIGINT)
    with pytest.raises(ZeroDivisionError), limits.no_interrupt():
        raise ZeroDivisionError
    assert signal.getsignal(signal.SIGINT) is before

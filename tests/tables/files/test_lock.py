"""The lock on a folder, also on file systems without locks."""

import contextlib
import json
import os
import platform
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from hpo_envs.tables.files import atomic, lock
from tests.helpers import ROOT

pytestmark = pytest.mark.hostile

FORMS = [pytest.param(False, id="system"), pytest.param(True, id="file")]


@pytest.fixture(params=FORMS, autouse=True)
def without(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Whether the file system has no locks."""
    if request.param:
        monkeypatch.setattr(lock, "_of_system", lambda folder, wait: None)
    monkeypatch.setattr(lock, "BEAT", 0.05)
    monkeypatch.setattr(lock, "STALE", 0.4)
    return bool(request.param)


def test_lock_goes_with_its_holder(tmp_path: Path) -> None:
    for _ in range(2):
        with lock.locked(tmp_path):
            pass
    assert not [*tmp_path.iterdir()]


def test_second_holder_is_refused_or_waits(tmp_path: Path) -> None:
    order = []

    def second() -> None:
        with lock.locked(tmp_path):
            order.append("second")

    with lock.locked(tmp_path):
        with pytest.raises(BlockingIOError), lock.locked(tmp_path, wait=False):
            pass
        thread = threading.Thread(target=second)
        thread.start()
        time.sleep(1.0)  # longer than a lock lasts that nobody holds
        order.append("first")
    thread.join()
    assert order == ["first", "second"]


@pytest.mark.parametrize("content", ["", "{", json.dumps({"host": "elsewhere", "pid": 1, "key": "a"}), "own"])
def test_abandoned_lock_is_broken(tmp_path: Path, content: str, without: bool) -> None:
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    own = json.dumps({"machine": atomic.machine(), "pid": gone.pid, "start": "", "key": "a"})
    (tmp_path / lock.NAME).write_text(own if content == "own" else content)
    with lock.locked(tmp_path, wait=False):
        held = (tmp_path / lock.NAME).read_text()
        assert (f'"pid": {os.getpid()},' in held) if without else held == (own if content == "own" else content)
    assert not without or not [*tmp_path.iterdir()]


def test_handle_that_was_closed_meanwhile_is_left_alone(tmp_path: Path, without: bool) -> None:
    if without:
        pytest.skip("no handle is held")
    lowest = os.open(tmp_path, os.O_RDONLY)
    os.close(lowest)
    with lock.locked(tmp_path):
        os.close(lowest)
        mine = os.open(tmp_path / "mine", os.O_CREAT)
        assert mine == lowest
    os.close(mine)


def test_lock_ends_with_its_block_where_a_child_lives_on(tmp_path: Path) -> None:
    read, write = os.pipe()
    with lock.locked(tmp_path):
        if not (child := os.fork()):
            os.close(write)
            os._exit(len(os.read(read, 1)))
    try:
        with lock.locked(tmp_path, wait=False):
            pass
    finally:
        os.close(write)
        os.waitpid(child, 0)
        os.close(read)


def test_holder_of_another_namespace_is_not_dead(tmp_path: Path, without: bool) -> None:
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    beat = threading.Event()
    held = {"machine": "0" * 16, "pid": gone.pid, "start": "1", "key": "a"}
    (tmp_path / lock.NAME).write_text(json.dumps(held | {"host": platform.node()}))
    thread = threading.Thread(target=lock._beat, args=(tmp_path / lock.NAME, (tmp_path / lock.NAME).read_text(), beat))
    thread.start()
    try:
        with contextlib.suppress(BlockingIOError), lock.locked(tmp_path, wait=False):
            assert not without
    finally:
        beat.set()
        thread.join()


MANY = """
import sys, time
sys.path[:0] = {path!r}
from pathlib import Path
from hpo_envs.tables.files import lock
lock._of_system = lambda folder, wait: None
lock.BEAT, lock.STALE = 0.05, 5.0
folder = Path({folder!r})
for _ in range(15):
    with lock.locked(folder):
        count = int((folder / "count").read_text())
        time.sleep(0.002)
        (folder / "count").write_text(str(count + 1))
"""


def test_processes_exclude_each_other(tmp_path: Path, without: bool) -> None:
    if not without:
        pytest.skip("the system's lock needs no proof")
    (tmp_path / "count").write_text("0")
    script = MANY.format(path=[str(ROOT), *sys.path], folder=str(tmp_path))
    processes = [subprocess.Popen([sys.executable, "-c", script]) for _ in range(3)]
    assert ([p.wait() for p in processes], (tmp_path / "count").read_text()) == ([0, 0, 0], "45")
    assert [p.name for p in tmp_path.iterdir()] == ["count"]

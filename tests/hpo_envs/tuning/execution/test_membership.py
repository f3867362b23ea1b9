"""Searches that several processes share: nothing is lost or evaluated twice, whichever process is killed."""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from hpo_envs.commands.main import main
from hpo_envs.tuning import Search, load, tune
from hpo_envs.tuning.execution import membership
from hpo_envs.tuning.execution.membership import Membership
from tests.helpers import ROOT, WIDE, rejects
from tests.hpo_envs.tuning import helpers

PROCESSES = 8 if WIDE else 4
"""Those that share a search, of which half are killed."""

SLOW = """
import os, time

def train(config):
    time.sleep(0.1)
    with open(os.environ["CALLS"], "a") as stream:
        stream.write(f"{config['x']!r}\\n")
    return config["x"]
"""


def module(folder: Path) -> str:
    """A module name that no other test imports."""
    return f"slow_{abs(hash(folder)):x}"


def begin(folder: Path) -> tuple[Path, dict[str, str]]:
    """A module with a slow function, and a search of it that has one evaluation."""
    name = module(folder)
    (folder / f"{name}.py").write_text(SLOW)
    (folder / "space.toml").write_text("x = {low = 0.0, high = 1.0}")
    env = {**os.environ, "PYTHONPATH": f"{ROOT}:{folder}", "CALLS": str(folder / "calls"), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "hpo_envs", "tune", f"{name}:train", "--space", "space.toml", "--join", "out"]
    subprocess.run([*command, "--budget", "1"], env=env, cwd=folder, check=True, capture_output=True)
    with Search({"x": (0.0, 1.0)}, function=f"{name}:train", out=folder / "out", budget=30):
        pass  # the larger budget
    return folder / "out", env


@pytest.mark.hostile
def test_killed_processes_lose_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    out, env = begin(tmp_path)
    join = [sys.executable, "-m", "hpo_envs", "tune", "--join", str(out)]
    quiet = {"env": env, "cwd": tmp_path, "stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE}
    workers = [subprocess.Popen(join, **quiet) for _ in range(PROCESSES)]  # type: ignore[call-overload]
    killed, rest = workers[: PROCESSES // 2], workers[PROCESSES // 2 :]
    deadline = time.monotonic() + 240.0
    for number, worker in enumerate(killed):
        while sum(e.ended >= 0 for e in load(out)) < 8 + 3 * number and time.monotonic() < deadline:
            time.sleep(0.05)
        worker.send_signal(signal.SIGKILL)
    for worker in rest:
        assert worker.communicate(timeout=240)[1] is not None
        assert worker.returncode == 0
    for worker in killed:
        worker.communicate()
    tuned = load(out)
    assert len(tuned) == 30
    assert all(e.status == "ok" for e in tuned)
    assert len({e.worker for e in tuned}) >= 3
    configs = [repr(e.config["x"]) for e in tuned]
    assert len(set(configs)) == 30
    calls = (tmp_path / "calls").read_text().split()
    assert set(configs) == set(calls)
    assert len(calls) <= 30 + len(killed)  # what a killed process had begun, once more


def test_processes_take_turns_and_see_pending_evaluations(tmp_path: Path) -> None:
    given: dict[str, Any] = {"space": helpers.SPACE, "out": tmp_path, "budget": 12, "join": True}
    points = [{"x": 0.1, "kind": "bad"}]
    with Search(points=points, **given) as one, Search(points=points, **given) as other:
        first, second = one.ask(), other.ask()
        assert (first.number, second.number, first.config) == (0, 1, points[0])
        assert second.config != first.config
        assert len(other._agent._pending) == 2  # type: ignore[attr-defined]
        one.tell(first, 1.0)
        told = threading.Thread(target=lambda: [other.tell(t, helpers.train(t.config)) for t in (second, *other)])
        told.start()
        for trial in one:
            one.tell(trial, helpers.train(trial.config))
        told.join()
    tuned = load(tmp_path)
    assert (sorted(e.ended for e in tuned), len({str(e.config) for e in tuned})) == (list(range(12)), 12)


def test_process_that_was_thought_dead_does_not_evaluate_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given: dict[str, Any] = {"space": {"x": (0.0, 1.0)}, "out": tmp_path, "budget": 4, "join": True}
    with Search(**given) as one, Search(**given) as other:
        trial = one.ask()
        rejects("no other process tunes in, or join=True", Search, {"x": (0.0, 1.0)}, out=tmp_path, budget=4)
        monkeypatch.setattr(membership, "lives", lambda folder, name: False)
        again = other.ask()
        assert (again.number, again.config) == (trial.number, trial.config)
        monkeypatch.undo()
        with pytest.warns(UserWarning, match="evaluation 0 is left out: .* had taken it over"):
            assert one.tell(trial, 0.25).rewards is None
        assert other.tell(again, 0.5).rewards == [0.5]
    assert [e.reward for e in load(tmp_path)] == [0.5]


def test_sign_of_life_of_other_machine_expires(tmp_path: Path) -> None:
    member = membership.Membership(tmp_path)
    assert member.lives(member.name)
    assert not member.lives("elsewhere:1:ab")
    file = tmp_path / "workers" / "elsewhere_1_ab"
    file.touch()
    assert member.lives("elsewhere:1:ab")
    os.utime(file, (time.time() - 2 * membership.STALE,) * 2)
    assert not member.lives("elsewhere:1:ab")
    member.close()
    assert not membership.lives(tmp_path, member.name)


@pytest.mark.skipif(sys.platform != "linux", reason="namespaces and starts of processes are read from /proc")
def test_process_of_other_namespace_is_judged_by_its_sign_of_life(tmp_path: Path) -> None:
    member = membership.Membership(tmp_path)
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    host, process, key = member.name.rsplit(":", 2)
    place, start, random = key.split("-")
    far = f"{host}:{gone.pid}:{'0' * 16}-{start}-{random}"
    dead = f"{host}:{gone.pid}:{place}-{start}-{random}"
    earlier = f"{host}:{process}:{place}-{int(start) - 1}-{random}"  # the id was given again, as in a container
    for name in (far, dead, earlier):
        (tmp_path / "workers" / name.replace(":", "_")).touch()
    assert [membership.lives(tmp_path, name) for name in (member.name, far, dead, earlier)] == [
        True,
        True,
        False,
        False,
    ]
    member.close()


def test_search_with_other_code_or_agent_is_not_joined(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("CALLS", str(tmp_path / "calls"))
    out, _ = begin(tmp_path)
    (tmp_path / f"{module(tmp_path)}.py").write_text(SLOW.replace('config["x"]', '2 * config["x"]'))
    assert main(["tune", "--join", str(out)]) == 2
    capsys.readouterr()
    assert main(["tune", "--join", str(out), "--budget", "90", "--workers", "2"]) == 2
    assert "--join without a function must have no options but --workers, " in capsys.readouterr().err
    with pytest.raises(ValueError, match="join must be False for agents that plan alone or pause trainings"):
        tune(helpers.epochs, helpers.SPACE, agent="asha", epochs=9, out=tmp_path / "new", join=True)
    rejects("out must be a folder that the processes share", Search, helpers.SPACE, join=True)
    assert len(load(out)) == 1


def test_search_of_one_process_is_not_joined_while_it_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(membership, "BEAT", 0.1)
    with Search({"x": (0.0, 1.0)}, out=tmp_path, budget=2) as search:
        search.tell(search.ask(), 0.5)
        with pytest.raises(ValueError, match="whose processes all join, got .*, where one tunes alone: begin the"):
            Search({"x": (0.0, 1.0)}, out=tmp_path, budget=2, join=True)
    with Search({"x": (0.0, 1.0)}, out=tmp_path, budget=2, join=True) as search:
        search.tell(search.ask(), 0.5)
    assert len(load(tmp_path)) == 2


def test_smaller_budget_of_a_joining_process_ends_no_other(tmp_path: Path) -> None:
    given: dict[str, Any] = {"out": tmp_path, "join": True, "agent": "random"}
    with Search({"x": (0.0, 1.0)}, budget=6, **given) as first:
        first.tell(first.ask(), 1.0)
        with pytest.warns(UserWarning, match="keeps its budget of 6, which processes share, instead of 2"):
            other = Search({"x": (0.0, 1.0)}, budget=2, **given)
        other.tell(other.ask(), 1.0)
        with Search({"x": (0.0, 1.0)}, budget=7, **given):
            assert len([first.tell(trial, 1.0) for trial in first]) == 5
        other.close()


def test_heart_beats_on_after_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(membership, "BEAT", 0.01)
    member, beats, again = Membership(tmp_path), [OSError(116, "Stale file handle"), None], threading.Event()

    def touch() -> None:
        if not beats:
            again.set()
        elif (error := beats.pop(0)) is not None:
            raise error

    monkeypatch.setattr(member, "_touch", touch)
    assert again.wait(60)
    member.close()

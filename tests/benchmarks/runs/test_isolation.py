"""Agents in a separate process: same results, and no effect on anything else."""

import os
import platform
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from hpo_envs import agents
from hpo_envs.agents.random import RandomSearch
from hpo_envs.benchmarks.runs import Run, isolation, limits, problem_of, run
from hpo_envs.benchmarks.runs.isolation import AgentError, IsolatedProcess
from hpo_envs.benchmarks.study import store
from hpo_envs.benchmarks.study.scheduler import conduct
from hpo_envs.benchmarks.study.study import Entrant, Environment, Study, from_data
from hpo_envs.commands.main import main
from tests.benchmarks.helpers import HOSTILE, isolated
from tests.helpers import WIDE, missing_extra, rejects

pytestmark = [pytest.mark.hostile, pytest.mark.skipif(os.name != "posix", reason="isolation needs POSIX's pipes")]

MISBEHAVES = f"{HOSTILE}:Misbehaves"

IDS = ["NMTHPO-zhen-v0", "NMTHPO-v0", "NMTHPO-zhen-mo-v0", "NMTLC-zhen-v0", "CharHPO-v0", "FIESTA-tdsa8-v0"]
IDS += ["NASBenchNLP-cell-v0"]

BUDGETS = {"FIESTA-tdsa8-v0": 60, "NASBenchNLP-cell-v0": 3}

# What could differ between two processes is what is sent: problems, actions, outcomes. Agents of one kind share these,
# and each process costs the seconds of its imports; so one of each kind is run.
KINDS = ("random", "bo", "box-bo", "bo-ehvi-rbf", "regularized-evolution", "ttts", "hyperband", "learned")
EVERY = tuple(name for name, entry in agents.AGENTS.items() if entry.entrant)


def assert_same(a: Run, b: Run) -> None:
    """Bit-identical except for `isolated` in the second header."""
    assert {**a.header, "isolated": True} == b.header
    for one, other in (
        (a.actions, b.actions),
        (a.rewards, b.rewards),
        (a.costs, b.costs),
        (np.asarray(a.recommended), np.asarray(b.recommended)),
    ):
        assert (one.dtype, one.shape, one.tobytes()) == (other.dtype, other.shape, other.tobytes())


@pytest.mark.parametrize("agent", EVERY if WIDE else KINDS)
def test_results_are_those_of_same_process(agent: str) -> None:
    if missing_extra(agent):
        pytest.skip(f"extra {agents.entry(agent).extra} not installed")
    ran = 0
    with IsolatedProcess(agent) as host:
        for env in IDS:
            envs: Any = gym.make_vec(env, num_envs=1)
            fits = agents.fits(agent, problem_of(envs))
            envs.close()
            if fits:
                kwargs: dict[str, Any] = {"budget": BUDGETS.get(env, 8)}
                here = run(agent, env, [3, 0], **kwargs)
                for a, b in zip(here, run(agent, env, [3, 0], isolate=host, **kwargs), strict=True):
                    assert_same(a, b)
                ran += 1
    assert ran


def test_target_and_agents_that_are_done_end_run_as_ever() -> None:
    met = {"target": lambda action, reward: action % 7 == 0}
    for a, b in zip(
        run("random", "NMTHPO-zhen-v0", range(4), **met),
        run("random", "NMTHPO-zhen-v0", range(4), isolate=True, **met),
        strict=True,
    ):
        assert_same(a, b)
    sized = [len(r) for r in run("random", "NMTHPO-zhen-v0", range(4), isolate=True, **met)]
    assert len(set(sized)) > 1


@pytest.mark.parametrize(
    "how, message",
    [
        ("exits", "SystemExit: 3"),
        ("ends", "ended with exit status 3"),
        ("raises", r"in <lambda>\n(?s:.*)KeyError: '\\x1b\[31mred'"),
        ("answers_an_object", "got object"),
        ("answers_too_much", "at most 16777216 bytes"),
        ("sends_garbage", "must begin with b'hpo1' and two lengths, got b'garbage"),
        ("sends_endless_bytes", "must begin with"),
        ("sends_a_length_without_end", "at most 16777216 bytes"),
        # The second of two answers is seen before the next call is sent, or read as the answer to it.
        ("sends_twice", "data must not be sent without a call|must have the number of its call, 7, got 6"),
        ("sends_without_number", "must have a number and an answer or an error"),
        ("sends_another_answer", "a list of length 1, got '7'"),
        ("takes_memory", "MemoryError"),
    ],
)
def test_agent_that_misbehaves_is_stopped(how: str, message: str) -> None:
    with pytest.raises(AgentError, match=message) as caught:
        isolated(MISBEHAVES, how=how)
    assert "\x1b" not in str(caught.value)


def test_actions_are_checked_as_ever() -> None:
    with pytest.raises(ValueError, match="action 2 of .*Misbehaves on NMTHPO-zhen-v0, seed 0, must be an int"):
        isolated(MISBEHAVES, how="answers_text")


def call(function: Callable[[], None], thread: bool) -> None:
    """Call a function in this thread or in another one."""
    if not thread:
        return function()
    other = threading.Thread(target=function)
    other.start()
    return other.join()


@pytest.mark.parametrize("thread", [False, True])
def test_agent_that_times_out_is_ended_with_its_process(thread: bool) -> None:
    caught: list[BaseException] = []

    def within() -> None:
        try:
            with IsolatedProcess(MISBEHAVES) as host, limits.deadline(1.0):
                run(host.agent, "NMTHPO-zhen-v0", [0], isolate=host, how="hangs")
        except BaseException as error:
            caught.append(error)
            with pytest.raises(ProcessLookupError):
                os.kill(host._process.pid, 0)

    call(within, thread)
    assert [type(error) for error in caught] == [limits.RunTimeout]


def test_one_bad_agent_stops_alone_in_study(tmp_path: Path) -> None:
    bad = Entrant("bad", MISBEHAVES, {"how": "ends"}, isolated=True)
    good = Entrant("good", "random", isolated=True)
    study = Study((Environment("NMTHPO-zhen-v0", {}),), (bad, good), (0, 1, 2))
    outcome = conduct(study, tmp_path)
    assert outcome.errors.keys() == {("NMTHPO-zhen-v0", "bad")}
    runs = store.read(tmp_path)
    assert ({r.header["agent"] for r in runs}, [r.header["isolated"] for r in runs]) == ({"good"}, [True] * 3)
    plain = Study(study.environments, (Entrant("good", "random"),), study.seeds)
    with pytest.raises(ValueError, match="isolated"):  # one folder holds one kind
        conduct(plain, tmp_path)
    conduct(plain, tmp_path / "plain")
    for a, b in zip(store.read(tmp_path / "plain"), runs, strict=True):
        assert_same(a, b)


def test_compare_isolates(tmp_path: Path) -> None:
    words = ["compare", "--env", "NMTHPO-zhen-v0", "--agents", "random", "--seeds", "2"]
    assert main([*words, "--isolate", "--out", str(tmp_path)]) == 0
    assert all(r.header["isolated"] for r in store.read(tmp_path))


def test_study_files_isolate_without_importing_agent() -> None:
    data = {"environments": "NMTHPO-zhen-v0", "seeds": 1, "agents": [f"{HOSTILE}:NoSuchAgent"], "isolate": True}
    assert [c.isolated for c in from_data(data).agents] == [True]
    assert HOSTILE not in sys.modules
    rejects("isolate must be true, false or an interpreter, got 1", from_data, {**data, "isolate": 1})
    rejects("importable as module:factory, got 'no_such:Agent'", from_data, {**data, "agents": ["no_such:Agent"]})
    rejects("NoSuchAgent", isolated, f"{HOSTILE}:NoSuchAgent", error=AgentError)


def test_factories_have_name() -> None:
    assert isolation.name_of(RandomSearch) == "hpo_envs.agents.random:RandomSearch"
    with pytest.raises(ValueError, match="agent must be importable as module:factory to be isolated"):
        isolation.name_of(lambda problem, seed: agents.make("random", problem, seed))


@pytest.mark.parametrize("value", [(1, 2), object(), {1: 2}, {"$bytes": [1, 2]}, [{"$array": 1}]])
def test_hyperparameters_are_json(value: Any) -> None:
    rejects("hyperparameters must be JSON data", isolated, "random", value=value)


def test_host_that_has_ended_is_reported() -> None:
    with IsolatedProcess("random") as host:
        folder = host._folder.name
    assert not Path(folder).exists()
    host.close()
    rejects("has already ended", run, "random", "NMTHPO-zhen-v0", [0], isolate=host, error=AgentError)


def test_interpreter_of_another_environment_plays_same() -> None:
    """Headers have the versions of that environment."""
    kwargs: dict[str, Any] = {"budget": 4}
    (here,) = run("bo", "NMTHPO-zhen-v0", [1], **kwargs)
    (there,) = run("bo", "NMTHPO-zhen-v0", [1], isolate=Path(sys.executable), **kwargs)
    assert there.actions.tolist() == here.actions.tolist()
    assert there.header["agent_versions"] == {"python": platform.python_version(), "numpy": np.__version__}
    for bad in ("/no/python", "", 1, None):
        with pytest.raises(ValueError, match=f"isolate must be True, False or a Python interpreter, got {bad!r}"):
            run("bo", "NMTHPO-zhen-v0", [1], isolate=bad, **kwargs)  # type: ignore[arg-type]


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

    call(within, thread)
    assert len(caught) == 2
    time.sleep(0.01)  # nothing rings any more


@pytest.mark.parametrize("thread, outer, inner", [(False, 0.2, 60.0), (False, 0.2, 0.05), (True, 0.2, 0.05)])
def test_first_of_nested_limits_counts_and_the_outer_one_stays(thread: bool, outer: float, inner: float) -> None:
    caught: list[str] = []

    def endless() -> None:
        while True:
            time.sleep(0.01)

    def within() -> None:
        try:
            with limits.deadline(outer, "outer"):
                try:
                    with limits.deadline(inner, "inner"):
                        endless()
                except limits.RunTimeout as error:
                    caught.append(str(error))
                endless()
        except limits.RunTimeout as error:
            caught.append(str(error))

    call(within, thread)
    assert caught == ["inner" if inner < outer else "outer", "outer"]


def test_interpreter_may_be_given_by_relative_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (one,) = run("random", "NMTHPO-zhen-v0", [3], isolate=os.path.relpath(sys.executable), budget=3)
    assert one.actions.tolist() == run("random", "NMTHPO-zhen-v0", [3], budget=3)[0].actions.tolist()

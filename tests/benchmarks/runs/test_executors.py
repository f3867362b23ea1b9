"""Studies and searches on other executors: the same digest, dying workers, broken pools."""

import concurrent.futures
import importlib.util
import os
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from hpo_envs.benchmarks import Comparison, run
from hpo_envs.benchmarks.runs.executors import PooledCalls, WorkerLost
from hpo_envs.benchmarks.study import store
from hpo_envs.benchmarks.study.scheduler import conduct
from hpo_envs.commands.main import main
from hpo_envs.tuning import tune
from tests.benchmarks.study.helpers import SMALL
from tests.benchmarks.study.test_scheduler import deadly
from tests.helpers import WIDE, rejects
from tests.hpo_envs.tuning import helpers
from tests.robustness.executors import dask, loky, threads
from tests.robustness.executors import spawned as pool

pytestmark = pytest.mark.hostile

FACTORIES: list[Any] = [
    pytest.param(pool, id="processes"),
    pytest.param(threads, id="threads"),
    pytest.param(loky, id="loky"),
    pytest.param(dask, id="dask", marks=pytest.mark.skipif(not importlib.util.find_spec("distributed"), reason="Dask")),
]


@pytest.mark.parametrize("factory", FACTORIES if WIDE else FACTORIES[:2])
def test_run_has_same_digest_on_every_executor(factory: Callable[[], Any]) -> None:
    given: Any = {"budget": 4, "env_kwargs": {"subsample": 0.5}}
    with factory() as executor:
        runs = run("random", "NMTHPO-zhen-v0", range(37), executor=executor, **given)
    assert [r.seed for r in runs] == list(range(37))
    assert store.digest(runs) == store.digest(run("random", "NMTHPO-zhen-v0", range(37), **given))


@pytest.mark.parametrize("factory", FACTORIES if WIDE else FACTORIES[2:])
def test_studies_have_same_digest_on_every_executor(factory: Callable[[], Any], tmp_path: Path) -> None:
    Comparison(SMALL, tmp_path / "here").run()
    with factory() as given:
        Comparison(SMALL, tmp_path / "there").run(given, seconds=0.01)
    here, there = (store.digest(store.read(tmp_path / name)) for name in ("here", "there"))
    assert here == there


def test_broken_executor_is_one_line_and_same_study_resumes(tmp_path: Path, mine: str) -> None:
    study = deadly(mine, tmp_path / "died", once=True)
    with pool() as given, pytest.raises(RuntimeError, match="executor must not break unless it is a factory"):
        conduct(study, tmp_path / "runs", given, seconds=0.01)
    before = len(store.read(tmp_path / "runs"))
    outcome = conduct(study, tmp_path / "runs")
    assert (outcome.made, outcome.errors) == (25 - before, {})


def fails(argument: int) -> None:
    raise KeyError(argument)


def dies(argument: int) -> None:
    os._exit(argument)


class Loses(concurrent.futures.Executor):
    def submit(self, function: Any, /, *args: Any, **kwargs: Any) -> Any:
        future: concurrent.futures.Future[Any] = concurrent.futures.Future()
        future.set_exception(OSError("gone"))
        return future


def test_exceptions_are_raised_and_losses_name_the_call() -> None:
    with PooledCalls(pool) as calls:
        calls.submit(fails, 3)
        rejects("3", calls.next, error=KeyError)
        calls.submit(dies, 4)
        calls.submit(abs, -5)
        found: list[Any] = []
        for _ in range(2):
            try:
                found.append(calls.next())
            except WorkerLost as lost:
                found.append(lost.argument)
        assert sorted(found) == [4, 5]
    with PooledCalls(Loses) as calls:
        calls.submit(abs, -1)
        rejects(r"the executor lost -1 each time, last by OSError\('gone'\)", calls.next, error=WorkerLost)
    for wrong in (3, None):
        rejects(f"executor must be a concurrent.futures.Executor or a factory of one, got {wrong}", PooledCalls, wrong)
    with PooledCalls(concurrent.futures.ThreadPoolExecutor, 2) as calls:
        assert sorted(value for _, value in calls.map(abs, [-1, 2])) == [1, 2]
    client = SimpleNamespace(submit=lambda *_: "a job")  # as a client of Dask
    calls = PooledCalls(client)
    calls.submit(abs, 1)
    rejects("executor must return a concurrent.futures.Future from submit, got a builtins.str", calls.next)
    calls = PooledCalls(dict)
    calls.submit(fails, 3)
    rejects(r"executor must be a factory of objects with submit, got \{\} of it", calls.next)


@pytest.mark.parametrize("factory", FACTORIES[:3])
def test_search_on_executor(factory: Callable[[], Any], tmp_path: Path) -> None:
    given: Any = {"goal": "min", "budget": 6, "agent": "random", "progress": False}
    here = tune(helpers.train, helpers.SPACE, **given)
    there = tune(helpers.train, helpers.SPACE, executor=factory, workers=2, out=tmp_path, **given)
    assert [e.config for e in there] == [e.config for e in here]
    assert [e.metrics for e in there] == [e.metrics for e in here]


def test_compare_takes_factory_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    (tmp_path / "factories.py").write_text(
        "from concurrent.futures import ThreadPoolExecutor\ndef two():\n    return ThreadPoolExecutor(2)\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    words = ["compare", "--env", "NMTHPO-zhen-v0", "--seeds", "2", "--budget", "2", "--out", "runs"]
    assert main([*words, "--executor", "factories:two"]) == 0
    capsys.readouterr()
    for wrong in ("factories:three", "nowhere:two", "factories"):
        assert main([*words, "--executor", wrong]) == 2
        assert f"--executor must be importable as module:factory, got '{wrong}'" in capsys.readouterr().err

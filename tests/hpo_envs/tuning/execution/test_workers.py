"""Parallel workers: their calls, and deaths that do not affect others."""

import decimal
import functools
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from hpo_envs.benchmarks.runs.executors import PooledCalls, WorkerLost
from hpo_envs.tuning.execution.workers import Job, executor_of, not_importable, perform, processes
from tests.helpers import rejects
from tests.hpo_envs.tuning import helpers


def die(x: int) -> int:
    os.kill(os.getpid(), signal.SIGKILL)
    return x


def wait_for(path: str) -> str:
    while not Path(path).exists():
        time.sleep(0.01)
    return path


@pytest.mark.hostile
def test_the_death_of_a_worker_does_not_affect_others(tmp_path: Path) -> None:
    with processes(2, die) as pool:
        pool.submit(wait_for, str(tmp_path / "go"))
        pool.submit(die, 7)
        pool.submit(abs, -3)  # waits for a worker
        with pytest.raises(WorkerLost) as lost:
            pool.next()
        assert (lost.value.argument, pool.next()) == (7, 3)
        (tmp_path / "go").touch()
        assert pool.next() == str(tmp_path / "go")


def test_too_few_open_files_are_named_in_one_line(tmp_path: Path) -> None:
    resource = pytest.importorskip("resource")
    (tmp_path / "mine.py").write_text("def f(config):\n    return config['x']\n", encoding="utf-8")
    (tmp_path / "space.toml").write_text("x = { low = 0.0, high = 1.0 }", encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "hpo_envs", "tune", "mine:f", "--space", "space.toml", "--workers", "3"],
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[4])},
        cwd=tmp_path,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (14, 14)),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert "Too many open files" in done.stderr
    assert done.stderr.count("\n") == 1


def test_kind_is_chosen_by_what_can_be_imported() -> None:
    assert executor_of("auto", 1, lambda config: 1.0).workers == 1
    with pytest.warns(UserWarning, match="workers are threads, because"):
        pool = executor_of("auto", 2, lambda config: 1.0)
    assert isinstance(pool, PooledCalls)
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
    for file, spec in ((None, None), ("<stdin>", None), (__file__, ModuleSpec("package.__main__", None))):
        main = ModuleType("__main__")
        main.__file__, main.__spec__ = file, spec
        if file is None:
            del main.__file__
        monkeypatch.setitem(sys.modules, "__main__", main)
        assert "an interactive session, on standard input or in __main__.py" in str(not_importable(interactive))


def test_interrupted_threads_end() -> None:
    begun, ended = threading.Event(), threading.Event()

    def endless(x: int) -> None:
        begun.set()
        try:
            while True:
                time.sleep(0.001)
        finally:
            ended.set()

    with executor_of("threads", 2, endless) as pool:
        pool.submit(endless, 1)
        pool.submit(wait_for, __file__)
        assert pool.next() == __file__
        begun.wait()
    assert ended.wait(60)


@pytest.mark.hostile
def test_interrupted_program_does_not_wait_for_its_threads() -> None:
    program = """import signal, time
from hpo_envs.tuning import tune
def f(config):
    signal.raise_signal(signal.SIGINT)
    time.sleep(300)
tune(f, {"x": (0.0, 1.0)}, budget=4, workers=2, executor="threads", progress=False)"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=100, check=False)
    assert done.stderr.endswith("KeyboardInterrupt\n")


def job(function: Any, form: Any = "score", **given: Any) -> Job:
    config = {"x": 0.5, "kind": "bad"} | given.pop("config", {})
    return Job(0, function, form, config, ("score",), **given)


def test_a_worker_returns_the_score() -> None:
    done = perform(job(helpers.train))
    ((epoch, outcome),) = done.outcomes
    assert (epoch, outcome.status, outcome.price, outcome.metrics) == (0, "ok", 2.0, {"score": pytest.approx(0.96)})
    assert ":" in done.worker


@pytest.mark.hostile
def test_evaluation_that_takes_too_long_is_stopped() -> None:
    ((_, outcome),) = perform(job(helpers.endless, config={"x": 0.1}, seconds=0.05)).outcomes
    assert outcome.status == "failed"
    assert outcome.error.startswith("an evaluation must end within 0.05 s, this one did not\nTraceback")
    assert perform(job(helpers.endless, config={"x": 0.7}, seconds=5.0)).outcomes[0][1].status == "ok"

    def stubborn(config: Any) -> float:
        try:
            time.sleep(60.0)
        except BaseException:
            return 0.9
        return 0.1

    assert "must end within 0.05 s" in perform(job(stubborn, seconds=0.05)).outcomes[0][1].error
    assert perform(job(lambda config: 0.5, seconds=1e300)).outcomes[0][1].status == "ok"


@pytest.mark.hostile
def test_only_ctrl_c_of_the_user_interrupts() -> None:
    def interrupted(config: Any) -> float:
        if config["x"] > 0.9:
            signal.raise_signal(signal.SIGINT)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        perform(job(interrupted, config={"x": 1.0}))
    ((_, outcome),) = perform(job(interrupted)).outcomes
    assert (outcome.status, "must not raise KeyboardInterrupt" in outcome.error) == ("failed", True)


def test_paused_generator_goes_on_in_its_worker() -> None:
    first = perform(job(helpers.epochs, "epochs", epoch=2, training=("a", 1)))
    assert [epoch for epoch, _ in first.outcomes] == [1, 2]
    assert [epoch for epoch, _ in perform(job(helpers.epochs, "epochs", epoch=4, training=("a", 1))).outcomes] == [3, 4]
    # Another search, or a worker that never had it, begins anew.
    assert len(perform(job(helpers.epochs, "epochs", epoch=4, training=("b", 1))).outcomes) == 4
    assert len(perform(job(helpers.epochs, "epochs", epoch=20, training=("b", 1))).outcomes) < 16


def test_paused_generators_keep_their_thread_state() -> None:
    torch = pytest.importorskip("torch")

    def learns(config: Any) -> Any:
        weight = torch.tensor(config["x"], requires_grad=True)
        for _ in range(9):
            weight.square().backward()
            with torch.no_grad(), decimal.localcontext(prec=5):
                yield {"score": float(weight), "digits": decimal.getcontext().prec}

    for number, epoch in ((1, 1), (2, 3), (1, 4), (2, 5)):
        done = perform(job(learns, "epochs", epoch=epoch, training=("state", number)))
        assert [(o.status, o.metrics["digits"]) for _, o in done.outcomes] == [("ok", 5.0)] * len(done.outcomes)
        assert torch.is_grad_enabled()
        assert decimal.getcontext().prec != 5


@pytest.mark.hostile
def test_generator_that_takes_too_long_is_stopped_and_ends() -> None:
    ended = threading.Event()

    def endless(config: Any) -> Any:
        yield 1.0
        try:
            while True:
                time.sleep(0.01)
        finally:
            ended.set()

    done = perform(job(endless, "epochs", epoch=2, training=("endless", 1), seconds=0.3))
    assert "must end within 0.3 s" in done.outcomes[-1][1].error
    assert ended.wait(30)


def test_daemonic_process_has_threads_as_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(multiprocessing.current_process()._config, "daemon", True)  # type: ignore[attr-defined]
    rejects("this process is daemonic, which may have no children", executor_of, "processes", 2, helpers.train)
    with pytest.warns(UserWarning, match="workers are threads, because this process is daemonic"):
        executor_of("auto", 2, helpers.train).close()

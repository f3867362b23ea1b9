"""Mistakes end a search at once with one line; start points, log lines and threads of workers."""

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hpo_envs.benchmarks.runs.journal import Journal
from hpo_envs.tuning import tune
from hpo_envs.tuning.record import NAME
from tests.hpo_envs.tuning import helpers

SPACE = {"x": (0.0, 1.0)}


def misspelt(config: Any) -> float:
    return float(confg["x"])  # type: ignore[name-defined]  # noqa: F821


def misspelt_epochs(config: Any) -> Any:
    yield float(confg["x"])  # type: ignore[name-defined]  # noqa: F821


def renamed(config: Any) -> dict[str, float]:
    return {"accuracy": config["x"], "loss": 1.0}


@pytest.mark.parametrize(
    "function, message",
    [
        (misspelt, r"NameError: name 'confg' is not defined.* \(.*test_mistakes.py, line \d+: return float\(confg"),
        (renamed, r"must return .* with score, finite, got one with accuracy, loss \(objective= names the score\)"),
        (lambda config: None, "must return a number or a mapping with score, finite, got None"),
        (lambda config: "0.9", "must return a number or a mapping with score, finite, got '0.9'"),
        (lambda config: {"score": "0.9"}, "must return a number or a mapping with score, finite, got {'score'"),
        (lambda config: {"score": 1, "cost": "12"}, "must return a number from 0 to 1e.30 as cost, got '12'"),
        (lambda config: config["y"], "KeyError: 'y'"),
        (lambda config: np.dot(config), "TypeError: "),
    ],
)
def test_mistake_in_first_evaluation_stops_search(function: Any, message: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=f"got a failure of the first evaluation: .*{message}.*tolerate=True"):
        tune(function, SPACE, budget=9, out=tmp_path, progress=False)
    assert not (tmp_path / NAME).exists()
    assert len(tune(helpers.train, helpers.SPACE, budget=2, out=tmp_path, progress=False)) == 2  # once it is mended
    assert len(tune(function, SPACE, budget=3, tolerate=True, progress=False)) == 3


def test_mistake_of_generator_is_named_with_its_line() -> None:
    with pytest.raises(ValueError, match=r"NameError: .* \(.*test_mistakes.py, line \d+: yield float\(confg"):
        tune(misspelt_epochs, SPACE, epochs=3, budget=9, progress=False)


def test_as_many_evaluations_as_workers_must_fail_alike() -> None:
    calls = []

    def fails(config: Any) -> float:
        calls.append(config)
        if len(calls) > 2:
            return 1.0
        raise KeyError("x")

    given: dict[str, Any] = {"workers": 3, "executor": "threads", "progress": False}
    assert len(tune(fails, SPACE, budget=6, **given)) == 6
    with pytest.raises(ValueError, match="a failure of each of the first 3 evaluations: KeyError"):
        tune(lambda config: {}["x"], SPACE, budget=6, **given)


def test_errors_of_configuration_do_not_stop_search() -> None:
    for function in (lambda config: float("nan"), lambda config: 1 / 0):
        assert len(tune(function, SPACE, budget=3, progress=False)) == 3


def test_lines_stand_for_bar_without_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    def some(config: Any) -> float:
        if config["x"] > 0.45:
            raise RuntimeError("out of\nmemory")
        return float(config["x"])

    tune(some, SPACE, agent="random", budget=4, seed=1)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 4
    assert lines[0].startswith("1/4 ")
    assert {line.split()[1] for line in lines} == {"ok:", "failed:"}
    assert any("memory (" in line and "test_mistakes.py, line" in line for line in lines)
    tune(some, SPACE, agent="random", budget=4, seed=1, progress=False)
    assert capsys.readouterr().err == ""


def test_mistake_in_branch_is_named_at_end(capsys: pytest.CaptureFixture[str]) -> None:
    def branched(config: Any) -> float:
        return float(config["kind"] == "good" and config["dept"])

    points = [{"x": 0.1, "kind": "bad"}, {"x": 0.2, "kind": "good", "depth": 1}, {"x": 0.3, "kind": "bad"}]
    tune(branched, helpers.SPACE, budget=3, points=points)
    last = capsys.readouterr().err.splitlines()[-1]
    assert last.startswith("1 of 3 evaluations failed: KeyError: 'dept' (")


@pytest.mark.parametrize(
    "given, message",
    [
        ({"direction": "minimize"}, "arguments must be those of tune or of the agent, got 'direction': use goal"),
        ({"agent": "random", "n_trials": 3}, "got 'n_trials': use budget"),
        ({"workrs": 3}, "got 'workrs', did you mean 'workers'"),
        ({"folder": "mine", "agent": "random"}, "must be those of tune or of the agent, got 'folder'"),
        ({"salt": 3, "agent": "random"}, "must be those of tune or of the agent, got 'salt'"),
        ({"points": [{"x": 2.0}]}, r"points must be in the search space: x must be a number in \[0, 1\], got 2.0"),
        ({"points": [{"y": 2.0}]}, "points must be in the search space: name in config must be one of x, got 'y'"),
        ({"points": [{"x": 0.5}], "agent": "bo"}, "points must be left out for agents that choose from candidates"),
        ({"space": {"k": ["a"], "x": {"low": 0, "high": 1, "if": {"k": []}}}}, "at least one value of k, got none"),
        ({"epochs": 0}, "epochs must be an int >= 1, got 0"),
        ({"out": ""}, "out must be a folder or None, got ''"),
        ({"agent": 7}, "agent must be a name or a factory, got 7"),
        ({"sources": 5}, "sources must be a list of source tasks, got 5"),
        ({"points": 5}, "points must be configurations as mappings, got 5"),
        ({"accept_changed": np.zeros(3)}, "accept_changed must be False, True or 'keep', got array"),
        ({"identical_failures": np.ma.masked}, "identical_failures must be an int >= 1, got masked"),
        ({"seconds": 10**5000}, "seconds must be None or a number > 0, got <int>"),
        ({"constraints": {"size": ("<=", 10**400)}}, "bound of size must be a finite number, got 1000"),
        ({"objective": 5}, "objective must be a name or a tuple of distinct names, got 5"),
    ],
)
def test_wrong_arguments_are_answered_by_tune(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        tune(lambda config: config["x"], given.pop("space", SPACE), budget=2, progress=False, **given)


def test_functions_that_report_need_agents_of_whole_space() -> None:
    def reports(config: Any, trial: Any) -> None: ...

    for given in ({"objective": ("a", "b"), "goal": ("max", "max")}, {"agent": "asha"}):
        with pytest.raises(ValueError, match=r"epochs\) where the agent chooses from candidates, as auto does for sev"):
            tune(reports, SPACE, epochs=3, budget=9, **given)


def test_start_points_come_first_and_once(tmp_path: Path) -> None:
    given: dict[str, Any] = {"out": tmp_path, "progress": False}
    points = [{"x": 0.1, "kind": "bad"}, {"x": 0.7, "kind": "good", "depth": 2}]
    tune(helpers.train, helpers.SPACE, budget=1, points=points, **given)
    more = tune(helpers.train, helpers.SPACE, budget=4, points=points, **given)
    assert [e.config for e in more][:2] == points  # to the bit, whatever actions are rounded to
    assert [e.given for e in more] == [True, True, False, False]
    whole = tune(helpers.train, helpers.SPACE, budget=4, points=points, progress=False)
    assert [e.config for e in whole] == [e.config for e in more]


def threads(config: Any) -> float:
    """Number of threads of a worker's libraries."""
    return float(os.environ["OMP_NUM_THREADS"])


def test_workers_share_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OMP", "OPENBLAS", "MKL"):
        monkeypatch.delenv(f"{name}_NUM_THREADS", raising=False)
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(range(6)), raising=False)
    tuned = tune(threads, SPACE, budget=2, workers=2, executor="processes", progress=False)
    assert [e.reward for e in tuned] == [3.0, 3.0]
    assert "OMP_NUM_THREADS" not in os.environ


def test_journal_waits_for_disk_once_second_of_evaluations(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[bool] = []
    append = Journal.append

    def noted(self: Journal, record: Any, sync: bool = True, *check: Any) -> None:
        synced.append(sync)
        append(self, record, True, *check)

    monkeypatch.setattr(Journal, "append", noted)
    tune(helpers.train, helpers.SPACE, budget=20, agent="random", out=tmp_path, progress=False)
    assert sum(synced) < 5 < len(synced)


def test_long_messages_are_shortened_in_lines_and_in_record(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def long(config: Any) -> float:
        raise ValueError("begins " + "x" * 1_000_000 + " ends")

    failed = tune(long, SPACE, budget=2, out=tmp_path, tolerate=True)
    assert (tmp_path / NAME).stat().st_size < 300_000
    for text in (capsys.readouterr().err, failed.evaluations[0].error):
        assert len(text) < 60_000
        assert "ValueError: begins xxx" in text
        assert "xxx ends" in text

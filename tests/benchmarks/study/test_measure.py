"""Trainings of a table: a sweep that is resumed after a kill, its command, and a repeated training."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hpo_envs.benchmarks.runs.executors import Calls, of_jobs
from hpo_envs.benchmarks.study import measure
from hpo_envs.families.charmini.measure import suite as suite_of
from hpo_envs.tables.datasets.trained import Packing
from tests.hpo_envs.families.training.test_training import record
from tests.tables.datasets.charmini.test_charmini import arrays

SUITE = suite_of("eng")


@pytest.fixture
def trained(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    made: list[str] = []

    def train(task: str) -> dict[str, Any]:
        made.append(task)
        return record(task, 100) | {"versions": {"torch": "2"}}

    monkeypatch.setitem(measure.SUITES, "CharMini-eng", replace(SUITE, train=train))
    return made


def test_sweep_goes_on_and_is_packed(trained: list[str], tmp_path: Path, monkeypatch: Any, capsys: Any) -> None:
    suite = measure.SUITES["CharMini-eng"]
    packing = replace(suite.packing, file=tmp_path / "ships.npz")
    monkeypatch.setitem(measure.SUITES, "CharMini-eng", replace(suite, packing=packing))
    out = ["CharMini-eng", "--out", str(tmp_path / "out")]
    assert measure.main([*out, "--rows", "1"]) == 0
    assert measure.main([*out, "--rows", "2"]) == 0
    assert trained == SUITE.tasks(2)
    assert measure.main([*out, "--pack", str(packing.file)]) == 0
    assert "configurations with all seeds: 2 of eng-lstm, 2 of eng-transformer" in capsys.readouterr().out
    assert sorted(packing.shipped_names()) == sorted(SUITE.tasks(2))
    assert measure.main(["CharMini-eng", "--out", str(tmp_path / "other"), "--rows", "2"]) == 0
    assert len(trained) == 12


def test_some_of_what_ships_are_trained_again(trained: list[str], monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    stored = arrays()
    monkeypatch.setattr(Packing, "load", lambda self: stored)
    monkeypatch.setattr(
        Packing, "shipped_names", lambda self: [f"eng-lstm-{draw}-{seed}" for draw in range(3) for seed in range(3)]
    )
    assert measure.main(["CharMini-eng", "--check", "3"]) == 1  # what ships differs between configurations
    assert trained == ["eng-lstm-0-0", "eng-lstm-1-0", "eng-lstm-2-0"]
    out = capsys.readouterr().out
    assert "eng-lstm-0-0: the same in every epoch (0.00" in out
    assert "3 trainings repeated: 1 same, 0 agrees, 2 differs" in out
    with pytest.raises(ValueError, match="--check must be an int from 0 to 9, .* trainings that ship, got 10"):
        measure.main(["CharMini-eng", "--check", "10"])


@pytest.mark.parametrize(
    "words, message",
    [
        (["CharMina"], "name must be one of CharMini, TextMini, .*CellMini, .*got 'CharMina', did you mean"),
        (["CharMini", "--rows", "65"], "--rows must be an int from 1 to 64, got 65"),
        (["CellMini", "--rows", "301"], "--rows must be an int from 1 to 300, got 301"),
        (["CharMini", "--jobs", "0"], "--jobs must be an int >= 1, got 0"),
    ],
)
def test_wrong_arguments_are_named(words: list[str], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        measure.main([*words])


def train(task: str) -> dict[str, Any]:
    return {"task": task, "status": "ok", "seconds": [1.0]}


class Killed(BaseException):
    pass


def test_killed_sweep_goes_on_without_losing_or_repeating_training(tmp_path: Path) -> None:
    tasks, made = [f"t-{i}" for i in range(6)], list[str]()

    def fragile(task: str) -> dict[str, Any]:
        if len(made) == 4 and not again:
            raise Killed
        made.append(task)
        return train(task)

    again = False
    with pytest.raises(Killed):
        measure.conduct(tasks, fragile, tmp_path / "new", Calls())
    again = True
    seen: list[Any] = []
    count = measure.conduct(tasks, fragile, tmp_path / "new", Calls(), known=["t-5"], watch=lambda *a: seen.append(a))
    assert (count, made, seen) == (1, tasks[:5], [(5, 6, None), (6, 6, train("t-4"))])
    assert [r["task"] for r in measure.records(tmp_path / "new")] == tasks[:5]


def test_processes_make_same_trainings(tmp_path: Path) -> None:
    tasks = [f"t-{i}" for i in range(5)]
    with of_jobs(2) as executor:
        measure.conduct(tasks, train, tmp_path, executor)
    assert sorted(r["task"] for r in measure.records(tmp_path)) == tasks


def test_nothing_to_read(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"trainings must be in .*trainings\.jsonl"):
        measure.records(tmp_path)

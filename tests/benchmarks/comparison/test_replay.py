"""Stored runs equal their replay, or are refused by name."""

import dataclasses
import functools
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hpo_envs.benchmarks import Comparison
from hpo_envs.benchmarks.comparison import replay as replay_module
from hpo_envs.benchmarks.comparison.replay import Replay, table_of
from hpo_envs.benchmarks.runs import Run, run
from hpo_envs.benchmarks.study import store
from hpo_envs.commands.main import main
from hpo_envs.tables import store as tables
from hpo_envs.tables import user
from hpo_envs.tables.user import reader
from hpo_envs.tuning import record, tune
from tests.helpers import ONE_OF_EACH, rejects, short

pytestmark = pytest.mark.hostile

Changes = dict[str, Any]
CASES: list[tuple[str, dict[str, Any]]] = [
    ("NMTHPO-zhen-v0", {}),
    ("NMTHPO-zhen-v0", {"subsample": 0.5, "shuffle": False}),
    ("NMTHPO-v0", {}),
    ("NMTLC-ft-zhen-v0", {"levels": 3, "workers": 3}),
    ("NMTLC-ft-zhen-v0", {"subsample": 0.8}),
    ("FIESTA-tdsa8-v0", {"budget": 30, "workers": 3, "durations": [3.0, 1.0, 2.0, 1.5] * 2}),
    ("FIESTA-tdsa8-v0", {"budget": 30, "batch_size": 4}),
    ("FIESTA-ner-v0", {"budget": 30, "fix_split": 7, "replacement": False}),
    ("FIESTA-gaussian-v0", {"budget": 5, "means": [0.1, 0.5], "deviations": [0.1, 0.1], "bounds": (-1.0, 2.0)}),
    ("CharHPO-v0", {"budget": 5}),
]


def _stored(folder: Path, runs: list[Run]) -> Path:
    store.write(runs, folder)
    return folder


def _checked(folder: Path) -> Replay:
    replay = Replay()
    store.read(folder, check=replay)
    return replay


def test_runs_on_table_that_is_not_installed_are_scored_and_not_checked(tmp_path: Path, monkeypatch: Any) -> None:
    folder = _stored(tmp_path, run("random", "NMTHPO-zhen-v0", range(5)))
    known = Comparison.load(folder).summary()
    monkeypatch.setattr(tables, "missing", lambda name: [tmp_path] if name == "nmthpo/zhen" else [])
    here = Comparison.load(folder).summary()
    assert "Runs on NMTHPO-zhen-v0 were not replayed: table nmthpo/zhen is not installed." in here["checked"]
    assert here["cells"] == known["cells"]


@pytest.mark.parametrize("env", ONE_OF_EACH)
def test_runs_are_what_their_environments_answer(env: str, tmp_path: Path) -> None:
    runs = run("random", env, [3, 1], env_kwargs=short(env))
    replay = _checked(_stored(tmp_path, runs))
    assert (replay.checked, replay.unchecked) == (2, {})
    assert str(replay) == "Replayed 2 stored runs: all rewards, costs and statuses are equal."


@pytest.mark.parametrize("case", CASES, ids=str)
def test_every_form_of_episode_is_replayed(case: tuple[str, dict[str, Any]], tmp_path: Path) -> None:
    runs = run("random", case[0], range(4), env_kwargs=case[1])
    assert _checked(_stored(tmp_path, runs)).checked == 4
    false = [dataclasses.replace(r, rewards=np.nextafter(r.rewards, 1e9)) for r in runs]
    rejects("reward of evaluation 0 of random", _checked, _stored(tmp_path / "false", false))


def _at(array: Any, k: int, value: Any) -> Any:
    array = np.array(array)
    array[k] = value if not callable(value) else value(array[k])
    return array


def _evaluated(name: str, value: Callable[[Any], Any]) -> Callable[[Run], Changes]:
    return lambda r: {"evaluated": {**r.evaluated, name: _at(r.evaluated[name], 2, value)}}


def _other_row(r: Run) -> Changes:
    """Replaces the row everywhere by another one, whose reward is not that of the action."""
    other = r.actions[r.rewards != r.rewards[2]][0]
    return {"actions": _at(r.actions, 2, other), "evaluated": {**r.evaluated, "row": _at(r.evaluated["row"], 2, other)}}


FALSE: dict[str, Callable[[Run], Changes]] = {
    "reward of evaluation 2": lambda r: {"rewards": _at(r.rewards, 2, lambda x: np.nextafter(x, np.inf))},
    "cost of evaluation 2": lambda r: {"costs": _at(r.costs, 2, 0.5)},
    "status of evaluation 2": _evaluated("status", lambda x: 1),
    "row of evaluation 2": _evaluated("row", lambda x: x + 1 if x < 50 else x - 1),
    "level of evaluation 2": _evaluated("level", lambda x: x + 1),
    "repeat of evaluation 2": _evaluated("repeat", lambda x: x + 1),
    "truth of evaluation 2": _evaluated("truth", lambda x: x + 1e-9),
    "reward of evaluation 2 of": _other_row,
    "action of evaluation 2": lambda r: {"actions": _at(r.actions, 2, -1)},
    "true reward of the recommendation": lambda r: {"recommended_truth": r.recommended_truth + 1e-9},
    "recommendation of random": lambda r: {"recommended": 10_000},
    "columns of random": lambda r: {"evaluated": {k: v for k, v in r.evaluated.items() if k != "row"}},
    "sha256": lambda r: {"header": {**r.header, "sha256": "0" * 64}},
    "objectives of random": lambda r: {"header": {**r.header, "objectives": ["parameters"]}},
    "cost_unit of random": lambda r: {"header": {**r.header, "cost_unit": "s"}},
    "position of evaluation 3": lambda r: {"header": {**r.header, "budget": 3.0}},
    "shape of reward": lambda r: {"rewards": np.stack([r.rewards] * 2, axis=1)},
}


@pytest.mark.parametrize("what", FALSE)
def test_a_false_value_is_rejected_with_file_run_and_evaluation(what: str, tmp_path: Path) -> None:
    runs = _runs()
    false = dataclasses.replace(runs[1], **FALSE[what](runs[1]))
    folder = _stored(tmp_path, [runs[0], false, runs[2]] if what.split()[0] not in ALONE else [false])
    with pytest.raises(ValueError, match=what) as caught:
        _checked(folder)
    text = str(caught.value)
    assert what == "sha256" or "random on NASBenchNLP-ptb-final-v0, seed 1, must be" in text
    assert what == "sha256" or text.startswith(str(next(folder.glob("*/*.parquet"))))


@functools.cache
def _runs() -> list[Run]:
    return list(run("random", "NASBenchNLP-ptb-final-v0", range(3), budget=6))


ALONE = ("columns", "shape", "sha256", "objectives", "cost_unit", "position")
"""Header keys that all runs of a folder or part share."""


def test_a_row_that_the_episode_did_not_have_is_rejected(tmp_path: Path) -> None:
    (one,) = run("random", "NMTHPO-zhen-v0", [0], env_kwargs={"subsample": 0.5}, budget=59)
    whole = dataclasses.replace(one, header={**one.header, "subsample": 0.4})
    rejects("action of evaluation", _checked, _stored(tmp_path, [whole]))


@pytest.mark.parametrize(("kept", "made"), [(10**6, 9), (1, 11)])
def test_agents_share_episodes_wherever_their_parts_begin(
    kept: int, made: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(replay_module, "CELLS", 1)  # 64 runs side by side
    monkeypatch.setattr(replay_module, "KEPT", kept)
    problems: list[Any] = []
    init = replay_module._Problems.__init__
    monkeypatch.setattr(replay_module._Problems, "__init__", lambda *a: (problems.append(a), init(*a))[1])
    for name, first in (("a", 0), ("b", 100)):
        runs = run("random", "NMTHPO-zhen-v0", range(first, first + 300), budget=2)
        header = {"agent": name, "algorithm": "random"}
        _stored(tmp_path, [dataclasses.replace(r, header={**r.header, **header}) for r in runs])
    assert (_checked(tmp_path).checked, len(problems)) == (600, made)


def test_table_that_environment_no_longer_makes_is_rejected(tmp_path: Path) -> None:
    (one,) = run("random", "FIESTA-gaussian-v0", [0], budget=5, env_kwargs={"means": [0.1, 0.5]})
    stale = dataclasses.replace(one, header={**one.header, "table": "fiesta/gaussian-old"})
    rejects("fiesta/gaussian-old .* must have sha256 .*, got no table of this name", table_of, stale.header)


def test_cells_are_built_again(tmp_path: Path) -> None:
    (one,) = run("regularized-evolution", "NASBenchNLP-cell-v0", [0], budget=3)
    assert one.evaluated["move"].shape == (3, 25, 4)
    other = dataclasses.replace(one, evaluated={**one.evaluated, "move": one.evaluated["move"][[1, 0, 2]]})
    rejects("of evaluation 0 of regularized-evolution", _checked, _stored(tmp_path, [other]))


def test_runs_that_cannot_be_checked_are_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HPO_ENVS_TABLES", str(tmp_path / "tables"))
    (tmp_path / "mine.csv").write_text("\n".join(["width,accuracy", *(f"{k},0.{k}" for k in range(10, 30))]))
    table = reader.from_csv(tmp_path / "mine.csv", score="accuracy", goal="max", name="mine")
    user.save(table)
    _stored(tmp_path / "runs", run("random", "TableHPO-mine-v0", [0]))
    _stored(tmp_path / "runs", run("random", "TableHPO-v0", [0], env_kwargs={"table": table}))
    assert _checked(tmp_path / "runs").checked == 2
    shutil.rmtree(user.folder())
    user._remembered.clear()  # another process would not have it in memory
    assert str(_checked(tmp_path / "runs")).startswith("Runs on TableHPO-mine-v0 were not replayed: ")


def test_commands_say_it_and_refuse(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    runs = run("random", "NMTHPO-zhen-v0", range(3), budget=4, env_kwargs={"subsample": 0.8})
    command = ["compare", "--env", "NMTHPO-zhen-v0", "--seeds", "3", "--budget", "4", "--out"]
    assert main([*command, str(tmp_path / "runs")]) == 0
    assert main(["report", str(tmp_path / "runs")]) == 0
    said = "Replayed 3 stored runs: all rewards, costs and statuses are equal."
    assert capsys.readouterr().out.count(said) == 1, "what compare has just made is not replayed"
    assert said in (tmp_path / "runs" / "report.html").read_text("utf-8")
    false = [dataclasses.replace(r, rewards=r.rewards + 1.0, header={**r.header}) for r in runs]
    kept = store.read(tmp_path / "runs")
    false = [dataclasses.replace(f, header=k.header) for f, k in zip(false, kept, strict=True)]
    folder = _stored(tmp_path / "false", false)
    assert main([*command, str(folder)]) == 2
    assert main(["report", str(folder)]) == 2
    assert capsys.readouterr().err.count("reward of evaluation 0 of random on NMTHPO-zhen-v0, seed 0, must be") == 2


def test_functions_are_not_called_again(tmp_path: Path) -> None:
    calls = []

    def train(config: dict[str, Any]) -> float:
        calls.append(config)
        return float(config["x"])

    given = {"function": train, "space": {"x": (0.0, 1.0)}, "budget": 4}
    store.write(run("random", "FunctionHPO-v0", [0, 1], env_kwargs=given), tmp_path / "runs")
    assert len(calls) == 8
    tune(train, given["space"], budget=3, out=tmp_path / "runs" / "mine", progress=False)
    found = Comparison.load(tmp_path / "runs", more=record.runs_of(tmp_path / "runs")).summary()
    assert len(calls) == 11
    assert found["checked"] == "Runs on FunctionHPO-v0 were not replayed: a function is not called again."
    assert [(cell["agent"], cell["n"]) for cell in found["cells"]] == [("random", 2), ("auto (box-bo)", 1)]


def test_searches_of_one_function_and_space_are_replications_whatever_their_seeds(tmp_path: Path) -> None:
    def train(config: dict[str, Any]) -> float:
        return float(config["x"])

    for agent in ("random", "bo"):
        for seed in (0, 1):
            out = tmp_path / "same" / f"{agent}{seed}"
            tune(train, {"x": (0.0, 1.0)}, agent=agent, seed=seed, budget=4, out=out, progress=False)
    found = Comparison.load(tmp_path / "same", more=record.runs_of(tmp_path / "same")).summary()
    assert [(cell["agent"], cell["n"]) for cell in found["cells"]] == [("bo", 2), ("random", 2)]
    for name, high, goal in (("wide", 10.0, "max"), ("least", 1.0, "min")):
        tune(train, {"x": (0.0, high)}, agent="tpe", budget=4, goal=goal, out=tmp_path / name, progress=False)
        with pytest.raises(ValueError, match="runs must share their space of FunctionHPO"):
            Comparison.of([*record.runs_of(tmp_path / "same"), *record.runs_of(tmp_path / name)])

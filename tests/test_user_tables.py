"""A user's CSV, DataFrame or Optuna study as a table and as an environment."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pandas as pd
import pytest

from hpo_envs.benchmarks.runs import run
from hpo_envs.cli import main
from hpo_envs.tables import store
from hpo_envs.tables.builders import user

CSV = """lr,layers,act,seed,accuracy,seconds,epochs_run
0.001,2,relu,1,0.80,12.5,3
0.1,4,tanh,1,0.40,30,4
0.001,2,relu,2,0.90,13.5,3
0.01,3,relu,1,,20,1
"""


@pytest.fixture(autouse=True)
def data_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("HPO_ENVS_DATA", str(tmp_path / "data"))
    store.forget()
    yield tmp_path / "data"
    store.forget()


def made(tmp_path: Path, text: str = CSV, **kwargs: Any) -> Any:
    path = tmp_path / "mine.csv"
    path.write_text(text)
    settings = {"score": "accuracy", "cost": "seconds", "metrics": ["epochs_run"], "drop": ["seed"], **kwargs}
    return user.from_csv(path, **settings)


def test_schema_is_inferred_and_explained(tmp_path: Path) -> None:
    t = made(tmp_path)
    assert t.name == "user/mine"
    assert [(h.name, h.kind, h.log) for h in t.space] == [
        ("lr", "float", True),
        ("layers", "int", False),
        ("act", "categorical", False),
    ]
    assert t.feature_names == ("lr", "layers", "act=relu", "act=tanh")
    assert t.keys[0] == "lr=0.001,layers=2,act=relu"
    assert t.values.shape == (3, 2, 1, 2)
    assert t.values[0, :, 0, 0].tolist() == [0.8, 0.9]
    assert t.cost[0, :, 0].tolist() == [12.5, 13.5]
    assert t.status.tolist() == [[0, 0], [0, 0], [1, 0]]
    assert t.provenance.kind == "measured"
    assert "lr is float: 0.001 to 0.1 on a logarithmic scale." in t.provenance.notes
    assert "4 evaluations of 3 configurations, 1 without a score." in t.provenance.notes


def test_a_saved_table_is_an_environment_everywhere(tmp_path: Path) -> None:
    table = made(tmp_path)
    user.save(table)
    assert store.load("user/mine").provenance.sha256 == table.provenance.sha256
    env = gym.make("TableHPO-v0", name="mine", cost="seconds", budget=None)
    _, info = env.reset(seed=0)
    assert info["kind"] == "measured"
    _, reward, _, _, info = env.step(0)
    assert reward in (0.8, 0.9)
    assert info["config"] == {"lr": 0.001, "layers": 2, "act": "relu"}
    _, reward, _, _, info = env.step(2)
    assert info["status"] == "failed"
    assert reward == env.unwrapped.table.metrics[0].low
    runs = run("bo", "TableHPO-v0", range(2), budget=3, env_kwargs={"name": "mine"})
    assert {r.header["table"] for r in runs} == {"user/mine"}
    assert not [p for p in (tmp_path / "data" / "user").iterdir() if p.suffix != ".npz"]


def test_replacing_a_table_is_seen_at_once(tmp_path: Path) -> None:
    user.save(made(tmp_path))
    first = store.load("user/mine")
    user.save(made(tmp_path, CSV.replace("0.40", "0.50")))
    assert store.load("user/mine").provenance.sha256 != first.provenance.sha256


@pytest.mark.parametrize(
    ("text", "kwargs", "message"),
    [
        (CSV, {"score": "acuracy"}, "score must be a column of the table, got 'acuracy', did you mean 'accuracy'"),
        (CSV, {"cost": "time"}, "cost must be a column of the table, got 'time'"),
        (CSV, {"goal": "high"}, "goal must be max or min, got 'high'"),
        (CSV, {"name": "a/b"}, "name must be letters, digits"),
        (CSV, {"bounds": (0.5, 1.0)}, "bounds must enclose the scores, 0.4 to 0.9, got"),
        (CSV.replace("0.40", "good"), {}, "column 'accuracy', row 3: must be a finite number, got 'good'"),
        (CSV.replace("13.5", "-1"), {}, "column 'seconds', row 4: must be a finite number >= 0, got -1"),
        (CSV.replace("13.5", ""), {}, "column 'seconds', row 4: must be a finite number >= 0"),
        (CSV.replace(",4,tanh", ",,tanh"), {}, "column 'layers', row 3: a hyperparameter must have a value"),
        (CSV.replace("0.1,4", "inf,4"), {}, "column 'lr', row 3: must be finite, got inf"),
        ("lr,accuracy,seconds,epochs_run,seed\n", {}, "the table must have at least one row"),
        ("accuracy,seconds,epochs_run,seed\n1,1,1,1\n", {}, "must have a column that is a hyperparameter"),
        ("lr,accuracy,seconds,epochs_run,seed\n1,,1,1,1\n2,,1,1,1\n", {}, "'accuracy' must have at least one number"),
        ("", {}, "must be a CSV file with a header line"),
        ("a,b\n1,2,3,4\n5\n1,2,3,4,5,6\n", {}, "must be a CSV file with a header line"),
    ],
)
def test_errors_name_column_row_rule_and_value(tmp_path: Path, text: str, kwargs: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        made(tmp_path, text, **kwargs)


def test_too_many_texts_are_no_hyperparameter() -> None:
    frame = pd.DataFrame({"id": [f"run {i}" for i in range(150)], "x": range(150), "y": np.linspace(0, 1, 150)})
    with pytest.raises(ValueError, match=r"column 'id' must be numbers or at most 100 different texts, got 150"):
        user.from_frame(frame, score="y")
    assert len(user.from_frame(frame, score="y", drop=["id"])) == 150


def test_a_damaged_file_is_refused(tmp_path: Path) -> None:
    path = user.save(made(tmp_path))
    path.write_bytes(path.read_bytes()[:-40])
    store.forget()
    with pytest.raises((store.CorruptFile, ValueError), match="must be a table that"):
        store.load("user/mine")


def test_a_failed_save_leaves_the_old_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = user.save(made(tmp_path))
    before = path.read_bytes()

    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(user.os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        user.save(made(tmp_path, CSV.replace("0.40", "0.50")))
    assert path.read_bytes() == before
    assert [p.name for p in path.parent.iterdir()] == ["mine.npz"]


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "sweep.csv"
    path.write_text(CSV)
    command = ["table", "from-csv", str(path), "--score", "accuracy", "--cost", "seconds", "--drop", "seed,epochs_run"]
    assert main(command) == 0
    said = capsys.readouterr().out
    assert "lr is float" in said
    assert 'gym.make("TableHPO-v0", name="sweep")' in said
    assert "user/sweep" in store.names("user")
    assert main(["table", "from-csv", str(path), "--score", "acc"]) == 2


def test_an_optuna_study_is_a_table() -> None:
    optuna = pytest.importorskip("optuna", reason="extra optuna is not installed")
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.create_study(direction="minimize", sampler=optuna.samplers.RandomSampler(seed=0))

    def objective(trial: Any) -> float:
        x = trial.suggest_float("x", -1, 1)
        return x**2 + (trial.suggest_categorical("kind", ["a", "b"]) == "b")

    study.optimize(objective, n_trials=12)
    t = user.from_study(study, name="study")
    assert len(t) == 12
    assert t.metrics[0].goal == "min"
    assert t.final("score").min() == study.best_value
    env = gym.make("TableHPO-v0", table=t)
    env.reset(seed=0)
    assert env.step(3)[1] == -study.trials[3].value

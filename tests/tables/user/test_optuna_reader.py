"""An Optuna study as a table."""

from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from hpo_envs.benchmarks import run
from hpo_envs.commands.main import main
from hpo_envs.tables import store, user


def test_optuna_study_is_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    optuna = pytest.importorskip("optuna", reason="extra optuna is not installed")
    optuna.logging.set_verbosity(optuna.logging.WARNING)

    def objective(trial: Any) -> float:
        lr = trial.suggest_float("lr", 1e-5, 1e-1, log=True)
        layers = trial.suggest_int("layers", 2, 8, step=2)
        kind = trial.suggest_categorical("optimiser", ["adam", "sgd", None])
        extra = trial.suggest_float("momentum", 0.0, 0.9) if kind == "sgd" else 0.0
        if trial.number == 4:
            raise optuna.TrialPruned
        if trial.number == 5:
            trial.report(7.0, 1)
            raise optuna.TrialPruned
        return float(-np.log10(lr) + layers + extra)

    storage = f"sqlite:///{tmp_path}/o.db"
    sampler = optuna.samplers.RandomSampler(seed=1)
    study = optuna.create_study(study_name="my study", storage=storage, sampler=sampler)
    study.optimize(objective, 20)
    study.ask()  # a running trial is left out
    t = user.from_study(study)
    assert t.name == "user/my-study"
    assert len(t) == 20
    space = {h.name: h for h in t.space}
    assert (space["lr"].low, space["lr"].high, space["lr"].log) == (1e-5, 1e-1, True)
    assert space["layers"].values == (2, 4, 6, 8)
    assert space["optimiser"].values == ("adam", "sgd", "None")
    assert space["momentum"].condition == ("optimiser", ("sgd",))
    assert (t.metrics[0].name, t.metrics[0].goal) == ("value", "min")
    for trial in study.trials[:20]:
        row = t.row(f"trial-{trial.number}")
        if trial.state.name == "COMPLETE":
            assert t.values[row, 0, 0, 0] == trial.value
            assert t.config(row)["lr"] == trial.params["lr"]
            assert t.config(row)["layers"] == trial.params["layers"]
    pruned = [t.row("trial-4"), t.row("trial-5")]
    assert t.status[pruned, 0].tolist() == [1, 3]
    assert t.values[pruned[1], 0, 0, 0] == 7.0
    (one,) = run("bo-ei-rbf", "TableHPO-v0", [0], budget=5, env_kwargs={"table": t})
    assert one.header["scale"]["best"][0] == -study.best_value
    assert main(["table", "from-optuna", "my study", "--storage", storage]) == 0
    assert "optimiser: as defined, choice of 3: adam, sgd, None" in capsys.readouterr().out
    assert store.load("user/my-study").provenance.sha256 == t.provenance.sha256
    assert main(["table", "from-optuna", "another", "--storage", storage]) == 2
    assert "study must be one of my study in" in capsys.readouterr().err
    two = optuna.create_study(directions=["maximize", "minimize"], study_name="two")
    two.optimize(lambda trial: (trial.suggest_float("x", 0, 1), trial.params["x"] ** 2), 5)
    t = user.from_study(two)
    assert [(m.name, m.goal) for m in t.metrics] == [("value_0", "max"), ("value_1", "min")]
    env = gym.make("TableHPO-v0", table=t, objective=("value_0", "value_1"), disable_env_checker=True)
    env.reset()
    assert env.step(t.row("trial-0"))[1].tolist() == [two.trials[0].values[0], -two.trials[0].values[1]]

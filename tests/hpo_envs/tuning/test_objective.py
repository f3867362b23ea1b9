"""Tables as functions of a configuration."""

import pickle

import gymnasium as gym
import numpy as np
import pandas as pd
import pytest

import hpo_envs
from hpo_envs.tables import user
from hpo_envs.tables.table import LOST
from hpo_envs.tables.user.space import space_of
from tests.helpers import rejects


@pytest.mark.parametrize("env_id", ["NMTHPO-swen-v0", "CharHPO-g2p-dut-lstm-v0", "TableHPO-v0"])
def test_objective_returns_what_step_of_environment_does(env_id: str) -> None:
    function = hpo_envs.Objective(env_id)
    env = gym.make(env_id, budget=None, disable_env_checker=True)
    env.reset(seed=0)
    for row in (0, 7, 41):
        info = env.step(row)[4]
        metrics = {k: float(v) for k, v in info["metrics"].items()}
        found = function(function.table.config(row))
        assert (found.pop("cost"), found) == (function.table.cost[row, 0, 0], metrics)
    assert [h.name for h in space_of(function.space)] == [h.name for h in function.table.space]


def test_fidelity_is_checkpoint_and_held_out_metrics_stay_held_out() -> None:
    function = hpo_envs.Objective("NMTLC-swen-v0")
    config = function.table.config(3)
    first, last = (function(config, fidelity=f) for f in (function.fidelities[0], function.fidelities[-1]))
    assert first["cost"] < last["cost"]
    assert first["perplexity"] == function.table.values[3, 0, 0, function.table.metric("perplexity")]
    assert function(config) == last
    rejects(r"fidelity must be one of .fidelities, the nearest is \d+, got 3", function, config, fidelity=3)
    rejects("fidelity must be one of .fidelities, got 'a'", function, config, fidelity="a")
    cells = hpo_envs.Objective("NASBenchNLP-wikitext2-v0")
    key = cells.table.keys[5]
    assert set(cells({"key": key})) == {"validation_loss", "train_loss", "parameters", "cost"}
    repeats = cells.table.values[5, :, 0, 0]
    measured = repeats[~np.isnan(cells.table.cost[5, :, 0])]
    assert cells({"key": key}, fidelity=1)["validation_loss"] == pytest.approx(measured.mean())


def test_diverged_runs_have_the_scores_of_environments() -> None:
    function, p = hpo_envs.Objective("CellMiniLC-v0"), gym.make("CellMiniLC-v0").unwrapped.params  # type: ignore[attr-defined]
    rows, (name,) = np.flatnonzero(np.isin(function.table.status, LOST).any(axis=1))[:20], p.objectives
    for level in (0, 1, len(function.fidelities) - 1):
        truth = p.rewarded[0].sign * np.ravel(p.truth(0, np.column_stack([rows, np.full(20, level)])))
        keys = [{"key": function.table.keys[row]} for row in rows.tolist()]
        found = [function(key, fidelity=function.fidelities[level])[name] for key in keys]
        np.testing.assert_allclose(found, truth)


def test_objective_is_pickled_by_its_id() -> None:
    function = hpo_envs.Objective("NMTHPO-swen-v0")
    content = pickle.dumps(function)
    assert len(content) < 300
    assert pickle.loads(content)(function.table.config(9)) == function(function.table.config(9))


def test_configurations_that_were_not_measured_are_named() -> None:
    function = hpo_envs.Objective("NMTHPO-swen-v0")
    config = function.table.config(0)
    rejects("bpe must be one of 1000, .*, got 9000", function, config | {"bpe": 9000})
    rejects("got 'bep', did you mean 'bpe'", function, {"bep": 1000})
    for env_id in ("CharHPO-v0", "NMTHPO-v0", "CushLEPOR-ted-ende-v0"):
        rejects(f"env_id must have the configurations of one table .*, got '{env_id}'", hpo_envs.Objective, env_id)
    priced = user.from_frame(pd.DataFrame({"lr": [0.1, 0.2], "cost": [4.0, 3.0]}), "cost", "min", name="priced")
    rejects("no metric named cost, .*, got user/priced", hpo_envs.Objective, "TableHPO-v0", table=priced)


def test_tune_takes_objective() -> None:
    function = hpo_envs.Objective("TableHPO-v0")
    found = hpo_envs.tune(
        lambda config: function(config)["accuracy"], function.space, agent="random", budget=8, progress=False
    )
    assert found.best_score == function(found.best.config)["accuracy"]

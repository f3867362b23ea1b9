"""Histories of runs on many tables as one data set."""

import runpy
import sys
from pathlib import Path

import gymnasium as gym
import numpy as np
import pandas as pd
import pytest

from hpo_envs import wrappers
from hpo_envs.benchmarks import run
from hpo_envs.benchmarks.runs import Runs
from hpo_envs.integrations import histories
from hpo_envs.tables import store, user
from tests.helpers import ROOT

HOW = {"budget": 6, "env_kwargs": {"subsample": 0.5}}


def test_runs_on_several_tables_have_candidates_and_the_history_that_a_policy_observes(tmp_path: Path) -> None:
    ids = {"NMTHPO-zhen-v0": "nmthpo/zhen", "CharHPO-g2p-hun-lstm-v0": "charhpo/g2p-hun-lstm"}
    runs = [r for agent in ("random", "bo-ei-rbf") for i in ids for r in run(agent, i, [3, 5], **HOW)]
    found = histories.read(histories.write(runs, tmp_path / "data"))
    assert [(h.agent, h.seed) for h in found] == [(r.header["agent"], r.seed) for r in runs]
    for h, r in zip(found, runs, strict=True):
        table = store.load(ids[r.header["env"]])
        assert (h.table, len(h.features)) == (table.name, len(table) // 2)
        assert np.array_equal(h.features[h.actions], table.features[r.actions].astype(np.float32))
        assert np.array_equal(h.rewards, r.rewards)
        assert np.array_equal(h.costs, r.costs)
    h, r = found[-1], runs[-1]
    kwargs = {"budget": 6, "subsample": 0.5, "shuffle": True}
    env = wrappers.CandidateObservation(gym.make(r.header["env"], **kwargs), len(h.features), ("history",))
    seen, _ = env.reset(seed=r.header["reset_seed"])
    for k, action in enumerate(h.actions):
        np.testing.assert_allclose(h.observations()[k], seen["history"], atol=1e-5)
        seen, *_ = env.step(int(np.flatnonzero(env.rule._picked[0] == action)[0]))


def test_stored_runs_on_a_saved_table_find_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HPO_ENVS_TABLES", str(tmp_path / "tables"))
    frame = pd.DataFrame({"lr": np.logspace(-4, -1, 20), "acc": np.linspace(0.0, 1.0, 20)})
    user.save(user.from_frame(frame, "acc", "max", name="ta"))
    runs = run("random", "TableHPO-v0", [0, 1], budget=5, env_kwargs={"table": "ta"})
    found = histories.read(histories.write([*runs], tmp_path / "data"))
    assert [h.table for h in found] == ["user/ta"] * 2
    assert np.array_equal(found[1].rewards, runs[1].rewards)


def test_runs_without_configurations_of_one_objective_are_refused(tmp_path: Path) -> None:
    for env_id in ("NMTHPO-zhen-mo-v0", "NMTLC-zhen-v0", "CushLEPOR-ted-ende-v0"):
        runs = run("random", env_id, [0], env_kwargs={"budget": 5})
        with pytest.raises(ValueError, match="runs must have configurations as actions and one objective, got one on"):
            histories.write(runs, tmp_path)
    with pytest.raises(ValueError, match="runs must be at least one, got none"):
        histories.write(Runs(), tmp_path)


def test_the_example_distils_runs(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("torch")
    monkeypatch.setattr(sys, "argv", ["distillation.py", "--seeds", "1", "--steps", "3"])
    runpy.run_path(str(ROOT / "docs" / "examples" / "distillation.py"), run_name="__main__")
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == ["random", "bo-spread", "student"]

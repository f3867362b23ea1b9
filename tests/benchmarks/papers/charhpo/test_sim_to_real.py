"""From the surrogate to the table and to training: what actions mean on each, effects, and orders of agents."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from hpo_envs.benchmarks.papers.charhpo import sim_to_real
from hpo_envs.tables import store
from hpo_envs.tables.datasets.charmini.space import drawn, space

ROWS = sim_to_real.actions_of("transformer")


def test_the_action_of_a_row_is_its_configuration_where_models_are_trained() -> None:
    pytest.importorskip("torch")
    env: Any = gym.make("CharMiniLive-eng-transformer-v0").unwrapped
    table = store.load("charmini/eng-transformer")
    for row in (0, len(table) - 1):
        for h, there, here in zip(table.space, env.params.stored(ROWS[row]), table.configs[row], strict=True):
            on = h.condition is None or table.config(row)[h.condition[0]] in h.condition[1]
            assert not on or there == pytest.approx(here, rel=1e-5), h.name
    env.close()


def test_agents_of_the_box_play_on_the_nearest_rows() -> None:
    env: Any = gym.make("CharMini-eng-transformer-v0", budget=None)
    rewards, recommended = sim_to_real.play("random", 3, env, 4, ROWS)
    assert recommended.shape == (16,)
    table = store.load("charmini/eng-transformer")
    assert set(rewards) <= set(table.values[:, :, -1, table.metric("accuracy")].ravel())


def test_effects_are_of_the_rows_on_which_a_hyperparameter_counts() -> None:
    configs = drawn("lstm")
    actions = np.random.default_rng(0).uniform(-1, 1, configs.shape)
    names = [h.name for h in space("lstm")]
    rate, warmup, scheduler = (names.index(n) for n in ("learning_rate", "warmup_samples", "scheduler"))
    values = np.where(configs[:, scheduler] == 2, -actions[:, warmup], 9.0)
    found = sim_to_real.effects_of(actions, configs, values, "lstm")
    assert found["warmup_samples"] == pytest.approx(-1.0)
    assert abs(found["learning_rate"]) < 0.3
    assert "scheduler" not in found
    assert sim_to_real.effects_of(actions, configs, actions[:, rate], "lstm")["learning_rate"] == pytest.approx(1.0)


def test_scores_and_orders() -> None:
    found = sim_to_real.ranked({"a": [np.array([1.0, 3.0, 2.0]), np.array([2.0, 2.0, 2.0])], "b": [np.ones(3)] * 2})
    assert found["a"] == pytest.approx((np.mean([2 + 1 / 3, 2.0]), 0.0))
    assert found["b"] == pytest.approx((1.0, 1 / 6))
    assert sim_to_real.alike(found, {"a": (0.0, 0.0), "b": (1.0, 0.0), "c": (5.0, 0.0)}) == (0, 1)


def test_trainings_tune_or_try_what_the_surrogate_recommends(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    pytest.importorskip("torch")
    from hpo_envs.tables.datasets.trained.process import Trainer

    asked: list[Any] = []

    def train(self: Trainer, *request: Any) -> dict[str, Any]:
        asked.append(request)
        said = {"correct": len(asked), "errors": 1, "nll": 1.0, "loss": 1.0, "test_correct": 1, "test_errors": 1}
        return {**said, "parameters": 9, "seconds": 1.0}

    monkeypatch.setattr(Trainer, "train", train)
    monkeypatch.setitem(sim_to_real.BEST, "evaluations", 5)
    tuned = sim_to_real.train("tune random 1")["rewards"]
    assert tuned == pytest.approx([0.2 * k for k in range(1, sim_to_real.LIVE["evaluations"] + 1)])
    assert {request[1] for request in asked} == {sim_to_real.LIVE["epochs"]}
    assert len(sim_to_real.train("best random 0")["rewards"]) == 1
    assert asked[-1][1] == 20

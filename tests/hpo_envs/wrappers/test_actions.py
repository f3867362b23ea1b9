"""Actions as vectors of hyperparameters meet every row."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import pytest

import hpo_envs.wrappers as scalar
import hpo_envs.wrappers.vector as vector


def test_hyperparameter_actions_meet_every_row_exactly() -> None:
    env = scalar.HyperparameterAction(gym.make("NMTHPO-zhen-v0", table="surrogate", budget=None))
    table = env.unwrapped.table
    env.reset(seed=0)
    for config in table.configs[::7]:
        action = [np.unique(c).tolist().index(v) for c, v in zip(table.configs.T, config, strict=True)]
        _, _, _, _, info = env.step(np.array(action))
        assert tuple(info["config"].values()) == tuple(config)


def test_continuous_actions_meet_every_row_exactly() -> None:
    env = scalar.ContinuousAction(gym.make("NMTHPO-zhen-v0", table="surrogate", budget=None))
    table = env.unwrapped.table
    env.reset(seed=0)
    for row in range(0, len(table), 5):
        _, _, _, _, info = env.step((2 * table.features[row] - 1).astype(np.float32))
        assert tuple(info["config"].values()) == tuple(table.configs[row])


@pytest.mark.parametrize("action", [np.full(6, 2.0), np.zeros(5), "x", np.full(6, np.nan)])
def test_bad_actions(action: Any) -> None:
    env = scalar.ContinuousAction(gym.make("NMTHPO-zhen-v0", table="surrogate"))
    envs = vector.ContinuousAction(gym.make_vec("NMTHPO-zhen-v0", num_envs=1, table="surrogate"))
    env.reset(seed=0), envs.reset(seed=0)
    with pytest.raises(ValueError, match="action must be in"):
        env.step(action)
    with pytest.raises(ValueError, match="actions must be in"):
        envs.step(np.asarray(action)[None])

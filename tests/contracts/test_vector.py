"""The batched form equals the scalar one, trajectory for trajectory, on every id."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode

from hpo_envs.registry import SPECS
from hpo_envs.testing import check_env
from hpo_envs.testing.batches import BATCH_RULES

COVERS = ("hpo_envs.testing.batches", *sorted({s.vector_entry_point.partition(":")[0] for s in SPECS.values()}))
"""Modules that every test here goes through."""


@pytest.mark.parametrize("rule", BATCH_RULES)
def test_every_id_keeps(rule: str, env_id: str) -> None:
    check_env(env_id, rules=[rule])


@pytest.mark.parametrize("num_envs", [0, -1, 2.5, True])
def test_num_envs_is_validated(num_envs: Any) -> None:
    from hpo_envs.families.nmthpo.page import NMTHPOVectorEnv

    with pytest.raises(ValueError, match="num_envs must be an int >= 1"):
        NMTHPOVectorEnv(num_envs, "zhen")


def test_autoreset_mode_is_validated() -> None:
    from hpo_envs.families.nmthpo.page import NMTHPOVectorEnv

    with pytest.raises(ValueError, match=r"autoreset_mode must be one of .*'never'"):
        NMTHPOVectorEnv(2, "zhen", autoreset_mode="never")


def disabled(**kwargs: Any) -> gym.vector.VectorEnv[Any, Any, Any]:
    mode = AutoresetMode.DISABLED
    return gym.make_vec("NMTHPO-zhen-v0", num_envs=3, autoreset_mode=mode, **kwargs)


def test_reset_mask_restarts_only_those() -> None:
    envs = disabled()
    envs.reset(seed=0)
    envs.step(np.array([1, 2, 3]))
    observation, _ = envs.reset(options={"reset_mask": np.array([True, False, True])})
    assert observation[0, -1] == observation[2, -1] == 1.0
    assert observation[1, -1] < 1.0
    with pytest.raises(ValueError, match="reset_mask must have at least one True"):
        envs.reset(options={"reset_mask": np.zeros(3, bool)})
    with pytest.raises(ValueError, match="reset_mask must be a bool array"):
        envs.reset(options={"reset_mask": [1, 0, 0]})


def test_disabled_autoreset_refuses_ended_episodes() -> None:
    envs = disabled(budget=1)
    envs.reset(seed=0)
    envs.step(np.array([1, 2, 3]))
    with pytest.raises(gym.error.ResetNeeded, match="autoreset is disabled"):
        envs.step(np.array([1, 2, 3]))


def test_seed_lists() -> None:
    envs = gym.make_vec("NMTHPO-v0", num_envs=3)
    _, info = envs.reset(seed=[5, 5, 6])
    assert info["table"][0] == info["table"][1]
    with pytest.raises(ValueError, match="seed must be an int or have length num_envs=3, got 2"):
        envs.reset(seed=[1, 2])


@pytest.mark.parametrize(
    "actions",
    [
        np.array([0, 9999]),
        np.array([-1, 0]),
        np.array([0.0, 1.0]),
        np.array([0]),
        np.array([[0, 1]]),
        np.array([True, False]),
        "ab",
    ],
)
def test_bad_actions_name_rule_and_value(actions: Any) -> None:
    envs = gym.make_vec("NMTHPO-zhen-v0", num_envs=2)
    envs.reset(seed=0)
    with pytest.raises(ValueError, match="actions must be ints"):
        envs.step(actions)


def test_step_before_reset() -> None:
    envs = gym.make_vec("NMTHPO-zhen-v0", num_envs=2)
    with pytest.raises(gym.error.ResetNeeded, match="must follow reset"):
        envs.step(np.array([0, 1]))

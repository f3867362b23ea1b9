"""Other people's tools on our ids: stable-baselines3's checker and MO-Gymnasium's wrapper (extra `rl`)."""

from __future__ import annotations

import warnings

import gymnasium as gym
import numpy as np
import pytest

from hpo_envs.registry import SPECS

pytest.importorskip("stable_baselines3", reason="extra rl is not installed")
pytest.importorskip("mo_gymnasium", reason="extra rl is not installed")


@pytest.mark.parametrize("spec_id", list(SPECS))
def test_stable_baselines3_checker_has_no_complaint(spec_id: str) -> None:
    from mo_gymnasium.wrappers import LinearReward
    from stable_baselines3.common.env_checker import check_env

    env = gym.make(spec_id, table="surrogate")
    if hasattr(env.unwrapped, "reward_space"):
        env = LinearReward(env.unwrapped, weight=np.full(env.unwrapped.reward_dim, 0.5))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(env)

"""Stable-baselines3 and MO-Gymnasium (extra `rl`) work on our ids."""

import warnings
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode

from hpo_envs.families.registry import SPECS
from tests.helpers import IDS, ONE_OF_EACH, short, started

pytest.importorskip("stable_baselines3", reason="extra rl is not installed")
pytest.importorskip("mo_gymnasium", reason="extra rl is not installed")


@pytest.mark.parametrize("spec_id", ONE_OF_EACH)
def test_stable_baselines3_checker_has_no_complaint(spec_id: str) -> None:
    from mo_gymnasium.wrappers import LinearReward
    from stable_baselines3.common.env_checker import check_env

    env = gym.make(spec_id)
    if hasattr(env.unwrapped, "reward_space"):
        env = LinearReward(env.unwrapped, weight=np.full(env.unwrapped.reward_dim, 0.5))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(env)


def test_vector_environment_of_mo_gymnasium_agrees_with_ours() -> None:
    from mo_gymnasium.wrappers.vector import MOSyncVectorEnv

    theirs = MOSyncVectorEnv([lambda: gym.make("NMTHPO-zhen-mo-v0", budget=4).unwrapped for _ in range(2)])
    ours = gym.make_vec("NMTHPO-zhen-mo-v0", num_envs=2, budget=4)
    assert np.array_equal(theirs.reset(seed=0)[0], ours.reset(seed=0)[0])
    for actions in ([1, 2], [3, 3], [9, 0]):
        a, b = theirs.step(np.array(actions)), ours.step(np.array(actions))
        assert np.allclose(a[0], b[0])
        assert np.allclose(a[1], b[1])
        assert a[1].shape == (2, 2)


@pytest.mark.parametrize("mode", list(AutoresetMode))
@pytest.mark.parametrize("spec_id", {SPECS[i].family: i for i in IDS}.values())
def test_whole_infos_become_tensors(spec_id: str, mode: AutoresetMode) -> None:
    pytest.importorskip("array_api_compat", reason="extra rl is not installed")
    import torch
    from gymnasium.wrappers.vector import NumpyToTorch

    envs = NumpyToTorch(gym.make_vec(spec_id, num_envs=2, autoreset_mode=mode, **short(spec_id)))
    envs.action_space.seed(0)
    observation, info = envs.reset(seed=0)
    for _ in range(3):
        assert isinstance(observation, torch.Tensor)
        assert all(isinstance(v, (torch.Tensor, dict)) for v in info.values())
        observation, _, terminated, _, info = envs.step(torch.as_tensor(envs.action_space.sample()))
        assert info["status" if "status" in info else "table"].dtype == torch.int64
        if terminated.any() and mode is AutoresetMode.DISABLED:
            break


@pytest.mark.parametrize("spec_id", ["NMTHPO-zhen-v0", "NMTHPO-v0"])
def test_scalar_infos_become_tensors(spec_id: str) -> None:
    """Not the infos of boxes, because the wrapper does not support NumPy booleans."""
    pytest.importorskip("array_api_compat", reason="extra rl is not installed")
    import torch
    from gymnasium.wrappers import NumpyToTorch

    env = started(NumpyToTorch(gym.make(spec_id, budget=2)))
    action = torch.as_tensor(np.asarray(env.action_space.sample()))
    observation, reward, _, _, info = env.step(action)
    assert isinstance(observation, torch.Tensor)
    assert info["cost"].item() == 1.0
    assert np.isfinite(reward)


def test_batch_is_recorded(tmp_path: Any) -> None:
    pytest.importorskip("moviepy", reason="extra video is not installed")
    from gymnasium.wrappers.vector import RecordVideo

    envs = gym.make_vec("NMTHPO-zhen-v0", num_envs=4, budget=2, render_mode="rgb_array")
    envs = started(RecordVideo(envs, str(tmp_path), episode_trigger=lambda episode: episode == 0))
    for row in range(3):
        envs.step(np.full(4, row))
    envs.close()
    assert [p.suffix for p in tmp_path.iterdir()] == [".mp4"]

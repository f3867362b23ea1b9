"""Stable-baselines3 learns on our ids (extra `rl`)."""

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode

import hpo_envs.wrappers.vector as vector

pytest.importorskip("stable_baselines3", reason="extra rl is not installed")
pytest.importorskip("sb3_contrib", reason="extra rl is not installed")

from sb3_contrib import MaskablePPO
from sb3_contrib.common.maskable.utils import get_action_masks, is_masking_supported
from stable_baselines3 import PPO
from stable_baselines3.common.vec_env import VecVideoRecorder

from hpo_envs.integrations.sb3 import SB3VecEnv
from hpo_envs.wrappers import ContinuousAction, FlattenAction


def test_stable_baselines3_takes_adapter() -> None:
    envs = gym.make_vec("NMTHPO-v0", num_envs=8, autoreset_mode=AutoresetMode.SAME_STEP)
    model = PPO("MlpPolicy", SB3VecEnv(vector.ImprovementReward(envs)), n_steps=32, batch_size=64, seed=0)
    model.learn(512)
    masked = gym.make_vec("NMTHPO-zhen-v0", num_envs=4, autoreset_mode=AutoresetMode.SAME_STEP)
    adapter = SB3VecEnv(masked)
    MaskablePPO("MlpPolicy", adapter, n_steps=16, batch_size=32, seed=0).learn(128)
    adapter.seed(3)
    first = adapter.reset()
    assert first.shape == (4, *envs.single_observation_space.shape)
    total = np.zeros(4)
    for step in range(20):
        adapter.step_async(np.full(4, step))
        _, rewards, dones, infos = adapter.step_wait()
        total += rewards
    assert dones.all()
    assert (infos[0]["episode"]["l"], infos[0]["episode"]["r"]) == (20, pytest.approx(float(total[0]), rel=1e-5))
    assert infos[0]["terminal_observation"][-1] == 0.0
    wrong = gym.make_vec("NMTHPO-v0", num_envs=2)
    with pytest.raises(ValueError, match="autoreset_mode=AutoresetMode.SAME_STEP"):
        SB3VecEnv(wrong)


def test_masked_policy_never_evaluates_row_twice() -> None:
    envs = SB3VecEnv(gym.make_vec("NMTHPO-zhen-v0", num_envs=4, autoreset_mode=AutoresetMode.SAME_STEP, budget=30))
    model = MaskablePPO("MlpPolicy", envs, n_steps=30, batch_size=60, n_epochs=1, seed=0, device="cpu")
    model.learn(120)
    observations, rows = envs.reset(), []
    for _ in range(29):
        actions, _ = model.predict(observations, action_masks=get_action_masks(envs), deterministic=False)
        rows.append(actions)
        observations, _, _, _ = envs.step(actions)
    for own in np.array(rows).T:
        assert len(set(own.tolist())) == 29


def test_masked_policy_of_several_parts_avoids_what_mask_forbids() -> None:
    env = gym.make("NASBenchNLP-cell-v0")
    model = MaskablePPO("MlpPolicy", env, n_steps=8, batch_size=8, n_epochs=1, seed=0, device="cpu")
    observation, info = env.reset(seed=0)
    for _ in range(10):
        action, _ = model.predict(observation, action_masks=get_action_masks(env), deterministic=False)
        starts = np.cumsum(env.action_space.nvec) - env.action_space.nvec
        assert info["action_mask"][starts + action].all()
        observation, _, terminated, _, info = env.step(action)
        if terminated:
            observation, info = env.reset()


def test_what_is_asked_for_is_passed_on() -> None:
    same_step = {"autoreset_mode": AutoresetMode.SAME_STEP, "budget": 2}
    keys = ("cost", "status", "config", "action_mask", "nothing")
    envs = SB3VecEnv(gym.make_vec("NMTHPO-zhen-v0", num_envs=2, **same_step), keys)
    bare = gym.make("NMTHPO-zhen-v0", budget=2)
    envs.reset(), bare.reset()
    for row in (5, 9):
        expected = bare.step(row)[4]
        for info in envs.step(np.array([row, row]))[3]:
            assert {k: info[k] for k in ("cost", "status", "config")} == {
                k: expected[k] for k in ("cost", "status", "config")
            }
            assert info["action_mask"].tolist() == expected["action_mask"].tolist()
    assert info["episode"]["l"] == 2


def test_attributes_are_set_where_they_are() -> None:
    inner = gym.make_vec("NMTHPO-v0", num_envs=2, autoreset_mode=AutoresetMode.SAME_STEP)
    envs = SB3VecEnv(vector.HistoryObservation(inner, 2))
    envs.set_attr("budget", 3.0)
    assert (inner.budget, envs.get_attr("budget")) == (3.0, [3.0, 3.0])
    envs.set_attr("note", "mine", [0, 1])
    assert envs.get_attr("note", 0) == ["mine"]
    with pytest.raises(ValueError, match=r"indices must be all, .*, got \[1\]"):
        envs.set_attr("budget", 4.0, 1)


def test_masks_only_where_they_are_useful() -> None:
    useful = {"NMTHPO-zhen-v0": True, "NMTHPO-v0": False, "CharHPO-v0": False, "NMTLC-ft-zhen-v0": True}
    for spec_id, masked in useful.items():
        envs = gym.make_vec(spec_id, num_envs=2, autoreset_mode=AutoresetMode.SAME_STEP)
        assert is_masking_supported(gym.make(spec_id)) is masked
        assert is_masking_supported(SB3VecEnv(envs)) is masked
    assert is_masking_supported(FlattenAction(gym.make("NMTLC-ft-zhen-v0")))
    assert not is_masking_supported(ContinuousAction(gym.make("NMTHPO-zhen-v0")))
    batches = gym.make_vec("FIESTA-tdsa8-v0", num_envs=2, batch_size=3, autoreset_mode=AutoresetMode.SAME_STEP)
    assert not is_masking_supported(SB3VecEnv(batches))


def test_videos_of_batch(tmp_path: Any) -> None:
    pytest.importorskip("moviepy", reason="extra video is not installed")
    mode = {"autoreset_mode": AutoresetMode.SAME_STEP, "render_mode": "rgb_array"}
    envs = SB3VecEnv(gym.make_vec("NMTHPO-zhen-v0", num_envs=6, **mode))
    recorder = VecVideoRecorder(envs, str(tmp_path), lambda step: step == 0, video_length=2)
    recorder.reset()
    for row in range(3):
        recorder.step(np.full(6, row))
    recorder.close()
    assert ([p.suffix for p in tmp_path.iterdir()], envs.render().shape) == ([".mp4"], (2 * 480, 2 * 640, 3))

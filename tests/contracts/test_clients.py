"""Reinforcement-learning libraries, unmodified, on our ids: `.ci/nightly clients` has them all; skipped elsewhere.

What was seen with which version stands in `docs/guides/interoperation.md`.
"""

from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from hpo_envs.benchmarks import tasks
from hpo_envs.wrappers import ContinuousAction, FlattenAction, for_training

pytest.importorskip("torchrl", reason="run by .ci/nightly clients")


def made(env_id: str, **kwargs: Any) -> Any:
    return gym.make(env_id, **{"budget": 8, **kwargs})


# -- stable-baselines3 and sb3-contrib ---------------------------------------------------------------------------------

ROWS, GRID, BOX, CURVES = "NMTHPO-zhen-v0", "NMTHPO-v0", "CharHPO-v0", "NMTLC-ft-zhen-v0"


@pytest.mark.parametrize(
    ("package", "name", "env_id", "wrapper"),
    [
        ("stable_baselines3", "PPO", ROWS, None),
        ("stable_baselines3", "PPO", GRID, None),
        ("stable_baselines3", "PPO", BOX, None),
        ("stable_baselines3", "DQN", ROWS, None),
        ("stable_baselines3", "DQN", CURVES, FlattenAction),
        ("stable_baselines3", "DQN", "NASBenchNLP-wikitext2-v0", FlattenAction),
        ("stable_baselines3", "SAC", BOX, None),
        ("stable_baselines3", "TD3", ROWS, ContinuousAction),
        ("sb3_contrib", "QRDQN", GRID, FlattenAction),
        ("sb3_contrib", "MaskablePPO", ROWS, None),
        ("sb3_contrib", "MaskablePPO", CURVES, None),
        ("sb3_contrib", "RecurrentPPO", GRID, None),
        ("sb3_contrib", "TQC", BOX, None),
    ],
)
def test_stable_baselines3_trains(package: str, name: str, env_id: str, wrapper: Any) -> None:
    library = pytest.importorskip(package)
    env = made(env_id) if "NASBench" not in env_id else made(env_id, levels=3, budget=1e5)
    env = env if wrapper is None else wrapper(env)
    on_policy = name in ("PPO", "MaskablePPO", "RecurrentPPO")
    steps = {"n_steps": 16, "batch_size": 16, "n_epochs": 1} if on_policy else {"learning_starts": 8, "batch_size": 8}
    if name in ("DQN", "QRDQN"):
        steps["buffer_size"] = 100
    net = {} if name == "RecurrentPPO" else {"policy_kwargs": {"net_arch": [8]}}
    policy = "MlpLstmPolicy" if name == "RecurrentPPO" else "MlpPolicy"
    model = getattr(library, name)(policy, env, seed=0, device="cpu", **steps, **net)
    model.learn(32)
    action, _ = model.predict(env.reset(seed=0)[0])
    assert np.asarray(action).reshape(env.action_space.shape) in env.action_space


# -- TorchRL -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("env_id", [ROWS, BOX, CURVES, "FIESTA-tdsa8-v0"])
def test_torchrl_rolls_out_and_reads_infos(env_id: str) -> None:
    envs = pytest.importorskip("torchrl.envs")
    env = envs.GymWrapper(made(env_id))
    reader = envs.default_info_dict_reader(["cost", "status_code"])
    env.set_info_dict_reader(reader)
    out = env.rollout(5)
    assert out["next", "cost"].shape[0] == len(out)


def test_torchrl_masks_actions() -> None:
    envs = pytest.importorskip("torchrl.envs")
    data = pytest.importorskip("torchrl.data")
    import torch

    base = envs.GymWrapper(made(ROWS), categorical_action_encoding=True)
    spec = {"action_mask": data.Binary(118, shape=(118,), dtype=torch.int8)}
    base.set_info_dict_reader(envs.default_info_dict_reader(["action_mask"], spec=spec))
    cast = envs.transforms.DTypeCastTransform(torch.int8, torch.bool, in_keys=["action_mask"])
    env = envs.TransformedEnv(base, envs.Compose(cast, envs.ActionMask()))
    rows = env.rollout(8)["action"].flatten().tolist()
    assert len(set(rows)) == len(rows) == 8


def test_torchrl_rolls_out_sampled_tasks_through_their_ends() -> None:
    envs = pytest.importorskip("torchrl.envs")
    drawn = tasks.make_vec(4, ["CharHPO"], without=["ron", "kat"], objective="accuracy")
    env = envs.GymWrapper(for_training(drawn), categorical_action_encoding=True)
    out = env.rollout(45, break_when_any_done=False)
    assert out["next", "done"].nonzero()[:, 1].unique().tolist() == [19, 39]

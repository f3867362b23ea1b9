"""Reinforcement-learning libraries, unmodified, on our ids: `.ci/nightly clients` has them all; skipped elsewhere.

What was seen with which version stands in `docs/guides/interoperation.md`.
"""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode

from hpo_envs.wrappers import ContinuousAction, FlattenAction

pytest.importorskip("torchrl", reason="run by .ci/nightly clients")


def made(env_id: str, **kwargs: Any) -> Any:
    return gym.make(env_id, **{"budget": 8, **kwargs})


def batch(env_id: str, num_envs: int = 4, **kwargs: Any) -> Any:
    return gym.make_vec(env_id, num_envs=num_envs, **{"budget": 8, **kwargs})


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


def test_torchrl_takes_batches() -> None:
    mode = AutoresetMode.DISABLED  # NEXT_STEP is refused by TorchRL; SAME_STEP with an info reader is open
    envs = pytest.importorskip("torchrl.envs")
    data = pytest.importorskip("torchrl.data")
    env = envs.GymWrapper(batch(ROWS, autoreset_mode=mode))
    env.set_info_dict_reader(envs.default_info_dict_reader(["cost"], spec={"cost": data.Unbounded((4,))}))
    out = env.rollout(6)
    assert out.batch_size[0] == 4


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


# -- skrl --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", [made, batch])
def test_skrl_wraps_and_steps(form: Any) -> None:
    pytest.importorskip("skrl")
    from skrl.envs.wrappers.torch import wrap_env

    env = wrap_env(form(BOX), verbose=False)
    assert "gymnasium" in type(env).__name__.lower()
    env.reset()
    import torch

    out = env.step(torch.full((env.num_envs, *env.action_space.shape), 1.5))
    assert out[1].shape == (env.num_envs, 1)


# -- Tianshou ----------------------------------------------------------------------------------------------------------


def test_tianshou_collects() -> None:
    pytest.importorskip("tianshou")
    from tianshou.env import DummyVectorEnv

    envs = DummyVectorEnv([lambda: FlattenAction(made(CURVES))] * 2)
    envs.reset(seed=0)
    out = envs.step(np.array([0, 1]))
    assert out[1].shape == (2,)
    assert [info["status"] for info in out[4]]


# -- CleanRL, restated: no library but torch ---------------------------------------------------------------------------


@pytest.mark.parametrize("env_id", [ROWS, GRID, CURVES])
def test_a_deep_q_network_in_the_style_of_cleanrl(env_id: str) -> None:
    """Mnih et al. 2015, with the replay buffer, target network and schedule of CleanRL's dqn.py."""
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    rng = np.random.default_rng(0)
    env = made(env_id)
    env = env if isinstance(env.action_space, gym.spaces.Discrete) else FlattenAction(env)
    shape, actions = env.observation_space.shape[0], int(env.action_space.n)
    online, target = (torch.nn.Linear(shape, actions) for _ in range(2))
    target.load_state_dict(online.state_dict())
    optimiser = torch.optim.Adam(online.parameters(), lr=1e-3)
    memory: list[Any] = []
    observation, _ = env.reset(seed=0)
    for step in range(40):
        explore = rng.random() < 1.0 - step / 40
        values = online(torch.as_tensor(observation))
        action = int(rng.integers(actions)) if explore else int(values.argmax())
        following, reward, terminated, truncated, _ = env.step(action)
        memory.append((observation, action, float(reward), following, float(terminated)))
        observation = env.reset()[0] if terminated or truncated else following
        if step >= 10:
            some = [memory[i] for i in rng.integers(len(memory), size=8)]
            o, a, r, n, d = (torch.as_tensor(np.array(v), dtype=torch.float32) for v in zip(*some, strict=True))
            aim = r + 0.99 * (1 - d) * target(n).max(dim=1).values.detach()
            loss = ((online(o).gather(1, a.long()[:, None])[:, 0] - aim) ** 2).mean()
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
        if step % 20 == 0:
            target.load_state_dict(online.state_dict())
    assert torch.isfinite(loss)

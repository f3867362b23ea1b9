"""Stable-baselines3 learns on our ids (extra `rl`)."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode

import hpo_envs.wrappers.vector as vector
from hpo_envs.benchmarks.runs import run
from tests.helpers import ROOT

pytest.importorskip("stable_baselines3", reason="extra rl is not installed")
pytest.importorskip("mo_gymnasium", reason="extra rl is not installed")


def test_stable_baselines3_takes_the_adapter() -> None:
    pytest.importorskip("stable_baselines3", reason="extra rl is not installed")
    from sb3_contrib import MaskablePPO
    from stable_baselines3 import PPO

    from hpo_envs.integrations.sb3 import SB3VecEnv

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
    assert infos[0]["episode"]["l"] == 20
    assert infos[0]["episode"]["r"] == pytest.approx(float(total[0]), rel=1e-5)
    assert infos[0]["terminal_observation"][-1] == 0.0
    wrong = gym.make_vec("NMTHPO-v0", num_envs=2)
    with pytest.raises(ValueError, match="autoreset_mode=AutoresetMode.SAME_STEP"):
        SB3VecEnv(wrong)


def test_batches_of_several_tables_are_one() -> None:
    from hpo_envs.integrations.sb3 import JoinedVecEnv, SB3VecEnv

    def part(env_id: str, num_envs: int) -> SB3VecEnv:
        return SB3VecEnv(gym.make_vec(env_id, num_envs, autoreset_mode=AutoresetMode.SAME_STEP))

    ids = ("CharHPO-g2p-dut-lstm-v0", "CharHPO-g2p-hun-lstm-v0")
    joined, apart = JoinedVecEnv([part(i, n) for i, n in zip(ids, (2, 3), strict=True)]), part(ids[1], 3)
    assert joined.num_envs == 5
    assert joined.seed(7) == [7, 8, 9, 10, 11]
    apart.seed(9)
    np.testing.assert_array_equal(joined.reset()[2:], apart.reset())
    for _ in range(20):
        ours, theirs = joined.step(np.arange(5)), apart.step(np.arange(2, 5))
        np.testing.assert_array_equal(ours[0][2:], theirs[0])
        np.testing.assert_array_equal(ours[1][2:], theirs[1])
    assert ours[2].all()
    assert ours[3][3]["episode"] == theirs[3][1]["episode"]
    assert len(joined.env_method("action_masks", indices=[1, 4])) == 2
    assert joined.env_is_wrapped(gym.Wrapper) == [False] * 5
    joined.set_attr("note", 1)
    assert joined.get_attr("note", [0, 3]) == [1, 1]
    with pytest.raises(ValueError, match="indices must be all"):
        joined.set_attr("note", 2, [0])
    with pytest.raises(ValueError, match="parts must have one observation space"):
        JoinedVecEnv([apart, part("NMTHPO-zhen-v0", 1)])
    joined.close()


EXAMPLE = ROOT / "docs" / "examples" / "ppo_sb3.py"


def short(env_id: str, **kwargs: Any) -> gym.Env[Any, Any]:
    return gym.make(env_id, **kwargs)


@pytest.mark.parametrize("name", ["PPO", "DQN", "MaskablePPO", "RecurrentPPO"])
def test_algorithms_learn_on_scalar_ids(name: str) -> None:
    """They run on an id as it is, their weights move, and they can be asked for an action afterwards."""
    import sb3_contrib
    import stable_baselines3
    import torch

    torch.set_num_threads(1)
    env = short("NMTHPO-zhen-v0", budget=8)
    small = {"policy_kwargs": {"net_arch": [16]}, "seed": 0, "device": "cpu"}
    if name == "DQN":
        model = stable_baselines3.DQN("MlpPolicy", env, learning_starts=16, batch_size=16, **small)
    elif name == "RecurrentPPO":
        small["policy_kwargs"] = {"net_arch": [16], "lstm_hidden_size": 8}
        model = sb3_contrib.RecurrentPPO("MlpLstmPolicy", env, n_steps=32, batch_size=32, n_epochs=1, **small)
    else:
        package = sb3_contrib if name == "MaskablePPO" else stable_baselines3
        model = getattr(package, name)("MlpPolicy", env, n_steps=32, batch_size=32, n_epochs=1, **small)
    before = [p.detach().clone() for p in model.policy.parameters()]
    model.learn(64)
    assert model.num_timesteps >= 64
    assert any(not torch.equal(a, b) for a, b in zip(before, model.policy.parameters(), strict=True))
    observation, _ = env.reset(seed=0)
    action, _ = model.predict(observation)
    assert int(action) in env.action_space


def test_a_masked_policy_never_evaluates_a_row_twice() -> None:
    from sb3_contrib import MaskablePPO
    from sb3_contrib.common.maskable.utils import get_action_masks

    from hpo_envs.integrations.sb3 import SB3VecEnv

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


def test_a_loop_in_the_style_of_cleanrl() -> None:
    """One file, no library: a policy gradient on `make_vec` learns to prefer the better of 118 rows."""
    import torch

    torch.set_num_threads(1)
    torch.manual_seed(0)
    envs = gym.wrappers.vector.RecordEpisodeStatistics(gym.make_vec("NMTHPO-zhen-v0", num_envs=64, budget=5))
    policy = torch.nn.Linear(envs.single_observation_space.shape[0], int(envs.single_action_space.n))
    torch.nn.init.zeros_(policy.weight)
    optimiser = torch.optim.Adam(policy.parameters(), lr=0.05)
    observations, _ = envs.reset(seed=0)
    episodes, means = 0, []
    for _ in range(40):
        logs, rewards, valid = [], [], []
        done = np.zeros(64, bool)
        for _ in range(6):
            distribution = torch.distributions.Categorical(logits=policy(torch.as_tensor(observations)))
            actions = distribution.sample()
            observations, reward, terminated, truncated, info = envs.step(actions.numpy())
            logs.append(distribution.log_prob(actions))
            rewards.append(torch.as_tensor(reward, dtype=torch.float32))
            valid.append(torch.as_tensor(~done))  # NEXT_STEP: the step after an end only resets
            done = terminated | truncated
            episodes += int(info.get("_episode", np.zeros(1)).sum())
        mask, reward = torch.stack(valid), torch.stack(rewards)
        means.append(float(reward[mask].mean()))
        loss = -(torch.stack(logs) * (reward - means[-1]))[mask].mean()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    assert episodes == 40 * 64
    assert np.mean(means[-5:]) > np.mean(means[:5]) + 0.5


@pytest.mark.skipif(not EXAMPLE.exists(), reason="examples are not part of the installed wheel")
def test_the_example_trains_a_policy_for_languages_that_it_has_not_seen(tmp_path: Path) -> None:
    spec = importlib.util.spec_from_file_location("ppo_sb3", EXAMPLE)
    assert spec is not None
    assert spec.loader is not None
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    from hpo_envs.benchmarks.study.policies import arguments
    from hpo_envs.integrations.policy import TrainedPolicy

    file = example.main(["--steps", "400", "--envs", "1", "--out", str(tmp_path / "ppo")])
    for env_id, seen in (("CharHPO-g2p-geo-transformer-v0", None), ("CharHPO-g2p-dut-lstm-v0", ["dut"])):
        (one,) = run(TrainedPolicy, env_id, [0], budget=3, **arguments(file))
        assert one.header.get("seen") == seen
        assert len(one.rewards) == 3
    assert len(EXAMPLE.read_text(encoding="utf-8").splitlines()) <= 80


def test_a_multi_objective_agent_trades_as_it_is_told() -> None:
    """One policy for all preferences, conditioned on the weights of the objectives.

    MO-Gymnasium has wrappers and no agents; this is the smallest of the kind that is built on its vector rewards.
    """
    import torch

    torch.set_num_threads(1)
    torch.manual_seed(0)
    mode = AutoresetMode.SAME_STEP
    envs = gym.make_vec("NMTHPO-zhen-mo-v0", num_envs=64, budget=1, autoreset_mode=mode)
    assert envs.unwrapped.reward_space.shape == (2,)
    preferences = torch.eye(2).repeat(32, 1)  # half of the episodes want BLEU, half want speed
    policy = torch.nn.Linear(2, int(envs.single_action_space.n), bias=False)
    torch.nn.init.zeros_(policy.weight)
    optimiser = torch.optim.Adam(policy.parameters(), lr=0.1)
    envs.reset(seed=0)
    found = []
    for _ in range(60):
        distribution = torch.distributions.Categorical(logits=policy(preferences))
        actions = distribution.sample()
        _, rewards, *_ = envs.step(actions.numpy())
        found.append(rewards.reshape(32, 2, 2).mean(axis=0))  # (preference, objective)
        z = (rewards - rewards.mean(axis=0)) / rewards.std(axis=0)
        scalar = torch.as_tensor(z, dtype=torch.float32).mul(preferences).sum(dim=1)
        loss = -(distribution.log_prob(actions) * scalar).mean()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    before, after = np.mean(found[:5], axis=0), np.mean(found[-10:], axis=0)
    assert after[0, 0] > before[0, 0] + 0.3, "who wants BLEU gets more of it"
    assert after[1, 1] > before[1, 1] + 1.0, "who wants speed gets more of it"
    assert after[0, 0] > after[1, 0]
    assert after[1, 1] > after[0, 1]


def batch(env_id: str, wrap: Any, num_envs: int = 4, budget: int = 8) -> Any:
    """A wrapped batched environment as stable-baselines3 takes it."""
    from hpo_envs.integrations.sb3 import SB3VecEnv

    mode = AutoresetMode.SAME_STEP
    envs = gym.make_vec(env_id, num_envs=num_envs, autoreset_mode=mode, budget=budget)
    return SB3VecEnv(wrap(envs))


def test_an_attention_policy_on_the_history() -> None:
    import torch
    from stable_baselines3 import PPO
    from stable_baselines3.common.torch_layers import BaseFeaturesExtractor

    from hpo_envs.wrappers.vector import HistoryObservation

    torch.set_num_threads(1)

    class Attention(BaseFeaturesExtractor):
        def __init__(self, space: Any) -> None:
            super().__init__(space, 8)
            self.project = torch.nn.Linear(space.shape[1], 8)
            self.attend = torch.nn.MultiheadAttention(8, 2, batch_first=True)

        def forward(self, history: Any) -> Any:
            x = self.project(history)
            return self.attend(x[:, -1:], x, x)[0][:, 0]  # the newest evaluation looks at all of them

    envs = batch("NMTHPO-v0", lambda e: HistoryObservation(e, 5))
    assert envs.observation_space.shape[0] == 5
    policy = {"features_extractor_class": Attention, "net_arch": [8]}
    model = PPO("MlpPolicy", envs, n_steps=8, batch_size=16, n_epochs=1, policy_kwargs=policy, seed=0, device="cpu")
    before = [p.detach().clone() for p in model.policy.features_extractor.parameters()]
    model.learn(64)
    after = model.policy.features_extractor.parameters()
    assert all(not torch.equal(a, b) for a, b in zip(before, after, strict=True) if a.dim() > 1)


def test_a_recurrent_policy_on_a_wrapped_batch() -> None:
    from sb3_contrib import RecurrentPPO

    from hpo_envs.wrappers.vector import ImprovementReward

    envs = batch("NMTHPO-v0", lambda e: ImprovementReward(e, baseline=0.0))
    small = {"net_arch": [8], "lstm_hidden_size": 8}
    model = RecurrentPPO("MlpLstmPolicy", envs, n_steps=8, batch_size=16, n_epochs=1, policy_kwargs=small, device="cpu")
    model.learn(64)
    actions, state = model.predict(envs.reset())
    assert actions.shape == (4, 6)
    assert state is not None


def test_a_masked_policy_that_sees_every_candidate() -> None:
    from sb3_contrib import MaskablePPO
    from sb3_contrib.common.maskable.utils import get_action_masks

    from hpo_envs.wrappers.vector import CandidateObservation

    envs = batch("NMTHPO-zhen-v0", CandidateObservation)
    small = {"net_arch": [8]}
    model = MaskablePPO("MlpPolicy", envs, n_steps=8, batch_size=16, n_epochs=1, policy_kwargs=small, device="cpu")
    model.learn(64)
    observations = envs.reset()
    for step in range(7):
        masks = get_action_masks(envs)
        # The column that says what was evaluated is the mask's complement.
        assert (observations[:, :, -4].astype(bool) == ~masks.astype(bool)).all()
        assert (observations[:, :, -4].sum(axis=1) == step).all()
        observations, _, _, _ = envs.step(model.predict(observations, action_masks=masks, deterministic=False)[0])


def test_what_is_asked_for_is_passed_on() -> None:
    from hpo_envs.integrations.sb3 import SB3VecEnv

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
    from hpo_envs.integrations.sb3 import SB3VecEnv

    inner = gym.make_vec("NMTHPO-v0", num_envs=2, autoreset_mode=AutoresetMode.SAME_STEP)
    envs = SB3VecEnv(vector.HistoryObservation(inner, 2))
    envs.set_attr("budget", 3.0)
    assert inner.budget == 3.0
    assert envs.get_attr("budget") == [3.0, 3.0]
    envs.set_attr("note", "mine", [0, 1])
    assert envs.get_attr("note", 0) == ["mine"]
    with pytest.raises(ValueError, match=r"indices must be all, .*, got \[1\]"):
        envs.set_attr("budget", 4.0, 1)


def test_masks_only_where_they_are_useful() -> None:
    from sb3_contrib.common.maskable.utils import is_masking_supported

    from hpo_envs.integrations.sb3 import SB3VecEnv
    from hpo_envs.wrappers import ContinuousAction, FlattenAction

    useful = {"NMTHPO-zhen-v0": True, "NMTHPO-v0": False, "CharHPO-v0": False, "NMTLC-ft-zhen-v0": True}
    for spec_id, masked in useful.items():
        envs = gym.make_vec(spec_id, num_envs=2, autoreset_mode=AutoresetMode.SAME_STEP)
        assert is_masking_supported(gym.make(spec_id)) is masked
        assert is_masking_supported(SB3VecEnv(envs)) is masked
    assert is_masking_supported(FlattenAction(gym.make("NMTLC-ft-zhen-v0")))
    assert not is_masking_supported(ContinuousAction(gym.make("NMTHPO-zhen-v0")))
    batches = gym.make_vec("FIESTA-tdsa8-v0", num_envs=2, batch_size=3, autoreset_mode=AutoresetMode.SAME_STEP)
    assert not is_masking_supported(SB3VecEnv(batches))


def test_videos_of_a_batch(tmp_path: Any) -> None:
    pytest.importorskip("moviepy", reason="extra video is not installed")
    from stable_baselines3.common.vec_env import VecVideoRecorder

    from hpo_envs.integrations.sb3 import SB3VecEnv

    mode = {"autoreset_mode": AutoresetMode.SAME_STEP, "render_mode": "rgb_array"}
    envs = SB3VecEnv(gym.make_vec("NMTHPO-zhen-v0", num_envs=6, **mode))
    recorder = VecVideoRecorder(envs, str(tmp_path), lambda step: step == 0, video_length=2)
    recorder.reset()
    for row in range(3):
        recorder.step(np.full(6, row))
    recorder.close()
    assert [p.suffix for p in tmp_path.iterdir()] == [".mp4"]
    assert envs.render().shape == (2 * 480, 2 * 640, 3)

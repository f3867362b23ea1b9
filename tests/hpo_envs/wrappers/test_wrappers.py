"""Wrappers: scalar and batched forms agree, rewards are what they say, and nothing leaks what training knows."""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Callable
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode

import hpo_envs.wrappers as scalar
import hpo_envs.wrappers.vector as vector
from hpo_envs.tables import store
from hpo_envs.testing.rules import same

Wrap = Callable[[Any], Any]
BOTH: dict[str, tuple[Wrap, Wrap]] = {
    "improvement": (scalar.ImprovementReward, vector.ImprovementReward),
    "improvement-baseline": (
        lambda e: scalar.ImprovementReward(e, baseline=5.0),
        lambda e: vector.ImprovementReward(e, baseline=5.0),
    ),
    "normalised": (scalar.NormalisedReward, vector.NormalisedReward),
    "regret": (scalar.RegretReward, vector.RegretReward),
    "cost-aware": (lambda e: scalar.CostAwareReward(e, 0.25), lambda e: vector.CostAwareReward(e, 0.25)),
    "history": (lambda e: scalar.HistoryObservation(e, 3), lambda e: vector.HistoryObservation(e, 3)),
    "candidates": (scalar.CandidateObservation, vector.CandidateObservation),
    "continuous": (scalar.ContinuousAction, vector.ContinuousAction),
    "hyperparameters": (scalar.HyperparameterAction, vector.HyperparameterAction),
    "stack": (
        lambda e: scalar.ImprovementReward(scalar.HistoryObservation(scalar.HyperparameterAction(e), 2)),
        lambda e: vector.ImprovementReward(vector.HistoryObservation(vector.HyperparameterAction(e), 2)),
    ),
}
ROWS_ONLY = {"candidates", "continuous", "hyperparameters", "stack"}
STAGES = ["NMTHPO-zhen-v0", "NMTHPO-v0"]
CASES = [(name, spec) for name in BOTH for spec in STAGES if spec != "NMTHPO-v0" or name not in ROWS_ONLY]


@pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP])
@pytest.mark.parametrize(("name", "spec_id"), CASES)
def test_batched_equals_scalar(name: str, spec_id: str, mode: AutoresetMode) -> None:
    one, many = BOTH[name]
    kwargs = {"table": "surrogate", "budget": 4}
    envs = many(gym.make_vec(spec_id, num_envs=3, autoreset_mode=mode, **kwargs))
    singles = [one(gym.make(spec_id, **kwargs)) for _ in range(3)]
    envs.action_space.seed(0)
    observation, _ = envs.reset(seed=5)
    for i, env in enumerate(singles):
        assert same(env.reset(seed=5 + i)[0], observation[i])
        assert env.observation_space == envs.single_observation_space
        assert env.action_space == envs.single_action_space
    ended = [False] * 3
    for _ in range(18):
        actions = envs.action_space.sample()
        observation, reward, terminated, _, info = envs.step(actions)
        assert observation in envs.observation_space
        for i, env in enumerate(singles):
            if ended[i]:
                one_obs, one_reward, one_end = env.reset()[0], 0.0, False
            else:
                one_obs, one_reward, one_end, _, _ = env.step(actions[i])
            assert one_reward == reward[i]
            assert one_end == terminated[i]
            if one_end and mode is AutoresetMode.SAME_STEP:
                assert same(one_obs, info["final_obs"][i])
                one_obs = env.reset()[0]
            assert same(one_obs, observation[i])
            ended[i] = one_end and mode is AutoresetMode.NEXT_STEP


@pytest.mark.parametrize(("name", "spec_id"), CASES)
def test_gymnasium_checker_accepts_the_wrapped_environment(name: str, spec_id: str) -> None:
    env = BOTH[name][0](gym.make(spec_id, table="surrogate", budget=5))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", message=".*is different from the unwrapped version.*")
        check_env(env, skip_render_check=True)


def rollout(env: Any, rows: list[int]) -> tuple[list[float], list[float]]:
    env.reset(seed=0)
    out = [env.step(row) for row in rows]
    return [o[1] for o in out], [o[4]["metrics"]["bleu"] for o in out]


def test_rewards_are_what_they_say() -> None:
    make = lambda: gym.make("NMTHPO-zhen-v0", table="surrogate", budget=10)  # noqa: E731
    rows = [3, 50, 7, 99, 20, 20]
    bleu = rollout(make(), rows)[1]
    best = np.maximum.accumulate(bleu)
    gains, _ = rollout(scalar.ImprovementReward(make()), rows)
    assert np.allclose(gains, np.r_[0.0, np.diff(best)])
    gains, _ = rollout(scalar.ImprovementReward(make(), baseline=0.0), rows)
    assert sum(gains) == pytest.approx(best[-1])
    final = store.load("nmthpo/zhen", "surrogate").final("bleu")
    regret, _ = rollout(scalar.RegretReward(make()), rows)
    assert np.allclose(regret, best - final.max())
    normalised, _ = rollout(scalar.NormalisedReward(make()), rows)
    assert np.allclose(normalised, (np.array(bleu) - final.min()) / (final.max() - final.min()))
    priced, _ = rollout(scalar.CostAwareReward(make(), price=0.5), rows)
    assert np.allclose(priced, np.array(bleu) - 0.5)


def test_scales_are_those_of_the_drawn_table() -> None:
    env = scalar.NormalisedReward(gym.make("NMTHPO-v0", table="surrogate", budget=400))
    for name in ("zhen", "jaen"):
        env.reset(seed=0, options={"table": name})
        final = env.unwrapped.table.final("bleu")
        best = np.unravel_index(final.argmax(), (3, 2, 3, 2, 2, 3))
        assert env.step(np.array(best))[1] == 1.0


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


def test_wrappers_refuse_what_they_cannot_wrap() -> None:
    mo = gym.make("NMTHPO-zhen-mo-v0", table="surrogate")
    with pytest.raises(ValueError, match="one objective"):
        scalar.NormalisedReward(mo)
    with pytest.raises(ValueError, match="one objective"):
        scalar.CandidateObservation(mo)
    grid = gym.make("NMTHPO-v0", table="surrogate")
    with pytest.raises(ValueError, match="a row per action"):
        scalar.ContinuousAction(grid)
    with pytest.raises(ValueError, match="length must be an int >= 1, got 0"):
        scalar.HistoryObservation(grid, 0)
    with pytest.raises(ValueError, match="price must be a finite number >= 0, got -1"):
        scalar.CostAwareReward(grid, -1)


def seen_by_a_policy(env: Any, rows: list[int]) -> list[Any]:
    """All that a policy can look at: observations, infos and masks; the table's name and hash are its identity."""
    seen: list[Any] = []
    observation, info = env.reset(seed=0)
    out = [(observation, info), *((o, i) for o, _, _, _, i in (env.step(row) for row in rows))]
    for observation, info in out:
        seen.append(observation)
        seen.append({k: v for k, v in info.items() if k not in ("table", "kind", "sha256")})
    seen.append(env.unwrapped.action_masks())
    return seen


def test_a_policy_cannot_see_what_the_regret_reward_knows() -> None:
    """The optimum, moved among the rows that were never evaluated, changes the training reward and nothing else."""
    rows = [3, 50, 7, 99]
    table = store.load("nmthpo/zhen", "surrogate")
    values = table.values.copy()
    hidden = next(i for i in range(len(table)) if i not in rows)
    values[hidden, 0, 0, 0] = 77.0
    changed = dataclasses.replace(table, values=values, provenance=dataclasses.replace(table.provenance, sha256=""))
    views, regrets = [], []
    for t in (table, changed):
        for wrap in (scalar.RegretReward, scalar.NormalisedReward, lambda e: e):
            env = wrap(gym.make("NMTHPO-zhen-v0", table=t))
            views.append(seen_by_a_policy(env, rows))
        regrets.append(rollout(scalar.RegretReward(gym.make("NMTHPO-zhen-v0", table=t)), rows)[0])
    assert regrets[0] != regrets[1]
    for view in views[1:]:
        assert all(same(a, b) for a, b in zip(views[0], view, strict=True))


def test_a_batched_policy_cannot_see_it_either() -> None:
    table = store.load("nmthpo/zhen", "surrogate")
    values = table.values.copy()
    values[8, 0, 0, 0] = 77.0
    changed = dataclasses.replace(table, values=values, provenance=dataclasses.replace(table.provenance, sha256=""))
    views, regrets = [], []
    for t in (table, changed):
        mode = AutoresetMode.SAME_STEP
        envs = vector.RegretReward(gym.make_vec("NMTHPO-zhen-v0", num_envs=3, table=t, budget=4, autoreset_mode=mode))
        seen, rewards = [envs.reset(seed=0)], []
        for row in (3, 50, 7, 99, 11):  # the fourth ends the episodes
            observation, reward, _, _, info = envs.step(np.full(3, row))
            seen.append((observation, info))
            rewards.append(reward)
        masks = envs.unwrapped.action_masks()
        hidden = ("table", "kind", "sha256")
        view: dict[Any, Any] = {"masks": masks}
        for step, (observation, info) in enumerate(seen):
            if "final_obs" in info:  # an array of arrays
                info["final_obs"] = np.stack(info["final_obs"])
            view[step] = {"seen": observation, **{k: v for k, v in info.items() if k.strip("_") not in hidden}}
        views.append(view)
        regrets.append(rewards)
    assert not np.array_equal(regrets[0], regrets[1])
    assert same(views[0], views[1])


def test_stable_baselines3_takes_the_adapter() -> None:
    pytest.importorskip("stable_baselines3", reason="extra rl is not installed")
    from sb3_contrib import MaskablePPO
    from stable_baselines3 import PPO

    from hpo_envs.integrations.sb3 import SB3VecEnv

    envs = gym.make_vec("NMTHPO-v0", num_envs=8, table="surrogate", autoreset_mode=AutoresetMode.SAME_STEP)
    model = PPO("MlpPolicy", SB3VecEnv(vector.ImprovementReward(envs)), n_steps=32, batch_size=64, seed=0)
    model.learn(512)
    masked = gym.make_vec("NMTHPO-zhen-v0", num_envs=4, table="surrogate", autoreset_mode=AutoresetMode.SAME_STEP)
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
    wrong = gym.make_vec("NMTHPO-v0", num_envs=2, table="surrogate")
    with pytest.raises(ValueError, match="autoreset_mode=AutoresetMode.SAME_STEP"):
        SB3VecEnv(wrong)

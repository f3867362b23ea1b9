"""Batched wrappers agree with the scalar ones."""

import dataclasses
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode

import hpo_envs.wrappers.vector as vector
from hpo_envs.tables import store
from hpo_envs.testing.rules import same
from tests.hpo_envs.wrappers.helpers import BOTH

ROWS_ONLY = {"continuous", "hyperparameters", "stack"}
STAGES = ["NMTHPO-zhen-v0", "NMTHPO-v0"]
CASES = [(name, spec) for name in BOTH for spec in STAGES if spec != "NMTHPO-v0" or name not in ROWS_ONLY]


@pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP])
@pytest.mark.parametrize(("name", "spec_id"), CASES)
def test_batched_equals_scalar(name: str, spec_id: str, mode: AutoresetMode) -> None:
    one, many = BOTH[name]
    kwargs = {"budget": 4}
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


def test_batched_policy_cannot_see_it_either() -> None:
    table = store.load("nmthpo/zhen")
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
        hidden = ("table", "kind", "sha256", "sha256_code")
        view: dict[Any, Any] = {"masks": masks}
        for step, (observation, info) in enumerate(seen):
            if "final_obs" in info:  # an array of arrays
                info["final_obs"] = np.stack(info["final_obs"])
            view[step] = {"seen": observation, **{k: v for k, v in info.items() if k.strip("_") not in hidden}}
        views.append(view)
        regrets.append(rewards)
    assert not np.array_equal(regrets[0], regrets[1])
    assert same(views[0], views[1])

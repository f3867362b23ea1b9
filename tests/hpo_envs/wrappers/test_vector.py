"""Batched wrappers agree with the scalar ones."""

import gymnasium as gym
import pytest
from gymnasium.vector import AutoresetMode

from hpo_envs.testing.rules import same
from tests.hpo_envs.wrappers.helpers import BOTH, CASES


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

"""Both forms of the bandit compared with a model of it."""

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode

from hpo_envs.families.fiesta.page import FIESTAEnv, FIESTAVectorEnv
from tests.hpo_envs.core.engines.bandit.model import DRAWN, SETTINGS, act, agrees, arguments


@pytest.mark.parametrize("setting", SETTINGS)
def test_the_scalar_form_equals_a_simple_model(setting: str) -> None:
    env, model, rng = FIESTAEnv(**arguments(setting)), SETTINGS[setting][2], np.random.default_rng(0)
    n = len(model.table)
    for seed, episode in ((3, 1), (None, 2), (8, 1)):
        model.begin(seed or 3, episode)
        observation, info = env.reset(seed=seed)
        assert (observation.dtype, observation) == (np.float32, pytest.approx(model.observe(), abs=1e-6))
        assert (info["table"], info["kind"]) == (model.table.name, "surrogate")
        assert info["sha256"] == model.table.provenance.sha256
        assert ("action_mask" in info) == (model.batch is None)
        over = False
        while not over:
            before = observation.copy()
            action = act(rng, model)
            expected = model.step(action)
            observation, reward, over, truncated, info = env.step(action)
            assert reward == pytest.approx(expected["reward"], rel=1e-14)
            assert type(reward) is float
            assert (over, truncated) == (expected["over"], False)
            agrees(info, expected["info"])
            if expected["info"].get("finished", True):
                assert observation == pytest.approx(model.observe(), abs=1e-6)
            else:
                assert observation.tolist() == before.tolist()
            assert env.observation_space.contains(observation)
            if model.batch is None:
                assert (info["action_mask"].tolist(), info["action_mask"].dtype) == ([1] * n, np.int8)
                assert env.action_masks().tobytes() == b"\1" * n
            keys = {"action_mask"} if model.batch is None else set()
            assert set(info) == set(expected["info"]) | keys
            held = observation
            observation = observation.copy()
            held[:] = 9  # the caller's
        with pytest.raises(gym.error.ResetNeeded):
            env.step(action)


def test_next_reward_does_not_change_last_metrics() -> None:
    envs = FIESTAVectorEnv(2, "tdsa8", table=DRAWN, budget=50)
    envs.reset(seed=0)
    seen = []
    for _ in range(10):
        _, reward, _, _, info = envs.step([0, 1])
        seen.append((info["metrics"]["score"], reward, reward.tolist()))
        reward[:] = 9.0
    for metric, _, reward in seen:
        assert metric.tolist() == reward


def test_episode_that_starts_alone_counts_its_own_pulls() -> None:
    """Pulls of other episodes do not count."""
    envs = FIESTAVectorEnv(3, task="ner", budget=40, autoreset_mode=AutoresetMode.DISABLED)
    one, other = (FIESTAEnv(task="ner", budget=40) for _ in range(2))
    envs.reset(seed=[4, 5, 6])
    one.reset(seed=4)
    other.reset(seed=5)
    rng = np.random.default_rng(0)
    for step in range(30):
        if step in (7, 19):
            envs.reset(options={"reset_mask": np.array([False, True, False])})
            other.reset()
        actions = rng.integers(2, size=3)
        observation, reward, *_ = envs.step(actions)
        for i, env in enumerate((one, other)):
            expected, score, *_ = env.step(int(actions[i]))
            assert (reward[i], observation[i].tolist()) == (score, expected.tolist())

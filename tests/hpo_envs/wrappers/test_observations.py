"""What observation wrappers remember."""

import gymnasium as gym
import numpy as np

import hpo_envs.wrappers as scalar


def test_history_is_last_observations_newest_last() -> None:
    bare = gym.make("NMTHPO-zhen-v0", budget=9)
    env = scalar.HistoryObservation(gym.make("NMTHPO-zhen-v0", budget=9), 3)
    past = [bare.reset(seed=0)[0]]
    seen = env.reset(seed=0)[0]
    assert seen.shape == (3, *past[0].shape)
    assert not seen[:2].any()
    for row in (4, 8, 15, 16):
        past.append(bare.step(row)[0])
        seen = env.step(row)[0]
    assert np.array_equal(seen, past[-3:])
    assert not env.reset(seed=0)[0][:2].any()

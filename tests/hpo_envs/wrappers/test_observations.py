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


def test_candidates_show_what_was_evaluated() -> None:
    env = scalar.CandidateObservation(gym.make("NMTHPO-zhen-v0", budget=4))
    features = env.unwrapped.table.features
    seen, _ = env.reset(seed=0)
    assert np.array_equal(seen[:, :-4], features.astype(np.float32))
    assert not seen[:, -4:-2].any()
    rewards = {}
    for row in (7, 3):
        seen, rewards[row], *_ = env.step(row)
    assert np.flatnonzero(seen[:, -4]).tolist() == [3, 7]
    assert seen[[7, 3], -3].tolist() == np.float32([*rewards.values()]).tolist()
    assert (seen[:, -2] == np.float32(max(rewards.values()))).all()
    assert (seen[:, -1] == 0.5).all()

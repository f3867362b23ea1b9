"""Actions as vectors of hyperparameters meet every row."""

from typing import Any

import gymnasium as gym
import numpy as np
import pytest

import hpo_envs.wrappers as scalar
import hpo_envs.wrappers.vector as vector


def test_hyperparameter_actions_meet_every_row_exactly() -> None:
    env = scalar.HyperparameterAction(gym.make("NMTHPO-zhen-v0", budget=None))
    table = env.unwrapped.table
    env.reset(seed=0)
    for config in table.configs[::7]:
        action = [np.unique(c).tolist().index(v) for c, v in zip(table.configs.T, config, strict=True)]
        _, _, _, _, info = env.step(np.array(action))
        assert tuple(info["config"].values()) == tuple(config)


def test_continuous_actions_meet_every_row_exactly() -> None:
    env = scalar.ContinuousAction(gym.make("NMTHPO-zhen-v0", budget=None))
    table = env.unwrapped.table
    env.reset(seed=0)
    for row in range(0, len(table), 5):
        _, _, _, _, info = env.step((2 * table.features[row] - 1).astype(np.float32))
        assert tuple(info["config"].values()) == tuple(table.configs[row])


@pytest.mark.parametrize("action", [np.zeros(5), "x", np.full(6, np.nan)])
def test_bad_actions(action: Any) -> None:
    env = scalar.ContinuousAction(gym.make("NMTHPO-zhen-v0"))
    envs = vector.ContinuousAction(gym.make_vec("NMTHPO-zhen-v0", num_envs=1))
    env.reset(seed=0), envs.reset(seed=0)
    with pytest.raises(ValueError, match=r"actions must be numbers of shape \(1, 6\)"):
        env.step(action)
    with pytest.raises(ValueError, match=r"actions must be numbers of shape \(1, 6\)"):
        envs.step(np.asarray(action)[None])


def test_actions_beyond_bound_are_set_to_it() -> None:
    env = scalar.ContinuousAction(gym.make("NMTHPO-zhen-v0"))
    envs = vector.ContinuousAction(gym.make_vec("NMTHPO-zhen-v0", num_envs=1))
    env.reset(seed=0), envs.reset(seed=0)
    inside, outside = env.step(np.full(6, 1.0)), env.step(np.full(6, 2.0))
    assert inside[4]["config"] == outside[4]["config"]
    assert (inside[4]["clipped"], outside[4]["clipped"]) == (False, True)
    assert [envs.step(np.full((1, 6), x))[4]["clipped"].tolist() for x in (1.0, -3.0)] == [[False], [True]]


@pytest.mark.parametrize("spec_id", ["NMTLC-ft-zhen-v0", "NASBenchNLP-cell-v0", "NMTHPO-v0"])
def test_flat_actions_are_those_of_several_parts(spec_id: str) -> None:
    env, flat = gym.make(spec_id), scalar.FlattenAction(gym.make(spec_id))
    many = vector.FlattenAction(gym.make_vec(spec_id, num_envs=2))
    sizes = env.action_space.nvec
    assert flat.action_space.n == many.single_action_space.n == np.prod(sizes)
    flat.action_space.seed(0)
    env.reset(seed=0), many.reset(seed=0)
    _, info = flat.reset(seed=0)
    for _ in range(4):
        action = int(flat.action_space.sample(info.get("action_mask")))
        parts = np.unravel_index(action, sizes)
        theirs, ours, batch = env.step(np.array(parts)), flat.step(action), many.step(np.full(2, action))
        info = ours[4]
        assert theirs[0].tolist() == ours[0].tolist() == batch[0][0].tolist()
        assert theirs[1] == ours[1] == batch[1][0]
        if "action_mask" not in info:
            assert not hasattr(many, "action_masks")
            with pytest.raises(AttributeError, match="action_masks"):
                flat.get_wrapper_attr("action_masks")
            continue
        mask, starts = theirs[4]["action_mask"], np.cumsum(sizes) - sizes
        useful = [
            all(mask[s + i] for s, i in zip(starts, np.unravel_index(k, sizes), strict=True)) for k in (0, action)
        ]
        assert info["action_mask"][[0, action]].tolist() == batch[4]["action_mask"][0, [0, action]].tolist() == useful
        assert np.array_equal(flat.get_wrapper_attr("action_masks")(), info["action_mask"])


def test_masks_of_rows_are_none_of_points() -> None:
    env = scalar.ContinuousAction(gym.make("NMTHPO-zhen-v0"))
    envs = vector.HyperparameterAction(gym.make_vec("NMTHPO-zhen-v0", num_envs=2))
    assert "action_mask" not in env.reset(seed=0)[1]
    assert "action_mask" not in envs.reset(seed=0)[1]
    assert not hasattr(envs, "action_masks")
    with pytest.raises(AttributeError, match="no useful mask"):
        env.get_wrapper_attr("action_masks")
    with pytest.raises(ValueError, match="env must have actions of several parts"):
        scalar.FlattenAction(gym.make("NMTHPO-zhen-v0"))

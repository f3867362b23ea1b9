"""The batched form equals the scalar one, trajectory for trajectory, on every id."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode

from tests.helpers import same, short, tolerance

NUM_ENVS = 3
STEPS = 24
SEED = 11


def pick(info: dict[str, Any], i: int) -> dict[str, Any]:
    """The info of environment i in a batched info, without what it did not report."""
    out = {}
    for key, value in info.items():
        if key.startswith("_") or ("_" + key in info and not info["_" + key][i]):
            continue
        out[key] = element(value, i)
    return out


def element(value: Any, i: int) -> Any:
    """Entry i of a nested batched value."""
    if isinstance(value, dict):
        return {k: element(v, i) for k, v in value.items() if not k.startswith("_")}
    return value[i]


def agree(scalar: dict[str, Any], batched: dict[str, Any], rtol: float) -> None:
    """The batched info says what the scalar one says; masks of actions are a method there."""
    expected = {k: v for k, v in scalar.items() if k != "action_mask"}
    assert expected.keys() == batched.keys()
    for key in expected:
        assert same(expected[key], batched[key], rtol), (key, expected[key], batched[key])


def test_batched_equals_scalar_next_step(id_kind: tuple[str, str]) -> None:
    spec_id, kind = id_kind
    kwargs, rtol = short(spec_id), tolerance(spec_id)
    envs = gym.make_vec(spec_id, num_envs=NUM_ENVS, table=kind, **kwargs)
    singles = [gym.make(spec_id, table=kind, **kwargs) for _ in range(NUM_ENVS)]
    envs.action_space.seed(0)
    observation, info = envs.reset(seed=SEED)
    for i, env in enumerate(singles):
        one, one_info = env.reset(seed=SEED + i)
        assert same(one, observation[i], rtol)
        agree(one_info, pick(info, i), rtol)
    ended, ends = [False] * NUM_ENVS, 0
    for _ in range(STEPS):
        actions = envs.action_space.sample()
        observation, reward, terminated, truncated, info = envs.step(actions)
        assert observation in envs.observation_space
        assert not truncated.any()
        for i, env in enumerate(singles):
            if ended[i]:
                one, one_info = env.reset()
                one_reward, one_end = np.zeros_like(reward[i]), False
            else:
                one, one_reward, one_end, _, one_info = env.step(actions[i])
            assert same(one, observation[i], rtol)
            assert same(one_reward, reward[i], rtol)
            assert one_end == terminated[i]
            agree(one_info, pick(info, i), rtol)
            ended[i] = one_end
            ends += one_end
            if "action_mask" in one_info and not one_end:
                assert same(env.unwrapped.action_masks(), envs.unwrapped.action_masks()[i])
    assert ends >= NUM_ENVS, "the test must meet the end of an episode"


def test_batched_equals_scalar_same_step(id_kind: tuple[str, str]) -> None:
    spec_id, kind = id_kind
    kwargs, rtol = short(spec_id), tolerance(spec_id)
    mode = AutoresetMode.SAME_STEP
    envs = gym.make_vec(spec_id, num_envs=NUM_ENVS, table=kind, autoreset_mode=mode, **kwargs)
    assert envs.metadata["autoreset_mode"] is mode
    singles = [gym.make(spec_id, table=kind, **kwargs) for _ in range(NUM_ENVS)]
    envs.action_space.seed(1)
    envs.reset(seed=SEED)
    for i, env in enumerate(singles):
        env.reset(seed=SEED + i)
    ends = 0
    for _ in range(STEPS):
        actions = envs.action_space.sample()
        observation, reward, terminated, _, info = envs.step(actions)
        for i, env in enumerate(singles):
            one, one_reward, one_end, _, one_info = env.step(actions[i])
            assert same(one_reward, reward[i], rtol)
            assert one_end == terminated[i]
            batched = pick(info, i)
            final_obs, final_info = batched.pop("final_obs", None), batched.pop("final_info", None)
            if one_end:
                ends += 1
                assert same(one, final_obs, rtol)
                agree(one_info, final_info, rtol)
                one, one_info = env.reset()
            assert same(one, observation[i], rtol)
            agree(one_info, batched, rtol)
    assert ends >= NUM_ENVS


def test_copy_false_reuses_the_observation_array(id_kind: tuple[str, str]) -> None:
    spec_id, kind = id_kind
    fresh = gym.make_vec(spec_id, num_envs=2, table=kind, **short(spec_id))
    reused = gym.make_vec(spec_id, num_envs=2, table=kind, copy=False, **short(spec_id))
    fresh.action_space.seed(2)
    first, _ = fresh.reset(seed=0)
    again, _ = reused.reset(seed=0)
    kept = first.copy()
    for _ in range(3):
        actions = fresh.action_space.sample()
        ours, theirs = fresh.step(actions)[0], reused.step(actions)[0]
        assert np.array_equal(ours, theirs)
        assert theirs is again
        assert ours is not first
    assert np.array_equal(first, kept)


def test_actions_are_not_written_to(id_kind: tuple[str, str]) -> None:
    spec_id, kind = id_kind
    envs = gym.make_vec(spec_id, num_envs=2, table=kind, **short(spec_id))
    envs.action_space.seed(3)
    envs.reset(seed=0)
    for _ in range(12):
        actions = envs.action_space.sample()
        before = np.array(actions, copy=True)
        envs.step(actions)
        assert np.array_equal(actions, before)


@pytest.mark.parametrize("num_envs", [0, -1, 2.5, True])
def test_num_envs_is_validated(num_envs: Any) -> None:
    from hpo_envs.families.nmthpo.page import NMTHPOVectorEnv

    with pytest.raises(ValueError, match="num_envs must be an int >= 1"):
        NMTHPOVectorEnv(num_envs, "zhen", table="surrogate")


def test_autoreset_mode_is_validated() -> None:
    from hpo_envs.families.nmthpo.page import NMTHPOVectorEnv

    with pytest.raises(ValueError, match=r"autoreset_mode must be one of .*'never'"):
        NMTHPOVectorEnv(2, "zhen", table="surrogate", autoreset_mode="never")


def disabled(**kwargs: Any) -> gym.vector.VectorEnv[Any, Any, Any]:
    mode = AutoresetMode.DISABLED
    return gym.make_vec("NMTHPO-zhen-v0", num_envs=3, table="surrogate", autoreset_mode=mode, **kwargs)


def test_reset_mask_restarts_only_those() -> None:
    envs = disabled()
    envs.reset(seed=0)
    envs.step(np.array([1, 2, 3]))
    observation, _ = envs.reset(options={"reset_mask": np.array([True, False, True])})
    assert observation[0, -1] == observation[2, -1] == 1.0
    assert observation[1, -1] < 1.0
    with pytest.raises(ValueError, match="reset_mask must have at least one True"):
        envs.reset(options={"reset_mask": np.zeros(3, bool)})
    with pytest.raises(ValueError, match="reset_mask must be a bool array"):
        envs.reset(options={"reset_mask": [1, 0, 0]})


def test_disabled_autoreset_refuses_ended_episodes() -> None:
    envs = disabled(budget=1)
    envs.reset(seed=0)
    envs.step(np.array([1, 2, 3]))
    with pytest.raises(gym.error.ResetNeeded, match="autoreset is disabled"):
        envs.step(np.array([1, 2, 3]))


def test_seed_lists() -> None:
    envs = gym.make_vec("NMTHPO-v0", num_envs=3, table="surrogate")
    _, info = envs.reset(seed=[5, 5, 6])
    assert info["table"][0] == info["table"][1]
    with pytest.raises(ValueError, match="seed must be an int or have length num_envs=3, got 2"):
        envs.reset(seed=[1, 2])


@pytest.mark.parametrize(
    "actions",
    [
        np.array([0, 9999]),
        np.array([-1, 0]),
        np.array([0.0, 1.0]),
        np.array([0]),
        np.array([[0, 1]]),
        np.array([True, False]),
        "ab",
    ],
)
def test_bad_actions_name_rule_and_value(actions: Any) -> None:
    envs = gym.make_vec("NMTHPO-zhen-v0", num_envs=2, table="surrogate")
    envs.reset(seed=0)
    with pytest.raises(ValueError, match="actions must be ints"):
        envs.step(actions)


def test_step_before_reset() -> None:
    envs = gym.make_vec("NMTHPO-zhen-v0", num_envs=2, table="surrogate")
    with pytest.raises(gym.error.ResetNeeded, match="must follow reset"):
        envs.step(np.array([0, 1]))

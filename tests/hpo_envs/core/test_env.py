"""Base classes of both forms: budgets, numbers of environments, autoreset, reset masks."""

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode

from hpo_envs.core.env import columns_of
from tests.helpers import raises, started
from tests.hpo_envs.core.engines.lookup.model import arguments, lookups


def test_errors_of_environments_name_argument_and_rule() -> None:
    plain = arguments("plain")
    for n in (0, -1, True, 1.5, "2"):
        with raises(f"num_envs must be an int >= 1, got {n!r}"):
            lookups(n, (), **plain)
    assert lookups(np.int64(1), (), **plain).num_envs == 1
    with raises("autoreset_mode must be one of NextStep, SameStep, Disabled, got 'never'"):
        lookups(1, (), **plain, autoreset_mode="never")
    envs = lookups(2, (), **plain)
    assert envs.metadata["autoreset_mode"] is AutoresetMode.NEXT_STEP
    assert (envs.single_action_space, envs.action_space.shape) == (gym.spaces.Discrete(6), (2,))
    assert envs.observation_space.shape == (2, *envs.single_observation_space.shape)
    for mask, rule in (
        (np.array([True]), "a bool array of shape (2,), got array([ True])"),
        ([True, False], "a bool array of shape (2,), got [True, False]"),
        (np.array([1, 0]), "a bool array of shape (2,), got array([1, 0])"),
    ):
        with raises(f"reset_mask must be {rule}"):
            envs.reset(options={"reset_mask": mask})
    with raises("reset_mask must have at least one True, got none"):
        envs.reset(options={"reset_mask": np.array([False, False])})
    with raises("reset_mask must be all True at the first reset, got array([ True, False])"):
        envs.reset(options={"reset_mask": np.array([True, False])})


@pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, AutoresetMode.DISABLED])
def test_limit_of_users_is_no_end_of_episode(mode: AutoresetMode) -> None:
    """A time limit that is added to the results of a step resets only its episodes, and loses no mask."""
    envs = started(lookups(3, ["nmthpo/swen"], autoreset_mode=mode), seed=5)
    terminated = envs.step(np.array([1, 2, 3]))[2]
    terminated |= np.array([True, False, True])
    envs.reset(options={"reset_mask": terminated})
    assert terminated.tolist() == [True, False, True]
    terminated[:] = True
    envs.reset(options={"reset_mask": np.array([True, False, False])})
    info = envs.step(np.array([4, 5, 6]))[-1]
    assert info["_cost"].tolist() == [True, True, True]
    assert [np.flatnonzero(mask == 0).tolist() for mask in info["action_mask"]] == [[4], [2, 5], [6]]


def test_mask_of_episode_that_ended_in_same_step() -> None:
    envs = started(lookups(2, ["nmthpo/swen"], budget=2, autoreset_mode=AutoresetMode.SAME_STEP))
    envs.step(np.array([1, 2]))
    info = envs.step(np.array([3, 4]))[-1]
    ended, begun = info["final_info"]["action_mask"], info["action_mask"]
    assert ([np.flatnonzero(mask == 0).tolist() for mask in ended], begun.min()) == ([[1, 3], [2, 4]], 1)
    assert info["final_info"]["_action_mask"].tolist() == [True, True]


def test_episodes_that_were_not_reset_stay_ended() -> None:
    envs = started(lookups(2, ["nmthpo/swen"], budget=1, autoreset_mode=AutoresetMode.DISABLED))
    envs.step(np.array([1, 2]))
    envs.reset(options={"reset_mask": np.array([True, False])})
    call = "call envs.reset(options={'reset_mask': ended}) first."
    with raises(f"environments [1] have ended and autoreset is disabled: {call}", gym.error.ResetNeeded):
        envs.step(np.array([1, 2]))


def test_seed_of_any_integer_type_starts_same_episode() -> None:
    for env_id in ("NMTHPO-swen-v0", "NMTLC-zhen-v0", "FIESTA-ner-v0", "CharHPO-v0", "NASBenchNLP-cell-v0"):
        env = gym.make(env_id)
        first = env.reset(seed=3)[1]
        assert all(str(env.reset(seed=kind(3))[1]) == str(first) for kind in (np.int64, np.uint64, np.int8))


def test_only_ended_episodes_have_mask_in_final_info() -> None:
    envs = lookups(2, ["nmthpo/swen"], cost="decoding_seconds", budget=1e3, autoreset_mode=AutoresetMode.SAME_STEP)
    envs.reset(seed=0)
    rng = np.random.default_rng(0)
    alone = 0
    for _ in range(200):
        terminated, _, info = envs.step(rng.integers(767, size=2))[2:]
        if terminated.any():
            assert info["final_info"]["action_mask"].any(axis=1).tolist() == terminated.tolist()
            alone += not terminated.all()
    assert alone


def test_what_episodes_say_alike_has_its_type() -> None:
    found = columns_of([{"table": "a", "code": 1}, {"table": "b", "code": 2}])
    assert (found["table"].tolist(), found["table"].dtype) == (["a", "b"], object)
    assert (found["code"].tolist(), found["code"].dtype) == ([1, 2], np.int64)

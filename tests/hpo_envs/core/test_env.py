"""The shells of both forms: budgets, numbers of environments, autoreset, reset masks."""

from __future__ import annotations

import gymnasium as gym
import numpy as np
from gymnasium.vector import AutoresetMode

from tests.helpers import raises
from tests.hpo_envs.engines.lookup.model import arguments, lookups


def test_words_about_the_shell() -> None:
    plain = arguments("plain")
    for n in (0, -1, True, 1.5, "2"):
        with raises(f"num_envs must be an int >= 1, got {n!r}"):
            lookups(n, (), **plain)
    assert lookups(np.int64(1), (), **plain).num_envs == 1
    with raises("autoreset_mode must be one of NextStep, SameStep, Disabled, got 'never'"):
        lookups(1, (), **plain, autoreset_mode="never")
    envs = lookups(2, (), **plain)
    assert envs.metadata["autoreset_mode"] is AutoresetMode.NEXT_STEP
    assert envs.single_action_space == gym.spaces.Discrete(6)
    assert envs.action_space.shape == (2,)
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

"""Environments that render, and an episode of random actions."""

from typing import Any

import gymnasium as gym
import numpy as np


def made(spec_id: str, mode: str | None, **kwargs: Any) -> Any:
    return gym.make(spec_id, render_mode=mode, disable_env_checker=True, **kwargs)


def played(env: Any, steps: int = 6) -> Any:
    env.action_space.seed(2)
    env.reset(seed=1)
    mutate = getattr(env.unwrapped, "mutate", None)
    actions = [env.action_space.sample() for _ in range(steps)]
    if mutate is not None:
        actions = [*mutate(None, np.random.default_rng(2)), *mutate(None, np.random.default_rng(4))[:-2]]
    for action in actions:
        if env.step(action)[2]:
            break
    return env

"""No array that an environment or a problem returns shares memory with it or with a table."""

from collections.abc import Iterator
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode

from hpo_envs.agents.problem import private, sealed
from hpo_envs.benchmarks import problem_of
from tests.helpers import ONE_OF_EACH, short, started

SPACES = ("action_space", "observation_space", "single_action_space", "single_observation_space", "mutate")


def _arrays(value: Any, seen: set[int]) -> Iterator[np.ndarray[Any, Any]]:
    """All arrays of numbers in an object of the suite, in dicts, lists and tuples; those behind views, too."""
    if id(value) in seen:
        return
    seen.add(id(value))
    if isinstance(value, np.ndarray):
        if value.size and value.dtype != object:
            yield value
        parts: Any = value.ravel().tolist() if value.dtype == object else [value.base]
    elif isinstance(value, dict):
        parts = value.values()
    elif isinstance(value, (list, tuple)):
        parts = value
    else:
        ours = type(value).__module__.startswith("hpo_envs.")
        names = getattr(type(value), "__slots__", None) or getattr(value, "__dict__", {}) if ours else ()
        parts = [getattr(value, name) for name in names if hasattr(value, name)]
    for part in parts:
        yield from _arrays(part, seen)


def _shares(one: np.ndarray[Any, Any], others: list[np.ndarray[Any, Any]]) -> bool:
    return any(np.may_share_memory(one, other) for other in others)


@pytest.mark.parametrize("env_id", ONE_OF_EACH)
@pytest.mark.hostile
def test_returned_arrays_belong_to_the_caller(env_id: str) -> None:
    one = gym.make(env_id, disable_env_checker=True).unwrapped
    modes = (AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP)
    several = [gym.make_vec(env_id, num_envs=2, autoreset_mode=mode, **short(env_id)).unwrapped for mode in modes]
    for env in (one, *several):
        handed = [env.reset(seed=0)]
        env.action_space.seed(0)
        handed += [env.step(env.action_space.sample()) for _ in range(1 if env is one else 6)]
        kept = list(_arrays({k: v for k, v in vars(env).items() if k not in SPACES}, set()))
        assert not [a.shape for a in _arrays(handed, set()) if _shares(a, kept)]
    problem = private(sealed(problem_of(one)), 0, None)
    fields = {k: v for k, v in vars(problem).items() if k not in SPACES}
    for array in _arrays(fields, set()):
        with pytest.raises(ValueError, match="WRITEABLE"):
            array.setflags(write=True)


@pytest.mark.parametrize("env_id", ["NASBenchNLP-ptb-final-v0", "NMTHPO-swen-v0"])
def test_an_episode_takes_a_kilobyte(env_id: str) -> None:
    sizes = []
    for n in (10, 20):
        envs = started(gym.make_vec(env_id, num_envs=n, budget=200).unwrapped)
        envs.step(np.zeros(n, int))
        own = {k: v for k, v in vars(envs).items() if k not in SPACES}
        sizes.append(sum(a.nbytes for a in _arrays(own, set()) if a.base is None))
        counters = 2 * envs.params.actions if envs.params.max_repeats > 1 else 0  # evaluations of each configuration
    assert sizes[1] - sizes[0] <= 10 * (1000 + counters)

"""Wrapped environments are environments; what cannot be wrapped is refused."""

import warnings

import gymnasium as gym
import pytest
from gymnasium.utils.env_checker import check_env

import hpo_envs.wrappers as scalar
from tests.hpo_envs.wrappers.helpers import BOTH, CASES


@pytest.mark.parametrize(("name", "spec_id"), CASES)
def test_gymnasium_checker_accepts_wrapped_environment(name: str, spec_id: str) -> None:
    env = BOTH[name][0](gym.make(spec_id, budget=5))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", message=".*is different from the unwrapped version.*")
        check_env(env, skip_render_check=True)


def test_wrappers_reject_what_they_cannot_wrap() -> None:
    mo = gym.make("NMTHPO-zhen-mo-v0")
    with pytest.raises(ValueError, match="one objective"):
        scalar.NormalisedReward(mo)
    grid = gym.make("NMTHPO-v0")
    with pytest.raises(ValueError, match="a row per action"):
        scalar.ContinuousAction(grid)
    with pytest.raises(ValueError, match="length must be an int >= 1, got 0"):
        scalar.HistoryObservation(grid, 0)
    with pytest.raises(ValueError, match="price must be a finite number >= 0, got -1"):
        scalar.CostAwareReward(grid, -1)

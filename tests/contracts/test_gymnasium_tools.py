"""Gymnasium's own helpers and MO-Gymnasium's wrappers, unmodified, on our environments."""

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils import performance
from gymnasium.utils.env_match import check_environments_match

from hpo_envs.families.registry import SPECS
from tests.helpers import ONE_OF_EACH, short

SEVERAL = [s.id for s in SPECS.values() if isinstance(s.kwargs.get("objective"), tuple)]


def make(spec_id: str, **kwargs: Any) -> Any:
    return gym.make(spec_id, disable_env_checker=True, **{**short(spec_id), **kwargs})


@pytest.mark.parametrize("spec_id", [s for s in ONE_OF_EACH if s not in SEVERAL])
def test_gymnasium_finds_two_of_id_alike(spec_id: str) -> None:
    """`check_environments_match` steps both with the same actions and compares all results, info included."""
    check_environments_match(make(spec_id), make(spec_id), num_steps=12, seed=3, skip_render=True)


@pytest.mark.parametrize("spec_id", ["NMTHPO-swen-v0", "NMTLC-ft-zhen-v0", "FIESTA-tdsa8-v0", "CushLEPOR-ted-ende-v0"])
def test_gymnasium_measures_their_speed(spec_id: str) -> None:
    assert performance.benchmark_step(make(spec_id), target_duration=0, seed=0) > 0
    assert performance.benchmark_init(lambda: make(spec_id), target_duration=0, seed=0) > 0
    if not hasattr(performance, "benchmark_vector_step"):  # older releases have none
        return
    envs = gym.make_vec(spec_id, num_envs=4, **short(spec_id))
    assert performance.benchmark_vector_step(envs, target_duration=0, seed=0) > 0


@pytest.fixture
def wrappers() -> Any:
    pytest.importorskip("mo_gymnasium", reason="extra rl is not installed")
    import mo_gymnasium.wrappers

    return mo_gymnasium.wrappers


def played(env: Any, actions: list[int]) -> tuple[np.ndarray, dict[str, Any]]:
    """(steps, objectives) rewards and the last info."""
    env.reset(seed=0)
    rewards = []
    for action in actions:
        _, reward, terminated, _, info = env.step(action)
        rewards.append(np.asarray(reward).copy())
    assert terminated
    return np.array(rewards), info


@pytest.mark.parametrize("spec_id", SEVERAL)
def test_wrappers_of_mo_gymnasium_work(wrappers: Any, spec_id: str) -> None:
    actions = [3, 1, 4, 1]
    bare, _ = played(make(spec_id), actions)
    assert bare.shape == (4, 2)

    weight = np.array([0.9, 0.1])
    linear, info = played(wrappers.LinearReward(make(spec_id), weight), actions)
    assert np.allclose(linear, bare @ weight)
    assert np.allclose(info["vector_reward"], bare[-1])

    clipped, _ = played(wrappers.MOClipReward(make(spec_id), 0, min_r=0.0, max_r=10.0), actions)
    assert np.allclose(clipped[:, 0], np.clip(bare[:, 0], 0, 10))
    assert np.allclose(clipped[:, 1], bare[:, 1])

    normal, _ = played(wrappers.MONormalizeReward(make(spec_id), 1), actions)
    assert np.allclose(normal[:, 0], bare[:, 0])
    assert not np.allclose(normal[:, 1], bare[:, 1])
    assert np.isfinite(normal).all()

    recorded, info = played(wrappers.MORecordEpisodeStatistics(make(spec_id), gamma=0.9), actions)
    assert np.allclose(recorded, bare)
    assert np.allclose(info["episode"]["r"], bare.sum(axis=0), rtol=1e-5)
    assert np.allclose(info["episode"]["dr"], (0.9 ** np.arange(4)) @ bare, rtol=1e-5)
    assert info["episode"]["l"] == 4

    skipped, _ = played(wrappers.MOMaxAndSkipObservation(make(spec_id), skip=2), [3, 1])
    assert np.allclose(skipped, [2 * bare[0], 2 * bare[1]])

"""FIESTA environments and tables: laws of resampling, and the measured numbers of the paper."""

from typing import Any

import gymnasium as gym
import numpy as np


def make(task: str, **kwargs: Any) -> Any:
    return gym.make(f"FIESTA-{task}-v0", **kwargs)


def test_asynchronous_thompson_sampling_in_run_loop() -> None:
    from hpo_envs.benchmarks import run

    kwargs = {"workers": 4, "durations": (1.0, 2.0, 0.5, 1.0, 3.0, 1.0, 1.0, 1.0)}
    runs = run("bts", "FIESTA-tdsa8-v0", [0, 1, 2], budget=300, env_kwargs=kwargs, confidence=0.8)
    for r in runs:
        assert 24 <= len(r) <= 300
        assert np.bincount(r.actions, minlength=8).min() >= 3
        assert (r.rewards > 0.4).all()
    alone = run("bts", "FIESTA-tdsa8-v0", [1], budget=300, env_kwargs=kwargs, confidence=0.8)[0]
    assert np.array_equal(runs[1].actions, alone.actions)


def pulls(env: Any, arms: list[int], seed: int = 0) -> np.ndarray:
    env.reset(seed=seed)
    return np.array([env.step(arm)[1] for arm in arms])


def test_gaussian_arms_are_gaussian() -> None:
    from scipy import stats

    env = make("gaussian", budget=4000, means=(0.5, 0.7), deviations=(0.01, 0.03))
    x = pulls(env, [1] * 4000)
    assert stats.kstest((np.array(x) - 0.7) / 0.03, "norm").pvalue > 1e-3

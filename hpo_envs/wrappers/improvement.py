"""Gain over the best evaluation so far, as the reward."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import numpy.typing as npt

from hpo_envs.wrappers.rewards import Floats, Indices, RewardRule, RewardWrapper, VectorRewardWrapper


class _Improvement(RewardRule):
    def __init__(self, n: int, env: Any, baseline: float | None = None) -> None:
        self.baseline = np.nan if baseline is None else float(baseline)
        self.best = np.full(n, self.baseline)

    def start(self, index: Indices, tables: npt.NDArray[Any]) -> None:
        self.best[index] = self.baseline

    def __call__(self, reward: Floats, cost: Floats, evaluated: npt.NDArray[np.bool_]) -> Floats:
        before = np.where(np.isnan(self.best), reward, self.best)
        gain = np.where(evaluated, np.maximum(reward - before, 0.0), 0.0)
        self.best = np.where(evaluated, np.maximum(reward, before), self.best)
        return gain


class ImprovementReward(RewardWrapper):
    """Rewards by how much an evaluation beats the best one before it, at least 0.

    The rewards of an episode add up to its best minus the baseline.

    Args:
        env: An environment with one objective.
        baseline: What the first evaluation is compared with; None: with itself, so that it is worth 0.
    """

    rule = _Improvement

    def __init__(self, env: gym.Env[Any, Any], baseline: float | None = None) -> None:
        super().__init__(env, baseline=baseline)


class VectorImprovementReward(VectorRewardWrapper):
    """See `hpo_envs.wrappers.ImprovementReward`."""

    rule = _Improvement

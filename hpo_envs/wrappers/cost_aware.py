"""The reward minus a price for each unit of cost."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import numpy.typing as npt

from hpo_envs.wrappers.rewards import Floats, RewardRule, RewardWrapper, VectorRewardWrapper


class _CostAware(RewardRule):
    def __init__(self, n: int, env: Any, price: float) -> None:
        if not (np.isfinite(price) and price >= 0):
            raise ValueError(f"price must be a finite number >= 0, got {price!r}")
        self.price = float(price)

    def __call__(self, reward: Floats, cost: Floats, evaluated: npt.NDArray[np.bool_]) -> Floats:
        return np.where(evaluated, reward - self.price * cost, 0.0)


class CostAwareReward(RewardWrapper):
    """Subtracts a price for each unit of cost.

    Args:
        env: An environment with one objective.
        price: Reward that one unit of `env.unwrapped.cost_unit` is worth, >= 0.

    Raises:
        ValueError: The price is negative or not finite.
    """

    rule = _CostAware

    def __init__(self, env: gym.Env[Any, Any], price: float) -> None:
        super().__init__(env, price=price)


class VectorCostAwareReward(VectorRewardWrapper):
    """See `hpo_envs.wrappers.CostAwareReward`."""

    rule = _CostAware

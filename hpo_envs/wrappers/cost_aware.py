"""`CostAwareReward`: the reward minus a price for each unit of cost."""

from typing import Any

import numpy as np

from hpo_envs.tables import Floats
from hpo_envs.wrappers.forms import Flags, RewardRule, ScalarForm


class CostAware(RewardRule):
    """Rule of `CostAwareReward`: the reward minus price times cost; 0 without an evaluation."""

    def __init__(self, env: Any, n: int, price: float) -> None:
        if not (np.isfinite(price) and price >= 0):
            raise ValueError(f"price must be a finite number >= 0, got {price!r}")
        self.price = float(price)

    def reward(self, reward: Floats, cost: Floats, evaluated: Flags) -> Floats:
        """See `RewardRule`."""
        return np.where(evaluated, reward - self.price * cost, 0.0)


class CostAwareReward(ScalarForm):
    """Wrapper that subtracts a price for each unit of cost from the reward.

    Args:
        env: An environment with one objective.
        price: Price in units of reward of one unit of `env.unwrapped.cost_unit`, >= 0.

    Raises:
        ValueError: The price is negative or not finite.
    """

    rule_class = CostAware

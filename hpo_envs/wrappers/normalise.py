"""Rewards on the scale of the episode's table: position between its worst and best row, and minus the regret."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from hpo_envs.core.params import kind_of
from hpo_envs.wrappers.rewards import Floats, Indices, RewardRule, RewardWrapper, VectorRewardWrapper


class _Normalised(RewardRule):
    def __init__(self, n: int, env: Any) -> None:
        self.scales = scales_of(env)
        self.low, self.high = np.zeros(n), np.ones(n)

    def start(self, index: Indices, tables: npt.NDArray[Any]) -> None:
        self.low[index], self.high[index] = np.array([self.scales[name] for name in tables]).reshape(-1, 2).T

    def __call__(self, reward: Floats, cost: Floats, evaluated: npt.NDArray[np.bool_]) -> Floats:
        span = np.where(self.high > self.low, self.high - self.low, 1.0)
        return np.where(evaluated, (reward - self.low) / span, 0.0)


class _Regret(_Normalised):
    def __init__(self, n: int, env: Any) -> None:
        super().__init__(n, env)
        self.best = np.full(n, -np.inf)

    def start(self, index: Indices, tables: npt.NDArray[Any]) -> None:
        super().start(index, tables)
        self.best[index] = -np.inf

    def __call__(self, reward: Floats, cost: Floats, evaluated: npt.NDArray[np.bool_]) -> Floats:
        self.best = np.where(evaluated, np.maximum(self.best, reward), self.best)
        return np.where(evaluated, self.best - self.high, 0.0)


def scales_of(env: Any) -> dict[str, tuple[float, float]]:
    """Lowest and highest reward of each table behind a look-up environment, by name.

    Raises:
        ValueError: The environment has no finite tables of rewards, or a vector reward.
    """
    base = env.unwrapped
    if kind_of(env) not in ("rows", "grid") or len(base.objectives) != 1:
        raise ValueError(f"env must look one objective up in finite tables for this wrapper, got {base}")
    out = {}
    for table in base.tables:
        metric = table.metrics[table.metric(base.objectives[0])]
        final = table.final(metric.name) * metric.sign
        # Rows without a value are rewarded with the metric's worst, see the environment's page.
        final = np.where(np.isnan(final), metric.sign * metric.worst, final)
        out[table.name] = (float(final.min()), float(final.max()))
    return out


class NormalisedReward(RewardWrapper):
    """Rewards the position between the worst (0) and the best (1) row of the episode's table.

    The scale is the table's own, which an agent in the field would not know: for training and for plots.
    """

    rule = _Normalised


class VectorNormalisedReward(VectorRewardWrapper):
    """See `hpo_envs.wrappers.NormalisedReward`."""

    rule = _Normalised


class RegretReward(RewardWrapper):
    """Rewards minus the simple regret. Training only: it uses the optimum of the episode's table."""

    rule = _Regret


class VectorRegretReward(VectorRewardWrapper):
    """See `hpo_envs.wrappers.RegretReward`. Training only."""

    rule = _Regret

"""Rewards of wrappers, on arrays of n episodes; the scalar wrappers use n = 1."""

from __future__ import annotations

import abc
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from hpo_envs.core.params import kind_of

Floats = npt.NDArray[np.float64]
Indices = npt.NDArray[np.intp]


class RewardTransform(abc.ABC):
    """State and rule of a reward wrapper.

    Args:
        n: Number of episodes.
        scales: By table name, the (lowest, highest) reward in the table; empty where the transform needs none.
    """

    needs_scales = False

    def __init__(self, n: int, scales: Mapping[str, tuple[float, float]]) -> None:
        self.scales = scales

    def start(self, index: Indices, tables: npt.NDArray[Any]) -> None:  # noqa: B027 (a transform may have no state)
        """Start fresh episodes at `index` (k,) on the tables named in `tables` (k,)."""

    @abc.abstractmethod
    def __call__(self, reward: Floats, cost: Floats, evaluated: npt.NDArray[np.bool_]) -> Floats:
        """The new reward.

        Args:
            reward: (n,) reward of the environment.
            cost: (n,) cost of the evaluation.
            evaluated: (n,) bool, False where this step was no evaluation; there the result is 0.
        """


class Improvement(RewardTransform):
    """Improvement over the incumbent, at least 0.

    The rewards of an episode add up to its best minus the baseline.

    Args:
        baseline: What the first evaluation is compared with; None: with itself, so that it is worth 0.
    """

    def __init__(self, n: int, scales: Mapping[str, tuple[float, float]], baseline: float | None = None) -> None:
        super().__init__(n, scales)
        self.baseline = np.nan if baseline is None else float(baseline)
        self.best = np.full(n, self.baseline)

    def start(self, index: Indices, tables: npt.NDArray[Any]) -> None:
        """Reset the incumbent."""
        self.best[index] = self.baseline

    def __call__(self, reward: Floats, cost: Floats, evaluated: npt.NDArray[np.bool_]) -> Floats:
        """Improvement over the best before."""
        before = np.where(np.isnan(self.best), reward, self.best)
        gain = np.where(evaluated, np.maximum(reward - before, 0.0), 0.0)
        self.best = np.where(evaluated, np.maximum(reward, before), self.best)
        return gain


class _Scaled(RewardTransform):
    needs_scales = True

    def __init__(self, n: int, scales: Mapping[str, tuple[float, float]]) -> None:
        super().__init__(n, scales)
        self.low, self.high = np.zeros(n), np.ones(n)

    def start(self, index: Indices, tables: npt.NDArray[Any]) -> None:
        """Look up the scale of each episode's table."""
        bounds = np.array([self.scales[name] for name in tables]).reshape(-1, 2)
        self.low[index], self.high[index] = bounds[:, 0], bounds[:, 1]


class Normalised(_Scaled):
    """0 for the worst row of the table, 1 for its best: comparable between tables."""

    def __call__(self, reward: Floats, cost: Floats, evaluated: npt.NDArray[np.bool_]) -> Floats:
        """Position between the table's worst and best reward."""
        span = np.where(self.high > self.low, self.high - self.low, 1.0)
        return np.where(evaluated, (reward - self.low) / span, 0.0)


class Regret(_Scaled):
    """Minus the distance of the best evaluation so far to the table's best. Training only: it uses the optimum."""

    def __init__(self, n: int, scales: Mapping[str, tuple[float, float]]) -> None:
        super().__init__(n, scales)
        self.best = np.full(n, -np.inf)

    def start(self, index: Indices, tables: npt.NDArray[Any]) -> None:
        """Reset the incumbent."""
        super().start(index, tables)
        self.best[index] = -np.inf

    def __call__(self, reward: Floats, cost: Floats, evaluated: npt.NDArray[np.bool_]) -> Floats:
        """Minus the simple regret."""
        self.best = np.where(evaluated, np.maximum(self.best, reward), self.best)
        return np.where(evaluated, self.best - self.high, 0.0)


class CostAware(RewardTransform):
    """The reward minus a price for each unit of cost.

    Args:
        price: Reward that one unit of cost is worth, >= 0.

    Raises:
        ValueError: The price is negative or not finite.
    """

    def __init__(self, n: int, scales: Mapping[str, tuple[float, float]], price: float) -> None:
        super().__init__(n, scales)
        if not (np.isfinite(price) and price >= 0):
            raise ValueError(f"price must be a finite number >= 0, got {price!r}")
        self.price = float(price)

    def __call__(self, reward: Floats, cost: Floats, evaluated: npt.NDArray[np.bool_]) -> Floats:
        """Reward minus price times cost."""
        return np.where(evaluated, reward - self.price * cost, 0.0)


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

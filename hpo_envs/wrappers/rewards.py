"""Wrappers of rewards: gain over the best so far, price of costs, normalised reward, regret."""

from typing import Any

import numpy as np
import numpy.typing as npt

from hpo_envs.core.params import kind_of
from hpo_envs.tables import Floats
from hpo_envs.tables.table import is_number
from hpo_envs.wrappers.forms import EpisodeIndices, Flags, RewardRule, ScalarForm


class Improvement(RewardRule):
    """Rule of `ImprovementReward`: gain over the best reward so far, at least 0; 0 without an evaluation."""

    def __init__(self, env: Any, n: int, baseline: float | None = None) -> None:
        if baseline is not None and not (is_number(baseline) and np.isfinite(baseline)):
            raise ValueError(f"baseline must be None or a finite number, got {baseline!r}")
        self.baseline = np.nan if baseline is None else float(baseline)
        self.best = np.full(n, self.baseline)

    def start(self, index: EpisodeIndices, tables: npt.NDArray[Any]) -> None:
        """See `Rule`."""
        self.best[index] = self.baseline

    def reward(self, reward: Floats, cost: Floats, evaluated: Flags) -> Floats:
        """See `RewardRule`."""
        before = np.where(np.isnan(self.best), reward, self.best)
        self.best = np.where(evaluated, np.maximum(reward, before), self.best)
        return np.where(evaluated, np.maximum(reward - before, 0.0), 0.0)


class ImprovementReward(ScalarForm):
    """Wrapper whose reward is the gain over the best previous reward, at least 0.

    The rewards of an episode sum to its best reward minus the baseline, or to 0 if none exceeds it.

    Args:
        env: An environment with one objective.
        baseline: Reward that the first evaluation is compared with; None: its own reward, so that the first gain is 0.

    Raises:
        ValueError: The baseline is not a finite number.
    """

    rule_class = Improvement


class CostAware(RewardRule):
    """Rule of `CostAwareReward`: the reward minus price times cost; 0 without an evaluation."""

    def __init__(self, env: Any, n: int, price: float) -> None:
        if not (is_number(price) and np.isfinite(price) and price >= 0):
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
        ValueError: The price is not a finite number >= 0.
    """

    rule_class = CostAware


class Normalised(RewardRule):
    """Rule of `NormalisedReward`: rewards on the scale of each episode's table; 0 without an evaluation."""

    def __init__(self, env: Any, n: int) -> None:
        self.scales = scales_of(env)
        self.low, self.high = np.zeros(n), np.ones(n)

    def start(self, index: EpisodeIndices, tables: npt.NDArray[Any]) -> None:
        """See `Rule`."""
        self.low[index], self.high[index] = np.array([self.scales[name] for name in tables]).reshape(-1, 2).T

    def reward(self, reward: Floats, cost: Floats, evaluated: Flags) -> Floats:
        """See `RewardRule`."""
        span = np.where(self.high > self.low, self.high - self.low, 1.0)
        return np.where(evaluated, (reward - self.low) / span, 0.0)


class Regret(Normalised):
    """Rule of `RegretReward`: the episode's best reward so far minus the table's best; 0 without an evaluation."""

    def __init__(self, env: Any, n: int) -> None:
        super().__init__(env, n)
        self.best = np.full(n, -np.inf)

    def start(self, index: EpisodeIndices, tables: npt.NDArray[Any]) -> None:
        """See `Rule`."""
        super().start(index, tables)
        self.best[index] = -np.inf

    def reward(self, reward: Floats, cost: Floats, evaluated: Flags) -> Floats:
        """See `RewardRule`."""
        self.best = np.where(evaluated, np.maximum(self.best, reward), self.best)
        return np.where(evaluated, self.best - self.high, 0.0)


def scales_of(env: Any) -> dict[str, tuple[float, float]]:
    """Return the lowest and highest mean reward of the rows of each table of a look-up environment, by table name.

    Means are over the repeats of a row. ValueError if the environment does not look up one objective in its tables.
    """
    base = env.unwrapped
    if kind_of(env) not in ("rows", "grid") or base.params.live or base.reward_dim != 1:
        raise ValueError(f"env must look up one objective in tables for this wrapper, got {base}")
    means = base.params.means.reshape(len(base.tables), -1)
    return {t.name: (float(m.min()), float(m.max())) for t, m in zip(base.tables, means, strict=True)}


class NormalisedReward(ScalarForm):
    """Wrapper whose reward is the position between the worst (0) and the best (1) row of the episode's table.

    Both are means over repeats, so single runs may be outside [0, 1]. For training and plots: the scale is computed
    from the table, which is unknown in applications.

    Raises:
        ValueError: The environment does not look up one objective in its tables.
    """

    rule_class = Normalised


class RegretReward(ScalarForm):
    """Wrapper whose reward is the negative simple regret; for training only, because it uses the table's optimum.

    The optimum is the best row's mean over repeats, so a lucky run can have a positive reward.

    Raises:
        ValueError: The environment does not look up one objective in its tables.
    """

    rule_class = Regret

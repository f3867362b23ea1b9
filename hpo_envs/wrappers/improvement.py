"""`ImprovementReward`: gain over the best reward so far, at least 0."""

from typing import Any

import numpy as np
import numpy.typing as npt

from hpo_envs.tables import Floats
from hpo_envs.wrappers.forms import EpisodeIndices, Flags, RewardRule, ScalarForm


class Improvement(RewardRule):
    """Rule of `ImprovementReward`: gain over the best reward so far, at least 0; 0 without an evaluation."""

    def __init__(self, env: Any, n: int, baseline: float | None = None) -> None:
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
    """

    rule_class = Improvement

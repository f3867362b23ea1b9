"""Tree-structured Parzen estimator over rows that have features; needs the extra `optuna`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import gymnasium as gym
import numpy as np

from hpo_envs.agents.base import Agent, require_result
from hpo_envs.agents.external.optuna import OptunaTPE
from hpo_envs.agents.problem import Problem
from hpo_envs.agents.rows import Rows, features_of


class FeatureTPE(Agent):
    """TPE (Bergstra et al. 2011) in the box of the features; the nearest row is evaluated.

    Klyuchnikov et al. 2020, section 5, search their sample of cells so, with Hyperopt.

    Formula:
        l(x), g(x) = Parzen densities of the good and of the other evaluations
        x* = argmax of l(x) / g(x) among draws from l
        next = argmin over untried rows of |features(row) - x*|^2

    Paper: James Bergstra, Remi Bardenet, Yoshua Bengio and Balazs Kegl. Algorithms for Hyper-Parameter
    Optimization. NeurIPS 2011. Nikita Klyuchnikov et al. NAS-Bench-NLP: Neural Architecture Search Benchmark for
    Natural Language Processing. arXiv:2006.07116, 2020, section 5.

    Complexity: that of Optuna's sampler in as many dimensions as there are features.

    Args:
        problem: Rows with features, or (row, checkpoint) pairs.
        seed: Seed of the sampler.
        features: Prefix of the features that span the search space.
        count: At most so many of them.
        resource: See `Rows`.
        fresh: Whether the nearest row not tried before is evaluated; False as released with NAS-Bench-NLP.
        evaluations: The agent is done after so many; None = never.
        **settings: Arguments of `optuna.samplers.TPESampler`.

    Raises:
        ModuleNotFoundError: Optuna is not installed.
        ValueError: Rows without features.
    """

    def __init__(
        self,
        problem: Problem,
        seed: int,
        features: str | tuple[str, ...] = "",
        count: int | None = None,
        resource: float | None = None,
        fresh: bool = True,
        evaluations: int | None = None,
        **settings: Any,
    ) -> None:
        super().__init__(problem, seed)
        self._rows = Rows(problem, resource)
        x = features_of(problem, features, count)
        low, high = x.min(axis=0), x.max(axis=0)
        self._x = x[:, high > low]
        box = gym.spaces.Box(low[high > low], high[high > low], dtype=np.float64)
        self._sampler = OptunaTPE(Problem(box), int(self.rng.integers(2**31)), **settings)
        self._point: Any = None
        self._fresh, self._left = fresh, evaluations

    def ask(self) -> Any:
        """Returns the row nearest to what the sampler suggests."""
        self._point = self._sampler.ask()
        distances = ((self._x - self._point) ** 2).sum(axis=1)
        return self._rows.action(self._rows.nearest(distances, self._fresh))

    def tell(self, action: Any, reward: Any, info: Mapping[str, Any]) -> None:
        """Hands the reward to the sampler; a run that diverged counts with the worst reward that it got.

        Raises:
            ValueError: Nothing was evaluated: the sampler's points are told in the order in which it suggests them.
        """
        require_result(self, info)
        self._rows.note(action, reward, info)
        self._sampler.tell(self._point, float(np.sum(reward)), info)
        if self._left is not None:
            self._left -= 1
            self.done = self._left <= 0

    def recommend(self) -> Any:
        """Returns the best action told, or a random row before the first."""
        rows = self._rows
        return rows.action(int(self.rng.integers(rows.count))) if rows.best is None else rows.best[1]

"""Any sampler of Optuna as an agent, on boxes, grids and rows that have features. Needs the extra `optuna`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import gymnasium as gym
import numpy as np

from hpo_envs.agents.base import Agent
from hpo_envs.agents.candidates import Candidates
from hpo_envs.agents.external.optuna import OptunaAgent
from hpo_envs.agents.problem import Problem


class AnySampler(Agent):
    """Any sampler of Optuna (Akiba et al. 2019), as it is.

    `Box` spaces become floats and the values of a `MultiDiscrete` space ordered ints, named `x0`, `x1`, ... Where
    actions are rows, the sampler searches the box of their features and the nearest row not tried before is evaluated;
    what came back is told for the point suggested. Where actions are (row, checkpoint) pairs, rows are trained to the
    end. Samplers that have tried everything (`GridSampler`, `BruteForceSampler`) are done.

    Formula:
        x* = the sampler's suggestion, by default the argmax of l(x) / g(x) of TPE
        next = x* on boxes and grids; on rows argmin over untried rows of |features(row) - x*|^2

    Paper: Takuya Akiba, Shotaro Sano, Toshihiko Yanase, Takeru Ohta and Masanori Koyama. Optuna: A Next-generation
    Hyperparameter Optimization Framework. KDD 2019.

    Complexity: what the sampler costs, and O(n d) a suggestion for the nearest of n rows with d features.

    Args:
        problem: A box, a grid, or rows with features; one or more objectives, as far as the sampler goes.
        seed: Seed of the sampler, if it takes one.
        sampler: Name of a class of `optuna.samplers`; or a class or function that returns a sampler; or a sampler,
            which is copied with the seed that it has, so that it runs alike for every `seed`.
        fresh: Of rows, whether the nearest one not tried before is evaluated.
        features: Of rows, prefix of the features that span the search space.
        count: Maximum number of them.
        resource: See `Candidates`.
        **settings: Arguments of the sampler.

    Raises:
        ModuleNotFoundError: Optuna, or what the sampler needs besides, is not installed.
        ValueError: No such sampler, or settings for a sampler that is made already; another kind of space.
    """

    parallel = True

    def __init__(
        self,
        problem: Problem,
        seed: int,
        *,
        sampler: Any = "TPESampler",
        fresh: bool = True,
        features: str | tuple[str, ...] = "",
        count: int | None = None,
        resource: float | None = None,
        **settings: Any,
    ) -> None:
        super().__init__(problem, seed)
        self._fresh = fresh
        self._candidates: Candidates | None = None
        self._points: dict[int, list[Any]] = {}
        if problem.levels is not None or isinstance(problem.action_space, gym.spaces.Discrete):
            self._candidates = Candidates(problem, resource)
            x = self._candidates.select(features, count)
            low, high = x.min(axis=0), x.max(axis=0)
            self._x = x[:, high > low]
            box = gym.spaces.Box(low[high > low], high[high > low], dtype=np.float64)
            problem = Problem(box, objectives=problem.objectives)
        self._inner = OptunaAgent(problem, seed, sampler=sampler, **settings)

    @property
    def done(self) -> bool:  # type: ignore[override]
        """Whether the sampler has tried everything."""
        return self._inner.done

    def ask(self) -> Any:
        """Return the sampler's next suggestion, or the row nearest to it."""
        point = self._inner.ask()
        rows = self._candidates
        if rows is None:
            return point
        row = rows.nearest(((self._x - point) ** 2).sum(axis=1), self._fresh)
        self._points.setdefault(row, []).append(point)
        return rows.submit(row)

    def tell(self, action: Any, reward: Any, info: Mapping[str, Any]) -> None:
        """Report the reward to the sampler, for the point that it suggested."""
        if self._candidates is None:
            self._inner.tell(action, reward, info)
        elif self._candidates.note(action, reward, info):
            row = self._candidates.row(action)
            points = self._points.get(row)
            self._inner.tell(points.pop(0) if points else self._x[row], reward, info)

    def recommend(self) -> Any:
        """Return the best evaluated action; with several objectives, by the sum of rewards."""
        return self._inner.recommend() if self._candidates is None else self._candidates.recommend(self.rng)


class FeatureTPE(AnySampler):
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
        count: Maximum number of them.
        resource: See `Candidates`.
        fresh: Whether the nearest row not tried before is evaluated; False as released with NAS-Bench-NLP.
        evaluations: The agent is done after this number; None = never.
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
        inner = int(np.random.default_rng(seed).integers(2**31))
        super().__init__(problem, inner, fresh=fresh, features=features, count=count, resource=resource, **settings)
        self._left = evaluations

    @property
    def done(self) -> bool:  # type: ignore[override]
        """Whether the requested number of evaluations is complete."""
        return self._left is not None and self._left <= 0

    def tell(self, action: Any, reward: Any, info: Mapping[str, Any]) -> None:
        """Report the reward to the sampler."""
        super().tell(action, reward, info)
        if self._left is not None and info.get("finished", True):
            self._left -= 1

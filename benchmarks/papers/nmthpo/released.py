"""The authors' own searches: the sample submissions of their AutoML-2022 competition, written anew.

Both are in the starting kit of the repository that has the tables (hpo_nmt at 7bd0a40): EHVI of Gaussian processes, and
CMA-ES on ranks of Pareto fronts whose samples are moved to the nearest model that was not tried. They scale the
hyperparameters in a way of their own, which is not that of the table's features.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from hpo_envs.agents import Agent, Problem
from hpo_envs.agents.models.acquisition import density
from hpo_envs.agents.search.bo import BayesianOptimisation
from hpo_envs.pareto import pareto_front
from hpo_envs.tables.table import Table

Floats = npt.NDArray[np.float64]


def scaled(table: Table) -> Floats:
    """(rows, 6) hyperparameters as the starting kit scales them."""
    c = table.configs.copy()
    c[:, 2] = np.log2(c[:, 2])
    return (c - (10_000, 2, 8, 1024, 8, 3e-4)) / (40_000, 2, 2, 1024, 8, 7e-4)


def summed_cells(mean: Floats, deviation: Floats, front: Floats, reference: Floats) -> Floats:
    """What the starting kit takes for the expected hypervolume improvement, both objectives minimised.

    Emmerich et al. (2011) divide the plane into cells by the front's coordinates, and sum over them what a point in
    the cell would gain. The kit sorts both coordinates upwards, so that the corners it pairs are not those of the
    front, and cuts each cell's share at 0.

    Args:
        mean: (2, n) predictions.
        deviation: (2, n) standard deviations.
        front: (k, 2) non-dominated observations.
        reference: (2,) reference point.

    Returns:
        (n,) float64 >= 0.
    """
    from scipy.special import ndtr

    k, corners = len(front), np.sort(front, axis=0)
    upper = np.vstack([corners, reference])
    s = np.maximum(deviation, 1e-300)
    z = np.clip((upper.T[:, :, None] - mean[:, None]) / s[:, None], -1e8, 1e8)
    # Per objective: mass and density between neighbouring edges, the first of which is at minus infinity.
    mass, peak = (np.diff(f(z), axis=1, prepend=0.0) for f in (ndtr, density))
    total = np.zeros(mean.shape[1])
    for i in range(k + 1):
        j = np.arange(k + 1 - i)
        high = upper[k - i, 0], upper[k - j, 1]
        first = s[0] * peak[0, j] + (high[0] - mean[0]) * mass[0, j]
        second = s[1] * peak[1, i] + (high[1][:, None] - mean[1]) * mass[1, i]
        known = np.array([_staircase(corners[max(i, x) :], (high[0], y)) for x, y in zip(j, high[1], strict=True)])
        total += np.maximum(first * second - known[:, None] * mass[0, j] * mass[1, i], 0.0).sum(axis=0)
    return total


def _staircase(corners: Floats, high: tuple[float, float]) -> float:
    """The kit's hypervolume of corners that rise in both coordinates."""
    tops = np.append(high[1], corners[:-1, 1])[: len(corners)]
    return float(((high[0] - corners[:, 0]) * (tops - corners[:, 1])).sum())


class ReleasedEHVI(BayesianOptimisation):
    """The kit's EHVI: three random models, Matern 5/2 with length-scale 1 on its own scaling, noise 1e-6, raw units.

    Args:
        problem: Of an `-mo-` id.
        seed: As any agent's.
        points: (rows, 6) from `scaled`, in the order of the problem's rows.
        order: All rows in the order of upstream's file: of models with equal scores (all of which are 0 late in a run)
            the kit takes the first. Default: the problem's.
    """

    def __init__(self, problem: Problem, seed: int, points: Floats, order: Sequence[int] | None = None) -> None:
        whole = dataclasses.replace(problem, features=points, base=points, index=None)
        super().__init__(whole, seed, acquisition="ehvi", noise=1e-6)
        self._order = np.arange(len(points)) if order is None else np.asarray(order, dtype=np.intp)

    def _suggest(self) -> int:
        means, deviations, observed = self._posterior()
        losses = -observed
        # The worst of what was observed and of what is predicted for any model, and 1.
        reference = np.maximum(losses.max(axis=0), (-means).max(axis=1)) + 1.0
        scores = np.zeros(len(self.features))
        front = losses[pareto_front(observed)]
        scores[self.free] = summed_cells(-means[:, self.free], deviations[:, self.free], front, reference)
        left = self._order[self.free[self._order]]
        return int(left[np.argmax(scores[left])])


class ReleasedCMAES(Agent):
    """The kit's CMA-ES: population 5, step size .1 from a random model, fitness the rank of the Pareto front.

    A sample becomes the untried model with the smallest cosine distance, and that model is what CMA-ES is told. The
    kit uses pycma, this the package `cmaes`.

    Args:
        problem: Of an `-mo-` id.
        seed: As any agent's.
        points: (rows, 6) from `scaled`, in the order of the problem's rows.
        order: Makes no difference.
    """

    POPULATION = 5

    def __init__(self, problem: Problem, seed: int, points: Floats, order: Sequence[int] | None = None) -> None:
        super().__init__(problem, seed)
        import cmaes

        self.points = points
        start = int(self.rng.integers(len(points)))
        self._search = cmaes.CMA(
            points[start], 0.1, population_size=self.POPULATION, seed=int(self.rng.integers(2**31))
        )
        self._tried = np.zeros(len(points), dtype=bool)
        self._pool: list[int] = []
        self._told: list[Floats] = []

    def ask(self) -> Any:
        """The untried model whose direction is nearest to the next sample's."""
        x, free = self._search.ask(), np.flatnonzero(~self._tried)
        p = self.points[free]
        with np.errstate(invalid="ignore"):
            cosine = p @ x / np.linalg.norm(p, axis=1)
        row = int(free[np.argmax(np.nan_to_num(cosine, nan=-np.inf))])
        self._tried[row] = True
        self._pool.append(row)
        return row

    def tell(self, action: Any, reward: Any, info: Mapping[str, Any]) -> None:
        """After a whole population: tells CMA-ES on which front of it each model is, 0 the best."""
        self._told.append(np.asarray(reward, dtype=np.float64))
        if len(self._told) < self.POPULATION:
            return
        ranks = fronts(np.array(self._told))
        told = [(self.points[row], float(rank)) for row, rank in zip(self._pool, ranks, strict=True)]
        self._search.tell(told)
        self._pool, self._told = [], []

    def recommend(self) -> Any:
        """The model asked for last."""
        return self._pool[-1] if self._pool else int(np.flatnonzero(self._tried)[-1]) if self._tried.any() else 0


def fronts(rewards: Floats) -> npt.NDArray[np.intp]:
    """(n,) which front each point is on, 0 for the non-dominated ones, peeled one after the other."""
    rank = np.zeros(len(rewards), dtype=np.intp)
    left = np.arange(len(rewards))
    level = 0
    while len(left):
        best = pareto_front(rewards[left])
        rank[left[best]] = level
        left, level = left[~best], level + 1
    return rank

"""Candidates of a finite problem: untried and pending ones, repeats, random order; pools of large problems."""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import gymnasium as gym
import numpy as np
import numpy.typing as npt

from hpo_envs.agents.base import Agent, Incumbent
from hpo_envs.agents.models import Floats, Indices
from hpo_envs.agents.models.gp import kernels
from hpo_envs.agents.problem import Problem, affordable, resources_of


class Candidates(Incumbent):
    """Candidates of a finite problem, numbered from 0, how often each was tried, and which are pending.

    Args:
        problem: Actions are rows (`Discrete`), values of a grid (`MultiDiscrete`, candidates in C order), or
            (row, checkpoint) pairs (`MultiDiscrete` with `levels`).

    Attributes:
        count: Number of candidates.
        pairs: Whether actions are (row, checkpoint) pairs.
        levels: (levels,) resource of each checkpoint; [1] if actions are not pairs.
        top: Index of the last checkpoint; 0 if actions are not pairs.
        times: (count,) number of times each candidate was suggested, or reported without a suggestion.
        pending: Candidates suggested but not yet reported, in the order of suggestion, repeats included.

    Raises:
        ValueError: The action space is neither `Discrete` nor `MultiDiscrete`.
    """

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.objectives)
        space = problem.action_space
        if not isinstance(space, (gym.spaces.Discrete, gym.spaces.MultiDiscrete)):
            raise ValueError(f"action_space must be Discrete rows, a grid or (row, level) pairs, got {space}")
        self._problem = problem
        self._shape = tuple(space.nvec.tolist()) if isinstance(space, gym.spaces.MultiDiscrete) else (int(space.n),)
        self._grid = isinstance(space, gym.spaces.MultiDiscrete) and problem.levels is None
        self.pairs = isinstance(space, gym.spaces.MultiDiscrete) and problem.levels is not None
        self.count = problem.rows
        self.levels = resources_of(np.asarray(problem.levels if self.pairs else [1.0], dtype=np.float64))
        self.top = len(self.levels) - 1
        self.times = np.zeros(self.count, np.int64)
        self.pending: list[int] = []
        self._order: list[int] = []

    @functools.cached_property
    def features(self) -> Floats:
        """(count, d) float64 features in [0, 1]; on a grid without features, grid indices divided by their maxima.

        Raises:
            ValueError: The candidates have no features and are not on a grid.
        """
        if self._problem.features is not None:
            return self._problem.features
        if not self._grid:
            raise ValueError(f"problem must have features or a MultiDiscrete grid for this agent, got {self._problem}")
        index = np.indices(self._shape).reshape(len(self._shape), -1).T
        return np.ascontiguousarray(index / np.maximum(np.array(self._shape) - 1.0, 1.0))

    @property
    def varying(self) -> Floats:
        """(count, k) features that are not constant over the candidates."""
        return self.features[:, np.ptp(self.features, axis=0) > 0]

    def base_gram(self, kernel: str, length_scale: float) -> tuple[Floats, Indices | None]:
        """Return the kernel matrix of the problem's base and the (count,) row of each candidate in this matrix.

        Without an index of rows of the base, or if the base is large, return the matrix of the candidates and None.
        """
        base, index = self._problem.base, self._problem.index
        if base is None or index is None or len(base) > kernels.LARGEST_SHARED:
            return kernels.gram(kernel, self.features, length_scale), None
        return kernels.gram(kernel, base, length_scale), index

    def gram_rows(self, kernel: str, length_scale: float) -> Callable[[int], Floats]:
        """Return a function that maps k to the (count,) kernel values of candidate k with all candidates.

        Each call computes them if the base or grid has more than `kernels.LARGEST_SHARED` rows; else they are cached.
        """
        base = self.features if self._problem.base is None else self._problem.base
        if len(base) > kernels.LARGEST_SHARED:
            return lambda k: kernels.gram_row(kernel, self.features, length_scale, k)
        matrix, index = self.base_gram(kernel, length_scale)
        return matrix.__getitem__ if index is None else lambda k: matrix[index[k], index]

    @property
    def maximum(self) -> float:
        """Resource of the last checkpoint, in units of the first one."""
        return float(self.levels[-1] / self.levels[0])

    def level_of(self, resource: float) -> int:
        """Return the index of the last checkpoint within a resource (in units of the first checkpoint); at least 0."""
        return affordable(self.levels, resource)

    def action(self, row: int, level: int | None = None) -> Any:
        """Return the action that evaluates a candidate; if actions are pairs, at a level (None: `top`)."""
        if self.pairs:
            return np.array([row, self.top if level is None else level])
        return np.array(np.unravel_index(row, self._shape)) if self._grid else int(row)

    def row(self, action: Any) -> int:
        """Return the candidate that an action evaluates, without its level; ValueError if the action is not valid."""
        if type(action) is int and 0 <= action < self.count and not self._grid:
            return action
        parts = np.asarray(action).reshape(-1)
        valid = parts.dtype.kind in "iu" and len(parts) == len(self._shape) and (parts >= 0).all()
        if not valid or (parts >= self._shape).any():
            raise ValueError(f"action must be that of a candidate, {self._shape} in all, got {action!r}")
        return int(np.ravel_multi_index(tuple(parts), self._shape)) if self._grid else int(parts[0])

    def submit(self, row: int, level: int | None = None) -> Any:
        """Return the action that evaluates a candidate, and record the candidate as suggested and pending."""
        self.times[row] += 1
        self.pending.append(row)
        return self.action(row, level)

    def note(self, action: Any, reward: Any, info: Mapping[str, Any]) -> bool:
        """Record the outcome of an action, suggested or not; return whether the step evaluated anything."""
        if not super().note(action, reward, info):
            return False
        row = self.row(action)
        if row in self.pending:
            self.pending.remove(row)
        else:  # not suggested
            self.times[row] += 1
        return True

    @property
    def free(self) -> npt.NDArray[np.bool_]:
        """(count,) mask of the candidates tried least often: the untried ones, while there are any."""
        return np.asarray(self.times == self.times.min())

    def nearest(self, distances: Floats, fresh: bool) -> int:
        """Return the candidate with the smallest of (count,) distances; if `fresh`, the nearest of the free ones."""
        return int(np.argmin(np.where(self.free, distances, np.inf) if fresh else distances))

    def permutation(self, rng: np.random.Generator, backwards: bool = False) -> Indices:
        """Draw a random order of all candidates: each of those left is next in proportion to its weight.

        It is `backwards` to be popped. Weighted sampling without replacement: Efraimidis and Spirakis, Information
        Processing Letters 97:181-185, 2006.
        """
        if (weights := self._problem.weights) is None:
            return rng.permutation(self.count)
        return np.argsort(rng.exponential(size=self.count) / weights)[:: -1 if backwards else 1]

    def shuffle(self, rng: np.random.Generator) -> None:
        """Draw the random order in which `draw` returns candidates."""
        self._order = self.permutation(rng, backwards=True).tolist()

    def draw(self, rng: np.random.Generator) -> int:
        """Return the next free candidate in the random order; the order is redrawn once it is exhausted."""
        while True:
            while self._order:
                row = self._order.pop()
                if not self.times[row] or self.times[row] == self.times.min():
                    return row
            self.shuffle(rng)

    def recommend(self, rng: np.random.Generator) -> Any:
        """Return the best evaluated action; before any, that of a random candidate, which leaves `rng` unchanged."""
        return self.action(int(copy.deepcopy(rng).integers(self.count))) if self.best is None else self.best[1]


class OnCandidates(Agent):
    """Base class of agents that choose among `candidates`."""

    candidates: Candidates

    def recommend(self) -> Any:
        """Return the best evaluated action, see `Incumbent`; before any evaluation, that of a random candidate."""
        return self.candidates.recommend(self.rng)


TIE = 1e-9
"""Relative difference from the largest score up to which a score is tied with it: round-off."""

AFFORDABLE = 20_000
"""Largest number of candidates that are all scored."""

INCUMBENTS, NEIGHBOURS, RANDOM = 5, 100, 1500
"""Numbers of candidates in a pool: of the best ones, of neighbours of each, and at most of random ones."""


class CandidatePool:
    """Candidates to score if scoring all takes too long: neighbours of the best ones so far, and random ones.

    Model-based optimizers maximise their acquisition function on large or infinite spaces in this way, near incumbents
    and at random points (Hutter et al. 2011, section 4.3). The nearest candidates of the incumbents are cached.

    Args:
        features: (n, d) float64 of all candidates.
    """

    def __init__(self, features: Floats) -> None:
        self._features = features
        self._near: dict[int, Indices] = {}

    def draw(
        self, rows: Sequence[int], scores: Floats, free: npt.NDArray[np.bool_], rng: np.random.Generator
    ) -> Indices:
        """Return the candidates to score, ascending, given (t,) observed rows with scores and the (n,) mask `free`.

        Higher scores are better. The random candidates are free ones, so that at least one to score is free.
        """
        best = dict.fromkeys(rows[i] for i in np.argsort(-scores, kind="stable")[: 2 * INCUMBENTS])
        self._near = {k: self._near[k] if k in self._near else self._nearest(k) for k in [*best][:INCUMBENTS]}
        others = np.flatnonzero(free)
        drawn = rng.choice(others, min(RANDOM, len(others)), replace=False)
        return np.unique(np.concatenate([drawn, *self._near.values()]))

    def _nearest(self, k: int) -> Indices:
        offsets = self._features - self._features[k]
        distances = np.einsum("ij,ij->i", offsets, offsets)
        many = min(NEIGHBOURS, len(distances) - 1)
        return np.argpartition(distances, many)[: many + 1]

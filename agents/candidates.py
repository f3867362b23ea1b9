"""What all optimisers over a finite set of featured candidates share: initial design, book-keeping, choice."""

from __future__ import annotations

import abc
from collections.abc import Mapping
from typing import Any

import gymnasium as gym
import numpy as np
import numpy.typing as npt

from hpo_envs.agents.base import Agent
from hpo_envs.agents.models.kernels import gram
from hpo_envs.agents.problem import Problem

Floats = npt.NDArray[np.float64]

TIE = 1e-9
"""Scores closer than this, relative to the largest, are tied: less than round-off can tell apart."""

DESIGNS = ("random", "spread")

SPREAD_NOISE = 1e-2
"""Observation variance that `spread` assumes, relative to the prior's."""

SPREAD_OVER = 2000
"""Candidates that `spread` compares at most."""


def candidate_features(problem: Problem) -> Floats:
    """(candidates, d) float64 features in [0, 1] of every candidate of a finite problem.

    The problem's own features where it has them; on a `MultiDiscrete` grid of values the scaled indices, in C order.

    Raises:
        ValueError: The candidates are not finite, or nothing is known of them.
    """
    if problem.features is not None:
        return np.ascontiguousarray(problem.features, dtype=np.float64)
    space = problem.action_space
    if isinstance(space, gym.spaces.MultiDiscrete) and problem.levels is None:
        shape = tuple(int(n) for n in space.nvec)
        index = np.indices(shape).reshape(len(shape), -1).T
        return index / np.maximum(np.array(shape) - 1.0, 1.0)
    raise ValueError(f"problem must have features or a MultiDiscrete grid for this agent, got {space} without features")


def positive(name: str, value: float) -> float:
    """Returns `value` as a float.

    Raises:
        ValueError: It is not a finite number > 0.
    """
    if not (np.isfinite(value) and value > 0):
        raise ValueError(f"{name} must be a finite number > 0, got {value!r}")
    return float(value)


class CandidateAgent(Agent):
    """An optimiser that scores every untried candidate and asks for the best one.

    Args:
        problem: A finite problem with features. Actions may be rows, values of a grid, or (row, level) pairs, of
            which the last level is asked for.
        seed: Seed of `self.rng`.
        initial: Candidates drawn at random before the model chooses (section 4.3 of Zhang and Duh 2020 has 3). They
            are the first ones of `random` with the same seed, so runs of several agents are paired.
        design: How the initial candidates are drawn: `random`, or `spread`, see `spread_row`.

    Attributes:
        features: (candidates, d) float64.
        free: (candidates,) bool, not asked for yet. All become free again when none is left.
        rows: Candidates told, in order, repeats included.
        rewards: One (objectives,) float64 per entry of `rows`.

    Raises:
        ValueError: A setting breaks its rule.
    """

    def __init__(self, problem: Problem, seed: int, *, initial: int = 3, design: str = "random") -> None:
        super().__init__(problem, seed)
        if design not in DESIGNS:
            raise ValueError(f"design must be one of {', '.join(DESIGNS)}, got {design!r}")
        self.design = design
        if isinstance(initial, bool) or int(initial) != initial or initial < 1:
            raise ValueError(f"initial must be an int >= 1, got {initial!r}")
        self.features = candidate_features(problem)
        self.initial = int(initial)
        space = problem.action_space
        self._pairs = problem.levels is not None and isinstance(space, gym.spaces.MultiDiscrete)
        self._shape = tuple(int(n) for n in space.nvec) if isinstance(space, gym.spaces.MultiDiscrete) else ()
        self.free = np.ones(len(self.features), dtype=bool)
        self._order: list[int] = self.rng.permutation(len(self.features)).tolist()
        self._asked = 0
        self.rows: list[int] = []
        self.rewards: list[Floats] = []

    def ask(self) -> Any:
        """Returns an untried candidate; after the last one, starts over with what it learned."""
        if not self.free.any():
            self.free[:] = True
        if max(self._asked, len(self.rows)) < self.initial or not self.rows:
            row = self._random_row() if self.design == "random" else self.spread_row()
        else:
            row = int(self._suggest())
        self._asked += 1
        self.free[row] = False
        return self._action(row)

    def tell(self, action: Any, reward: Any, info: Mapping[str, Any]) -> None:
        """Learns the outcome of one candidate, asked for or not; a step that evaluated nothing tells nothing.

        Raises:
            ValueError: `reward` is not finite, or has another number of objectives.
        """
        if not info.get("finished", True):
            return
        rewards = np.atleast_1d(np.asarray(reward, dtype=np.float64))
        if rewards.shape != (self.problem.objectives,) or not np.isfinite(rewards).all():
            raise ValueError(f"reward must be {self.problem.objectives} finite number(s), got {reward!r}")
        row = self._row(action)
        self.free[row] = False
        self.rows.append(row)
        self.rewards.append(rewards)
        self._observe(row, rewards)

    def recommend(self) -> Any:
        """Returns the best candidate told (the largest sum of rewards), or a random one before the first."""
        if not self.rows:
            return self._action(self._order[-1] if self._order else 0)
        best = int(np.argmax([r.sum() for r in self.rewards]))
        return self._action(self.rows[best])

    @abc.abstractmethod
    def _suggest(self) -> int:
        """The next candidate, among the free ones."""

    @abc.abstractmethod
    def _observe(self, row: int, rewards: Floats) -> None:
        """Updates the model."""

    def best_free(self, scores: Floats) -> int:
        """The free candidate with the highest score; ties, up to round-off, are broken at random.

        Args:
            scores: (candidates,) float64; only those of free candidates are looked at.
        """
        rows = np.flatnonzero(self.free)
        values = scores[rows]
        top = values.max()
        ties = rows[values >= top - TIE * abs(top)]
        return int(ties[0] if len(ties) == 1 else ties[self.rng.integers(len(ties))])

    def spread_row(self) -> int:
        """The free candidate that tells most of all others, before anything is known of the rewards.

        Under a Gaussian process with a Matern 5/2 kernel of length-scale 1, observing k lowers the summed variance of
        all candidates by sum_j C_jk^2 / (C_kk + noise), C the covariance given the rows asked for so far: the first
        choice is a candidate in the middle (Cohn's criterion, Seo et al. 2000). Ties, which a grid has many of, are
        broken at random. On larger sets than `SPREAD_OVER`, a random subset stands for all.
        """
        rows = np.arange(len(self.features))
        if len(rows) > SPREAD_OVER:
            rows = np.sort(self.rng.choice(rows, SPREAD_OVER, replace=False))
        asked = np.flatnonzero(~self.free)
        within = np.concatenate([asked, np.setdiff1d(rows, asked)])
        covariance = gram("matern52", self.features[within], 1.0).copy()
        for k in range(len(asked)):
            covariance -= np.outer(covariance[:, k], covariance[k]) / (covariance[k, k] + SPREAD_NOISE)
        told = np.square(covariance).sum(axis=0) / (np.maximum(covariance.diagonal(), 0.0) + SPREAD_NOISE)
        scores = np.full(len(self.features), -np.inf)
        scores[within] = told
        return self.best_free(scores)

    def _random_row(self) -> int:
        while self._order:
            row = self._order.pop()
            if self.free[row]:
                return row
        return int(self.rng.choice(np.flatnonzero(self.free)))

    def _action(self, row: int) -> Any:
        if self._pairs:
            return np.array([row, self._shape[1] - 1])
        if self._shape:
            return np.array(np.unravel_index(row, self._shape))
        return row

    def _row(self, action: Any) -> int:
        if self._pairs:
            return int(action[0])
        if self._shape:
            return int(np.ravel_multi_index(tuple(int(i) for i in action), self._shape))
        return int(action)

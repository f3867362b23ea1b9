"""What all optimisers over a finite set of featured candidates share: initial design, book-keeping, choice."""

from __future__ import annotations

import abc
from collections.abc import Mapping
from typing import Any

import gymnasium as gym
import numpy as np
import numpy.typing as npt

from hpo_envs.agents.base import Agent, Problem

Floats = npt.NDArray[np.float64]

TIE = 1e-9
"""Scores closer than this, relative to the largest, are tied: less than round-off can tell apart."""


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

    Attributes:
        features: (candidates, d) float64.
        free: (candidates,) bool, not asked for yet. All become free again when none is left.
        rows: Candidates told, in order, repeats included.
        rewards: One (objectives,) float64 per entry of `rows`.

    Raises:
        ValueError: A setting breaks its rule.
    """

    def __init__(self, problem: Problem, seed: int, *, initial: int = 3) -> None:
        super().__init__(problem, seed)
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
        row = self._random_row() if self._asked < self.initial or not self.rows else int(self._suggest())
        self._asked += 1
        self.free[row] = False
        return self._action(row)

    def tell(self, action: Any, reward: Any, info: Mapping[str, Any]) -> None:
        """Learns the outcome of one candidate, asked for or not.

        Raises:
            ValueError: `reward` is not finite, or has another number of objectives.
        """
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

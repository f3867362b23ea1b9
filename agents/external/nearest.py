"""Continuous optimizers as agents: natively on boxes and grids, by the nearest candidate on configurations."""

from __future__ import annotations

import abc
from collections.abc import Mapping
from typing import Any

import gymnasium as gym
import numpy as np

from hpo_envs.agents.base import Agent
from hpo_envs.agents.candidates import Candidates, Incumbent, lost
from hpo_envs.agents.external.packages import Generators
from hpo_envs.agents.models.arrays import Floats
from hpo_envs.agents.problem import Problem


class PendingSuggestions:
    """Pending suggestions of a package, by action; outcomes may arrive in any order."""

    def __init__(self) -> None:
        self._open: list[tuple[str, Any]] = []

    def note(self, action: Any, suggestion: Any) -> None:
        """Record the suggestion of an action."""
        self._open.append((_key(action), suggestion))

    def has(self, action: Any) -> bool:
        """Return whether an action is pending."""
        return self._at(action) is not None

    def take(self, action: Any) -> Any:
        """Remove and return the oldest suggestion of an action; None if it has none."""
        at = self._at(action)
        return None if at is None else self._open.pop(at)[1]

    def _at(self, action: Any) -> int | None:
        key = _key(action)
        return next((i for i, (asked, _) in enumerate(self._open) if asked == key), None)


def _key(action: Any) -> str:
    return str(np.asarray(action).tolist())


class NearestCandidate(Agent):
    """Base class of optimizers of the unit cube, which evaluates the candidate nearest to each suggestion.

    A `Box` is scaled to the cube; the n values of a `MultiDiscrete` axis are n equal parts of it. Where actions are
    rows, the cube is the box of their features: the nearest row not tried before is evaluated, and its outcome is
    reported for the suggested point. Of (row, fidelity) pairs, rows are trained to the end unless `level` is set.

    Subclasses write `suggest` and `learn`, and may draw from the global generators in both.

    Args:
        problem: A box, a grid or rows with features; one objective.
        seed: Of `self.rng`, and of what the package draws from.

    Attributes:
        size: Dimensions of the cube.
        asked: Pending suggestions.

    Raises:
        ValueError: Another kind of space, rows without features, or several objectives.
    """

    parallel = True
    listens = False

    def __init__(self, problem: Problem, seed: int) -> None:
        super().__init__(problem, seed)
        space = problem.action_space
        if problem.objectives != 1:
            raise ValueError(f"objectives must be 1 for this agent, got {problem.objectives}")
        self._rows: Candidates | None = None
        if problem.levels is not None or isinstance(space, gym.spaces.Discrete):
            self._rows = Candidates(problem)
            self._x = self._rows.varying
            self._low, self._high = self._x.min(axis=0), self._x.max(axis=0)
        elif isinstance(space, gym.spaces.Box):
            self._low, self._high = (np.float64(end).ravel() for end in (space.low, space.high))
        elif isinstance(space, gym.spaces.MultiDiscrete):
            self._low, self._high = np.zeros(space.nvec.size), space.nvec.ravel().astype(np.float64)
        else:
            raise ValueError(f"action_space must be a Box, a MultiDiscrete or rows, got {space}")
        self.size = len(self._low)
        self.asked = PendingSuggestions()
        self._incumbent: Incumbent = Incumbent() if self._rows is None else self._rows
        self._generators = Generators(int(self.rng.integers(2**31)))

    @abc.abstractmethod
    def suggest(self) -> tuple[Any, Floats]:
        """Return the package's next suggestion and its position, (size,) float64 in [0, 1]."""

    @abc.abstractmethod
    def learn(self, suggestion: Any, action: Any, loss: float | None, info: Mapping[str, Any]) -> None:
        """Report the outcome of a suggestion: a loss, lower is better; None if its run failed."""

    def level(self, suggestion: Any) -> int | None:
        """Checkpoint of a pair that a suggestion is trained to; None = the last."""
        return None

    def row(self, suggestion: Any, place: Floats) -> int:
        """The row of a suggestion: the nearest unevaluated candidate."""
        assert self._rows is not None
        point = self._low + place * (self._high - self._low)
        return self._rows.nearest(((self._x - point) ** 2).sum(axis=1), fresh=True)

    def ask(self) -> Any:
        """Return the package's next suggestion, or the row nearest to it."""
        with self._generators.active():
            suggestion, place = self.suggest()
        place = np.clip(place, 0.0, 1.0)
        if self._rows is None:
            action = self._point(place)
        else:
            action = self._rows.submit(self.row(suggestion, place), self.level(suggestion))
        self.asked.note(action, suggestion)
        return action

    def _point(self, place: Floats) -> Any:
        """The action of a box or a grid at a place in the cube.

        Where a worker has that point of a grid, it is the nearest of those next to it that no one has.
        """
        space, exact = self.problem.action_space, self._low + place * (self._high - self._low)

        def action(point: Floats) -> Any:
            return point.astype(space.dtype).reshape(space.shape)

        if not isinstance(space, gym.spaces.MultiDiscrete):
            return action(exact)
        point = np.minimum(np.floor(exact), self._high - 1)
        if not self.asked.has(action(point)):
            return action(point)
        axes = np.arange(self.size).repeat(self._high.astype(int))
        beside = np.repeat(point[None], len(axes), axis=0)
        beside[np.arange(len(axes)), axes] = np.concatenate([np.arange(count) for count in self._high])
        nearest = np.square((beside + 0.5 - exact) / self._high).sum(axis=1).argsort(kind="stable")
        return next((a for a in map(action, beside[nearest]) if not self.asked.has(a)), action(point))

    def tell(self, action: Any, reward: Any, info: Mapping[str, Any]) -> None:
        """Report the negative reward to the package, for the point that it suggested."""
        if not self._incumbent.note(action, reward, info):
            return
        if (suggestion := self.asked.take(action)) is not None:
            with self._generators.active():
                self.learn(suggestion, action, None if lost(info) else -float(np.sum(reward)), info)

    def recommend(self) -> Any:
        """Return the best evaluated action, or a random one before the first."""
        if self._incumbent.best is not None:
            return self._incumbent.best[1]
        return self._point(self.rng.random(self.size)) if self._rows is None else self._rows.recommend(self.rng)

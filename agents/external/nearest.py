"""Continuous optimizers as agents: natively on boxes and grids, by the nearest candidate on configurations."""

import abc
from collections.abc import Mapping
from typing import Any

import gymnasium as gym
import numpy as np

from hpo_envs.agents.base import Agent
from hpo_envs.agents.candidates import Candidates, Incumbent, lost
from hpo_envs.agents.external.lookup import look_up
from hpo_envs.agents.external.packages import Generators
from hpo_envs.agents.models import Floats
from hpo_envs.agents.problem import Problem
from hpo_envs.agents.space import Axis, Space


class PendingSuggestions:
    """Pending suggestions of a package, by action; outcomes may arrive in any order."""

    def __init__(self) -> None:
        self._open: dict[str, list[Any]] = {}

    def note(self, action: Any, suggestion: Any) -> None:
        """Record the suggestion of an action."""
        self._open.setdefault(_key(action), []).append(suggestion)

    def has(self, action: Any) -> bool:
        """Return whether an action is pending."""
        return bool(self._open.get(_key(action)))

    def take(self, action: Any) -> Any:
        """Remove and return the oldest suggestion of an action; None if it has none."""
        return self._open[_key(action)].pop(0) if self.has(action) else None


def _key(action: Any) -> str:
    return str(np.asarray(action).tolist())


class ExternalOptimizer(Agent):
    """Base class of optimizers of other packages: the points that they search, and their pending suggestions.

    Where actions are rows, the points are in the box of their features, and the nearest row not tried before is
    evaluated; its outcome is reported for the suggested point. Of (row, fidelity) pairs, rows are trained to the end
    unless `level` is overridden.

    Args:
        problem: A box, a grid or rows with features.
        seed: Of `self.rng`.

    Attributes:
        spaces: What the action space may be.
        several: Whether there may be several objectives.
        asked: Pending suggestions.
        space: The search space: the problem's, or one of reals that a box or features span.

    Raises:
        ValueError: Another kind of space, rows without features, or several objectives.
    """

    parallel = True
    spaces: tuple[type, ...] = (gym.spaces.Box, gym.spaces.MultiDiscrete, gym.spaces.Discrete)
    several = False
    _rows: Any = None

    def __init__(self, problem: Problem, seed: int) -> None:
        super().__init__(problem, seed)
        space: Any = problem.action_space
        if not issubclass(type(space), self.spaces):
            kinds = ", ".join(s.__name__ for s in self.spaces)
            raise ValueError(f"action_space must be a {kinds} for this agent, got {space}")
        if problem.objectives != 1 and not self.several:
            raise ValueError(f"objectives must be 1 for this agent, got {problem.objectives}")
        self.asked = PendingSuggestions()
        self._incumbent = Incumbent()
        axes: Any = problem.axes
        grid = isinstance(space, gym.spaces.MultiDiscrete) and problem.levels is None
        if grid:
            axes = axes or [Axis(tuple(((np.arange(n) + 0.5) / n).tolist())) for n in space.nvec.ravel()]
        if self.lists(problem):
            self._incumbent = self._rows = Candidates(problem)
            self._x = self._rows.varying
            self._low, self._high = self._x.min(axis=0), self._x.max(axis=0)
            points = problem.candidates if axes else None
            if grid:
                points = (np.indices(space.nvec).reshape(space.nvec.size, -1).T + 0.5) / space.nvec.ravel()
            elif points is None:
                axes, points = (), (self._x - self._low) / (self._high - self._low)
            self._points: Floats = points
        elif grid:
            self._low, self._high = np.zeros(space.nvec.size), space.nvec.ravel().astype(np.float64)
        else:
            self._low, self._high = (np.float64(end).ravel() for end in (space.low, space.high))
        ends = zip(self._low.tolist(), self._high.tolist(), strict=True)
        self.space = Space(axes or [Axis(low=low, high=high) for low, high in ends])

    @staticmethod
    def lists(problem: Problem) -> bool:
        """Return whether the agent chooses among listed candidates: rows, or (row, checkpoint) pairs."""
        return problem.levels is not None or isinstance(problem.action_space, gym.spaces.Discrete)

    @abc.abstractmethod
    def _suggestion(self) -> tuple[Any, Any]:
        """The package's next suggestion and its point, (d,) float64 in the units of the box or of the features."""

    @abc.abstractmethod
    def _report(self, suggestion: Any, action: Any, reward: Any, info: Mapping[str, Any]) -> None:
        """Report an outcome to the package; `suggestion` is None for an action that was not asked for."""

    def level(self, suggestion: Any) -> int | None:
        """Checkpoint of a pair that a suggestion is trained to; None = the last."""
        return None

    def row(self, suggestion: Any, point: Any) -> int:
        """The row of a suggestion, see `look_up`: of those tried least often."""
        return look_up(self.space, point, self._points, self._rows.free, self.rng)

    def coordinates(self, action: Any) -> Floats:
        """(d,) coordinates of an evaluated action."""
        if self._rows is not None:
            return np.asarray(self._points[self._rows.row(action)])
        offset = 0.5 * isinstance(self.problem.action_space, gym.spaces.MultiDiscrete)
        return np.asarray((np.float64(action).ravel() + offset - self._low) / (self._high - self._low))

    def ask(self) -> Any:
        """Return the package's next suggestion, or the row nearest to it."""
        suggestion, point = self._suggestion()
        if self._rows is None:
            action = self._point(point)
        else:
            action = self._rows.submit(self.row(suggestion, point), self.level(suggestion))
        self.asked.note(action, suggestion)
        return action

    def _point(self, point: Floats) -> Any:
        """The action of a box or a grid at a point."""
        space = self.problem.action_space
        return point.astype(space.dtype).reshape(space.shape)

    def tell(self, action: Any, reward: Any, info: Mapping[str, Any]) -> None:
        """Report the outcome to the package, for the point that it suggested."""
        if self._incumbent.note(action, reward, info):
            self._report(self.asked.take(action), action, reward, info)

    def recommend(self) -> Any:
        """Return the best evaluated action; before the first a random row, or the middle of a box or a grid."""
        if self._rows is not None:
            return self._rows.recommend(self.rng)
        best = self._incumbent.best
        return self._point((self._low + self._high) / 2) if best is None else best[1]


class NearestCandidate(ExternalOptimizer):
    """Base class of optimizers of the unit cube.

    A coordinate is a hyperparameter, logarithmic where its scale is; the n values of a list are n equal parts of it.
    Where actions are rows, the package is told the coordinates of the row that stood for its suggestion.

    Subclasses write `suggest` and `learn`, and may draw from the global generators in both.

    Args:
        problem: A box, a grid or rows with features; one objective.
        seed: Of `self.rng`, and of what the package draws from.

    Attributes:
        size: Dimensions of the cube.

    Raises:
        ValueError: See `ExternalOptimizer`.
    """

    listens = False

    def __init__(self, problem: Problem, seed: int) -> None:
        super().__init__(problem, seed)
        self.size = len(self.space)
        self._generators = Generators(int(self.rng.integers(2**31)))

    @abc.abstractmethod
    def suggest(self) -> tuple[Any, Floats]:
        """Return the package's next suggestion and its position, (size,) float64 in [0, 1]."""

    @abc.abstractmethod
    def learn(self, suggestion: Any, action: Any, loss: float | None, info: Mapping[str, Any]) -> None:
        """Report the outcome of a suggestion: a loss, lower is better; None if its run failed."""

    def _suggestion(self) -> tuple[Any, Floats]:
        with self._generators.active():
            suggestion, place = self.suggest()
        place = np.clip(place, 0.0, 1.0)
        return suggestion, place if self._rows is not None else self._low + place * (self._high - self._low)

    def _point(self, point: Floats) -> Any:
        """The action of a box or a grid at a point.

        Where a worker has that point of a grid, it is the nearest of those next to it that no one has.
        """
        if not isinstance(self.problem.action_space, gym.spaces.MultiDiscrete):
            return super()._point(point)
        cell = np.minimum(np.floor(point), self._high - 1)
        if not self.asked.has(action := super()._point(cell)):
            return action
        axes = np.arange(self.size).repeat(self._high.astype(int))
        beside = np.repeat(cell[None], len(axes), axis=0)
        beside[np.arange(len(axes)), axes] = np.concatenate([np.arange(count) for count in self._high])
        nearest = np.square((beside + 0.5 - point) / self._high).sum(axis=1).argsort(kind="stable")
        return next((a for a in map(super()._point, beside[nearest]) if not self.asked.has(a)), action)

    def _report(self, suggestion: Any, action: Any, reward: Any, info: Mapping[str, Any]) -> None:
        if suggestion is not None:
            with self._generators.active():
                self.learn(suggestion, action, None if lost(info) else -float(np.sum(reward)), info)

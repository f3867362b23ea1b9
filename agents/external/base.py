"""Base class of optimizers of other packages: pending suggestions, and the action evaluated for each of them."""

import abc
import math
from collections.abc import Mapping
from typing import Any

import gymnasium as gym
import numpy as np
import numpy.typing as npt

from hpo_envs.agents.base import Agent, Incumbent
from hpo_envs.agents.candidates import Candidates
from hpo_envs.agents.external.lookup import look_up
from hpo_envs.agents.external.packages import Generators
from hpo_envs.agents.models import Floats
from hpo_envs.agents.problem import Axis, Problem, Space


class ExternalOptimizer(Agent):
    """Base class of optimizers of other packages.

    They suggest configurations of the problem's own space: categories, ordered values, integers, logarithms and
    conditions, as far as the package supports them. On a box or a grid the suggestion itself is evaluated. If actions
    are rows, a candidate chosen by `look_up` is evaluated instead. With (row, checkpoint) pairs, rows are
    trained to the end unless `level` is overridden. For candidates without hyperparameters, the features are the space.

    Subclasses implement `suggest` and `learn`. The methods that they override may draw from the global generators,
    whose states are then those of this agent.

    Args:
        problem: A box, a grid or rows with features.
        seed: Seed of `self.rng` and of the package's generators.

    Attributes:
        spaces: Supported types of action spaces.
        several: Whether there may be several objectives.
        quiet: Whether warnings of the package are ignored.
        planned: Number of evaluations that a package plans for: the budget; 100 without one in evaluations.
        space: The search space.

    Raises:
        ValueError: The space is of another type, rows have neither hyperparameters nor features, or there are several
            objectives and the agent supports one.
    """

    parallel = True
    listens = False
    spaces: tuple[type, ...] = (gym.spaces.Box, gym.spaces.MultiDiscrete, gym.spaces.Discrete)
    several = False
    quiet = False
    _rows: Any = None

    def __init__(self, problem: Problem, seed: int) -> None:
        super().__init__(problem, seed)
        space: Any = problem.action_space
        if not issubclass(type(space), self.spaces):
            kinds = ", ".join(s.__name__ for s in self.spaces)
            raise ValueError(f"action_space must be a {kinds} for this agent, got {space}")
        if problem.objectives != 1 and not self.several:
            raise ValueError(f"objectives must be 1 for this agent, got {problem.objectives}")
        evaluations = problem.unit == "evaluations" and math.isfinite(problem.budget or math.inf)
        self.planned = int(problem.budget or 0) if evaluations else 100
        self._pending: dict[str, list[Any]] = {}  # suggestions, the oldest first, by action
        self._incumbent = Incumbent(problem.objectives)
        self._generators = Generators(seed, self.quiet)
        axes: Any = problem.axes
        self._grid = isinstance(space, gym.spaces.MultiDiscrete) and problem.levels is None
        if self._grid:
            counts = space.nvec.ravel()
            axes = axes or [Axis(tuple(((np.arange(n) + 0.5) / n).tolist())) for n in counts]
            self._low, self._high = np.zeros(counts.size), counts.astype(np.float64)
        elif isinstance(space, gym.spaces.Box):
            self._low, self._high = (np.float64(end).ravel() for end in (space.low, space.high))
        if self.lists(problem):
            self._incumbent = self._rows = Candidates(problem)
            if self._grid:
                points: Any = (np.indices(space.nvec).reshape(counts.size, -1).T + 0.5) / counts
            elif axes:
                points = problem.candidates
            else:
                x = self._rows.varying
                self._low, self._high = x.min(axis=0), x.max(axis=0)
                points = (x - self._low) / (self._high - self._low)
            self._points: Floats = points
        self.space = Space(axes or [Axis(low=a, high=b) for a, b in zip(self._low, self._high, strict=True)])

    @staticmethod
    def lists(problem: Problem) -> bool:
        """Return whether actions are listed candidates: rows, or pairs of a row and a checkpoint."""
        return problem.levels is not None or isinstance(problem.action_space, gym.spaces.Discrete)

    @abc.abstractmethod
    def suggest(self) -> tuple[Any, Mapping[str, Any]]:
        """Return the package's next suggestion, and its configuration: natural values by hyperparameter."""

    @abc.abstractmethod
    def learn(self, suggestion: Any, action: Any, reward: Any, info: Mapping[str, Any]) -> None:
        """Report an outcome to the package; `suggestion` is the result of `adopt`, None for an unsuggested action."""

    def adopt(self, suggestion: Any, action: Any) -> Any:
        """Return what `learn` needs to report the outcome of the action of a suggestion; by default, the suggestion."""
        return suggestion

    def level(self, row: int, suggestion: Any) -> int | None:
        """Return the index of the checkpoint that the row of a suggestion is trained to; None (default): the last."""
        return None

    def row(self, suggestion: Any, point: Any) -> int:
        """Return the row evaluated for a suggestion at a (d,) point, chosen by `look_up` among the rows of `open`."""
        return look_up(self.space, point, self._points, self.open(), self.rng)

    def open(self) -> npt.NDArray[np.bool_]:
        """Return the (rows,) mask of rows that a new suggestion may use, by default those tried least often."""
        return np.asarray(self._rows.free)

    def config(self, action: Any) -> dict[str, Any]:
        """Return the natural values, by name, of the active hyperparameters of an action."""
        return self.space.config(self.coordinates(action))

    def coordinates(self, action: Any) -> Floats:
        """Return the (d,) coordinates of an action on the axes of `space`, in [0, 1]."""
        if self._rows is not None and not self._grid:
            return np.asarray(self._points[self._rows.row(action)])
        return np.asarray((np.float64(action).ravel() + 0.5 * self._grid - self._low) / (self._high - self._low))

    def ask(self) -> Any:
        """Return the action evaluated for the package's next suggestion."""
        with self._generators.active():
            suggestion, config = self.suggest()
            point = self._point(config)
            if self._rows is None:
                action = self._action(point)
            else:
                row = self.row(suggestion, point)
                action = self._rows.submit(row, self.level(row, suggestion))
            self.wait_for(action, self.adopt(suggestion, action))
        return action

    def wait_for(self, action: Any, suggestion: Any) -> None:
        """Record an action as pending, with its suggestion; outcomes may arrive in any order."""
        self._pending.setdefault(_key(action), []).append(suggestion)

    def _point(self, config: Mapping[str, Any]) -> Floats:
        """Return the (d,) coordinates of a suggested configuration."""
        plain = {name: v.item() if isinstance(v, np.generic) else v for name, v in config.items()}
        try:
            return self.space.point(plain)
        except ValueError as error:
            package = type(self).__module__.removeprefix("hpo_envs.agents.external.").partition(".")[0]
            raise ValueError(f"{package} suggested a configuration outside the space: {error}") from None

    def _action(self, point: Floats) -> Any:
        """Return the action of a box or a grid at a (d,) point."""
        space, place = self.problem.action_space, self._low + point * (self._high - self._low)
        place = np.minimum(np.floor(place), self._high - 1) if self._grid else place
        return place.astype(space.dtype).reshape(space.shape)

    def tell(self, action: Any, reward: Any, info: Mapping[str, Any]) -> None:
        """Report the outcome of an evaluation to the package; of an unsuggested action only if the agent `listens`."""
        if self._incumbent.note(action, reward, info):
            waiting = self._pending.get(_key(action))
            suggestion = waiting.pop(0) if waiting else None
            if suggestion is not None or self.listens:
                with self._generators.active():
                    self.learn(suggestion, action, reward, info)

    def recommend(self) -> Any:
        """Return the best evaluated action; before any evaluation, a random row or the middle of a box or grid."""
        if self._rows is not None:
            return self._rows.recommend(self.rng)
        best = self._incumbent.best
        return self._action(np.full(len(self.space), 0.5)) if best is None else best[1]


def _key(action: Any) -> str:
    return str(np.asarray(action).tolist())

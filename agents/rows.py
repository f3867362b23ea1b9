"""What agents that choose among rows share: actions with and without a checkpoint, features, and the best so far."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import gymnasium as gym
import numpy as np
import numpy.typing as npt

from hpo_envs.agents.problem import Problem

Floats = npt.NDArray[np.float64]

LOST = ("failed", "diverged")
"""Statuses of runs whose reward is a stand-in; models of the reward do not learn from them."""


class Rows:
    """The rows of a problem, and the best of them so far.

    Args:
        problem: Actions are rows (`Discrete`) or (row, checkpoint) pairs (`MultiDiscrete` with `levels`).
        resource: Checkpoint that a full training means, in units of the first one (epochs where every epoch is a
            checkpoint); None = the last.

    Raises:
        ValueError: Actions of another kind, or a resource that is not positive.
    """

    def __init__(self, problem: Problem, resource: float | None = None) -> None:
        space = problem.action_space
        self.pairs = problem.levels is not None and isinstance(space, gym.spaces.MultiDiscrete)
        if not self.pairs and not isinstance(space, gym.spaces.Discrete):
            raise ValueError(f"action_space must be Discrete rows or (row, level) pairs, got {space}")
        self.count = int(space.nvec[0]) if self.pairs else int(space.n)  # type: ignore[attr-defined]
        self.levels = np.asarray(problem.levels if self.pairs else [1.0], dtype=np.float64)
        self.top = len(self.levels) - 1 if resource is None else self.level_of(resource)
        self.best: tuple[float, Any] | None = None
        self.tried = np.zeros(self.count, bool)

    @property
    def maximum(self) -> float:
        """The resource of the last checkpoint, in units of the first one."""
        return float(self.levels[-1] / self.levels[0])

    def level_of(self, resource: float) -> int:
        """Index of the last checkpoint that a resource, in units of the first one, pays for; at least 0."""
        if not resource > 0:
            raise ValueError(f"resource must be > 0, got {resource!r}")
        paid = resource * self.levels[0] * (1 + 1e-9)
        return max(int(np.searchsorted(self.levels, paid, side="right")) - 1, 0)

    def action(self, row: int, level: int | None = None) -> Any:
        """The action that trains a row, to `top` unless said otherwise."""
        return np.array([row, self.top if level is None else level]) if self.pairs else int(row)

    def row(self, action: Any) -> int:
        """The row of an action."""
        return int(np.asarray(action).reshape(-1)[0])

    def note(self, action: Any, reward: Any, info: Mapping[str, Any]) -> bool:
        """Remembers the best action; returns False for a step that evaluated nothing."""
        if not info.get("finished", True):
            return False
        self.tried[self.row(action)] = True
        score = float(np.sum(reward))
        if self.best is None or score > self.best[0]:
            self.best = score, action
        return True

    def nearest(self, distances: Floats, fresh: bool) -> int:
        """The row with the smallest distance; with `fresh`, among those that were not tried, if any are left."""
        if fresh and not self.tried.all():
            distances = np.where(self.tried, np.inf, distances)
        return int(np.argmin(distances))


def features_of(problem: Problem, prefix: str | tuple[str, ...] = "", count: int | None = None) -> Floats:
    """(rows, d) features whose names start with `prefix`, at most `count` of them.

    Raises:
        ValueError: The problem has no such features.
    """
    prefixes = (prefix,) if isinstance(prefix, str) else tuple(prefix)
    names = problem.feature_names
    if problem.features is None:
        raise ValueError("features must be known for this agent, got a problem without")
    every = names or ("",) * problem.features.shape[1]
    chosen = [j for j, name in enumerate(every) if name.startswith(prefixes)]
    if not chosen:
        raise ValueError(f"features must start the name of a feature, one of {', '.join(names)}, got {prefix!r}")
    return problem.features[:, chosen[:count]]


def standardised(x: Floats) -> Floats:
    """Columns with mean 0 and standard deviation 1 over the rows; constant columns become 0."""
    deviation = x.std(axis=0)
    return (x - x.mean(axis=0)) / np.where(deviation > 0, deviation, 1.0)

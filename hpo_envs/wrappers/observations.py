"""State of observation wrappers, on arrays of n episodes; the scalar wrappers use n = 1."""

from __future__ import annotations

import abc
from typing import Any

import gymnasium as gym
import numpy as np
import numpy.typing as npt
from gymnasium.spaces import Box, Discrete

from hpo_envs.core.params import kind_of, whole_table

Observations = npt.NDArray[np.float32]
Indices = npt.NDArray[np.intp]


class Memory(abc.ABC):
    """State and rule of an observation wrapper.

    Attributes:
        space: Space of one new observation.
    """

    space: Box

    @abc.abstractmethod
    def start(self, index: Indices, observations: Observations) -> None:
        """Start fresh episodes at `index` (k,) whose first observations are (k, d)."""

    @abc.abstractmethod
    def add(self, observations: Observations, actions: npt.NDArray[Any], evaluated: npt.NDArray[np.bool_]) -> None:
        """Take the observations (n, d) that followed the actions (n, ...)."""

    @abc.abstractmethod
    def observe(self) -> Observations:
        """The new observations, a fresh array."""


class History(Memory):
    """The last `length` observations, newest last."""

    def __init__(self, n: int, env: Any, observation: gym.Space[Any], action: gym.Space[Any], length: int) -> None:
        if isinstance(length, bool) or not isinstance(length, int) or length < 1:
            raise ValueError(f"length must be an int >= 1, got {length!r}")
        if not isinstance(observation, Box) or len(observation.shape) != 1:
            raise ValueError(f"observation_space must be a flat Box for this wrapper, got {observation}")
        low, high = np.minimum(observation.low, 0.0), np.maximum(observation.high, 0.0)
        self.space = Box(np.tile(low, (length, 1)), np.tile(high, (length, 1)), dtype=np.float32)
        self._past = np.zeros((n, length, *observation.shape), np.float32)

    def start(self, index: Indices, observations: Observations) -> None:
        """Reset the history."""
        self._past[index] = 0.0
        self._past[index, -1] = observations

    def add(self, observations: Observations, actions: npt.NDArray[Any], evaluated: npt.NDArray[np.bool_]) -> None:
        """Move the past up by one."""
        self._past[:, :-1] = self._past[:, 1:]
        self._past[:, -1] = observations

    def observe(self) -> Observations:
        """(n, length, d)."""
        return self._past.copy()


class Candidates(Memory):
    """Every candidate: features, whether evaluated, reward, best reward, budget left.

    Relies on the layout of look-up observations with one objective: features | reward | cost | best | budget left.
    """

    def __init__(self, n: int, env: Any, observation: gym.Space[Any], action: gym.Space[Any]) -> None:
        base = env.unwrapped
        if not (isinstance(action, Discrete) and kind_of(env) == "rows" and len(base.objectives) == 1):
            raise ValueError(f"env must look one objective up, a row per action, for this wrapper, got {base}")
        whole_table(env)
        assert isinstance(observation, Box)
        features = base.tables[0].features
        rows, self._d = features.shape
        best_low, best_high = float(observation.low[-2]), float(observation.high[-2])
        low = np.concatenate([np.zeros(self._d + 1), [min(best_low, 0.0), best_low, 0.0]])
        high = np.concatenate([np.ones(self._d + 1), [max(best_high, 0.0), best_high, 1.0]])
        self.space = Box(
            np.tile(low, (rows, 1)).astype(np.float32), np.tile(high, (rows, 1)).astype(np.float32), dtype=np.float32
        )
        self._known = np.zeros((n, rows, self._d + 4), np.float32)
        self._known[:, :, : self._d] = features
        self._index = np.arange(n)

    def start(self, index: Indices, observations: Observations) -> None:
        """Reset the evaluated configurations."""
        self._known[index, :, self._d : self._d + 2] = 0.0
        self._known[index, :, -2:] = observations[:, None, -2:]

    def add(self, observations: Observations, actions: npt.NDArray[Any], evaluated: npt.NDArray[np.bool_]) -> None:
        """Write the reward of the evaluated row."""
        at = self._index[evaluated]
        row = np.asarray(actions, dtype=np.intp)[evaluated]
        self._known[at, row, self._d] = 1.0
        self._known[at, row, self._d + 1] = observations[evaluated, self._d]
        self._known[:, :, -2:] = observations[:, None, -2:]

    def observe(self) -> Observations:
        """(n, rows, d + 4)."""
        return self._known.copy()

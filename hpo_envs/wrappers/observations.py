"""State of observation wrappers, on arrays of n episodes; the scalar wrappers use n = 1."""

from __future__ import annotations

import abc
from typing import Any

import gymnasium as gym
import numpy as np
import numpy.typing as npt
from gymnasium.spaces import Box

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

"""The last observations as one."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import numpy.typing as npt
from gymnasium.spaces import Box
from gymnasium.utils import RecordConstructorArgs
from gymnasium.vector import VectorEnv
from gymnasium.vector.utils import batch_space

from hpo_envs.wrappers.episodes import EpisodesWrapper


def _space(observation: gym.Space[Any], length: int) -> Box:
    """The space of `length` observations."""
    if isinstance(length, bool) or not isinstance(length, int) or length < 1:
        raise ValueError(f"length must be an int >= 1, got {length!r}")
    if not isinstance(observation, Box) or len(observation.shape) != 1:
        raise ValueError(f"observation_space must be a flat Box for this wrapper, got {observation}")
    low, high = np.minimum(observation.low, 0.0), np.maximum(observation.high, 0.0)
    return Box(np.tile(low, (length, 1)), np.tile(high, (length, 1)), dtype=np.float32)


class HistoryObservation(gym.Wrapper[Any, Any, Any, Any], RecordConstructorArgs):
    """Observes the last k observations, newest last, zeros before the first: (k, d) float32.

    Args:
        env: Any environment of the suite.
        length: k, >= 1.
    """

    def __init__(self, env: gym.Env[Any, Any], length: int) -> None:
        RecordConstructorArgs.__init__(self, length=length)
        super().__init__(env)
        self.observation_space = _space(env.observation_space, length)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Start an episode, with zeros for what was before it."""
        observation, info = self.env.reset(seed=seed, options=options)
        self._past = np.zeros(self.observation_space.shape or (), np.float32)
        self._past[-1] = observation
        return self._past.copy(), info

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        """Perform one evaluation."""
        observation, *out = self.env.step(action)
        self._past = np.concatenate([self._past[1:], observation[None]])
        return (self._past.copy(), *out)  # type: ignore[return-value]


class VectorHistoryObservation(EpisodesWrapper, RecordConstructorArgs):
    """See `hpo_envs.wrappers.HistoryObservation`."""

    def __init__(self, env: VectorEnv[Any, Any, Any], length: int) -> None:
        RecordConstructorArgs.__init__(self, length=length)
        super().__init__(env)
        self.single_observation_space = _space(env.single_observation_space, length)
        self.observation_space = batch_space(self.single_observation_space, env.num_envs)
        self._past = np.zeros(self.observation_space.shape or (), np.float32)

    def _begin(self, index: npt.NDArray[np.intp], observation: Any, info: dict[str, Any]) -> Any:
        self._past[index] = 0.0
        self._past[index, -1] = observation[index]
        return self._past.copy()

    def _take(self, observation: Any, reward: Any, evaluated: npt.NDArray[np.bool_], info: dict[str, Any]) -> Any:
        self._past[:, :-1] = self._past[:, 1:]
        self._past[:, -1] = observation
        for i in np.flatnonzero(info.get("_final_obs", ())):
            self._past[i, -1] = info["final_obs"][i]
            info["final_obs"][i] = self._past[i].copy()
        return reward

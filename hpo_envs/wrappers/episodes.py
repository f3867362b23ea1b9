"""Base of the vectorized wrappers with a state for each episode."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium.vector import AutoresetMode, VectorEnv, VectorWrapper


class EpisodesWrapper(VectorWrapper):
    """Calls its subclass where episodes begin, and where they continue."""

    def __init__(self, env: VectorEnv[Any, Any, Any]) -> None:
        super().__init__(env)
        self._same_step = env.metadata.get("autoreset_mode") is AutoresetMode.SAME_STEP
        self._ended = np.zeros(env.num_envs, bool)

    def reset(self, *, seed: Any = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Start fresh episodes."""
        mask = (options or {}).get("reset_mask")
        observation, info = self.env.reset(seed=seed, options=options)
        index = np.arange(self.num_envs) if mask is None else np.flatnonzero(mask)
        self._ended[index] = False
        return self._begin(index, observation, info), info

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        """Perform one evaluation in every environment."""
        observation, reward, terminated, truncated, info = self.env.step(actions)
        done = terminated | truncated
        fresh = np.zeros(self.num_envs, bool) if self._same_step else self._ended
        evaluated = ~fresh
        if "finished" in info:
            evaluated = evaluated & (info["finished"].astype(bool) | ~info["_finished"])
        reward = self._take(observation, reward, evaluated, info)
        starts = np.flatnonzero(done if self._same_step else fresh)
        observation = self._begin(starts, observation, info)
        self._ended = np.zeros(self.num_envs, bool) if self._same_step else done.copy()
        return observation, reward, terminated, truncated, info

    def _begin(self, index: npt.NDArray[np.intp], observation: Any, info: dict[str, Any]) -> Any:
        """Start fresh episodes at `index` (k,); return the observations."""
        raise NotImplementedError

    def _take(self, observation: Any, reward: Any, evaluated: npt.NDArray[np.bool_], info: dict[str, Any]) -> Any:
        """Take what a step returned, before fresh episodes begin; return the rewards."""
        raise NotImplementedError

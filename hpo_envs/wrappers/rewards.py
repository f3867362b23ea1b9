"""Bases of the wrappers of rewards: a rule on arrays of n episodes, and its two forms."""

from __future__ import annotations

import abc
from collections.abc import Callable
from typing import Any, ClassVar

import gymnasium as gym
import numpy as np
import numpy.typing as npt
from gymnasium.utils import RecordConstructorArgs
from gymnasium.vector import VectorEnv

from hpo_envs.wrappers.episodes import EpisodesWrapper

Floats = npt.NDArray[np.float64]
Indices = npt.NDArray[np.intp]


class RewardRule(abc.ABC):
    """State and rule of a wrapper of rewards, made of the number of episodes, the environment and its arguments."""

    def start(self, index: Indices, tables: npt.NDArray[Any]) -> None:  # noqa: B027 (a rule may have no state)
        """Start fresh episodes at `index` (k,) on the tables named in `tables` (k,)."""

    @abc.abstractmethod
    def __call__(self, reward: Floats, cost: Floats, evaluated: npt.NDArray[np.bool_]) -> Floats:
        """The new reward.

        Args:
            reward: (n,) reward of the environment.
            cost: (n,) cost of the evaluation.
            evaluated: (n,) bool, False where this step was no evaluation; there the result is 0.
        """


class RewardWrapper(gym.Wrapper[Any, Any, Any, Any], RecordConstructorArgs):
    """Scalar form: the rule on a batch of one."""

    rule: ClassVar[Callable[..., RewardRule]]

    def __init__(self, env: gym.Env[Any, Any], **kwargs: Any) -> None:
        RecordConstructorArgs.__init__(self, **kwargs)
        super().__init__(env)
        self._rule = self.rule(1, env, **kwargs)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Start an episode."""
        observation, info = self.env.reset(seed=seed, options=options)
        self._rule.start(np.zeros(1, np.intp), np.array([info["table"]], dtype=object))
        return observation, info

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        """Perform one evaluation."""
        observation, reward, terminated, truncated, info = self.env.step(action)
        cost, evaluated = np.array([info["cost"]]), np.array([info.get("finished", True)])
        new = self._rule(np.array([reward], dtype=np.float64), cost, evaluated)
        return observation, float(new[0]), terminated, truncated, info


class VectorRewardWrapper(EpisodesWrapper):
    """Vectorized form."""

    rule: ClassVar[Callable[..., RewardRule]]

    def __init__(self, env: VectorEnv[Any, Any, Any], *args: Any, **kwargs: Any) -> None:
        super().__init__(env)
        self._rule = self.rule(env.num_envs, env, *args, **kwargs)

    def _begin(self, index: Indices, observation: Any, info: dict[str, Any]) -> Any:
        if len(index):
            self._rule.start(index, info["table"][index])
        return observation

    def _take(self, observation: Any, reward: Any, evaluated: npt.NDArray[np.bool_], info: dict[str, Any]) -> Any:
        # An array would be missing only if every episode was restarted in this step.
        cost = np.zeros(self.num_envs) if "cost" not in info else info["cost"]
        if "final_info" in info:
            cost = np.where(info["_final_info"], info["final_info"]["cost"], cost)
        return self._rule(np.asarray(reward, dtype=np.float64), cost, evaluated)

"""Wrappers of batched environments, under the same names as the scalar ones.

They follow the environment's autoreset mode: a new episode starts with fresh state, whether it begins in the step
that ended the old one (SAME_STEP) or in the next (NEXT_STEP).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from gymnasium.utils import RecordConstructorArgs
from gymnasium.vector import AutoresetMode, VectorEnv, VectorWrapper
from gymnasium.vector.utils import batch_space

from hpo_envs.core.infos import MaskedInfo
from hpo_envs.core.params import unmasked
from hpo_envs.wrappers import actions, observations, rewards
from hpo_envs.wrappers.candidates import VectorCandidateObservation as CandidateObservation  # noqa: F401

Bools = npt.NDArray[np.bool_]


class _Episodes(VectorWrapper):
    """Knows which episodes a step belongs to."""

    def __init__(self, env: VectorEnv[Any, Any, Any]) -> None:
        super().__init__(env)
        self._same_step = env.metadata.get("autoreset_mode") is AutoresetMode.SAME_STEP
        self._ended = np.zeros(env.num_envs, bool)

    def reset(self, *, seed: Any = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        mask = (options or {}).get("reset_mask")
        observation, info = self.env.reset(seed=seed, options=options)
        index = np.arange(self.num_envs) if mask is None else np.flatnonzero(mask)
        self._ended[index] = False
        return self._begin(index, observation, info), info

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        observation, reward, terminated, truncated, info = self.env.step(actions)
        done = terminated | truncated
        fresh = np.zeros(self.num_envs, bool) if self._same_step else self._ended
        evaluated = ~fresh
        if "finished" in info:
            evaluated = evaluated & (info["finished"].astype(bool) | ~info["_finished"])
        reward = self._take(observation, reward, actions, evaluated, info)
        starts = np.flatnonzero(done if self._same_step else fresh)
        if self._same_step and len(starts):
            self._keep_last(starts, info)
        observation = self._begin(starts, observation, info)
        self._ended = np.zeros(self.num_envs, bool) if self._same_step else done.copy()
        return observation, reward, terminated, truncated, info

    def _begin(self, index: Any, observation: Any, info: dict[str, Any]) -> Any:
        return observation

    def _take(self, observation: Any, reward: Any, actions: Any, evaluated: Bools, info: dict[str, Any]) -> Any:
        return reward

    def _keep_last(self, index: Any, info: dict[str, Any]) -> None: ...


class _RewardWrapper(_Episodes):
    transform: ClassVar[type[rewards.RewardTransform]]

    def __init__(self, env: VectorEnv[Any, Any, Any], *args: Any, **kwargs: Any) -> None:
        super().__init__(env)
        scales = rewards.scales_of(env) if self.transform.needs_scales else {}
        self._transform = self.transform(env.num_envs, scales, *args, **kwargs)

    def _begin(self, index: Any, observation: Any, info: dict[str, Any]) -> Any:
        if len(index):
            self._transform.start(index, info["table"][index])
        return observation

    def _take(self, observation: Any, reward: Any, actions: Any, evaluated: Bools, info: dict[str, Any]) -> Any:
        # An array would be missing only if every episode was restarted in this step.
        cost = np.zeros(self.num_envs) if "cost" not in info else info["cost"]
        if "final_info" in info:
            ended = info["_final_info"]
            cost = np.where(ended, info["final_info"]["cost"], cost)
        return self._transform(np.asarray(reward, dtype=np.float64), cost, evaluated)


class ImprovementReward(_RewardWrapper):
    """See `hpo_envs.wrappers.ImprovementReward`."""

    transform = rewards.Improvement


class NormalisedReward(_RewardWrapper):
    """See `hpo_envs.wrappers.NormalisedReward`."""

    transform = rewards.Normalised


class RegretReward(_RewardWrapper):
    """See `hpo_envs.wrappers.RegretReward`. Training only."""

    transform = rewards.Regret


class CostAwareReward(_RewardWrapper):
    """See `hpo_envs.wrappers.CostAwareReward`."""

    transform = rewards.CostAware


class _ObservationWrapper(_Episodes, RecordConstructorArgs):
    memory: ClassVar[Callable[..., observations.Memory]]

    def __init__(self, env: VectorEnv[Any, Any, Any], **kwargs: Any) -> None:
        RecordConstructorArgs.__init__(self, **kwargs)
        super().__init__(env)
        spaces = env.single_observation_space, env.single_action_space
        self._memory = self.memory(env.num_envs, env, *spaces, **kwargs)
        self.single_observation_space = self._memory.space
        self.observation_space = batch_space(self._memory.space, env.num_envs)

    def _begin(self, index: Any, observation: Any, info: dict[str, Any]) -> Any:
        if len(index):
            self._memory.start(index, observation[index])
        return self._memory.observe()

    def _take(self, observation: Any, reward: Any, actions: Any, evaluated: Bools, info: dict[str, Any]) -> Any:
        seen = observation
        if "final_obs" in info:
            seen = observation.copy()
            for i in np.flatnonzero(info["_final_obs"]):
                seen[i] = info["final_obs"][i]
        self._memory.add(seen, np.asarray(actions), evaluated)
        return reward

    def _keep_last(self, index: Any, info: dict[str, Any]) -> None:
        last = self._memory.observe()
        for i in index:
            info["final_obs"][i] = last[i]


class HistoryObservation(_ObservationWrapper):
    """See `hpo_envs.wrappers.HistoryObservation`."""

    memory = observations.History

    def __init__(self, env: VectorEnv[Any, Any, Any], length: int) -> None:
        super().__init__(env, length=length)


class _ActionWrapper(VectorWrapper):
    meaning: ClassVar[Callable[..., actions.ActionMap]]

    def __init__(self, env: VectorEnv[Any, Any, Any]) -> None:
        super().__init__(env)
        self._meaning = self.meaning(env, env.single_action_space)
        self.single_action_space = self._meaning.space
        self.action_space = batch_space(self._meaning.space, env.num_envs)

    def reset(self, *, seed: Any = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        observation, info = self.env.reset(seed=seed, options=options)
        return observation, self._masked(info)

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        given, noted = self._meaning.check(unmasked(actions), self.num_envs)
        *out, info = self.env.step(self._meaning.of(given))
        info = self._masked(info)
        nobody = np.zeros(self.num_envs, bool)
        for part in (info, self._masked(info.get("final_info", {}))):
            reported = part.get("_cost", nobody)  # who evaluated something
            for name, value in noted.items() if reported.any() else ():
                part[name], part["_" + name] = value & reported, reported
        return (*out, info)

    @property
    def action_masks(self) -> Callable[[], Any]:
        masks, change = self.env.unwrapped.action_masks, self._meaning.mask  # type: ignore[attr-defined]
        if change is None:
            raise AttributeError(f"action_masks: there is no useful mask of actions in {self.single_action_space}")
        return lambda: change(masks())

    def _masked(self, info: dict[str, Any]) -> dict[str, Any]:
        if isinstance(info, MaskedInfo):
            info.change_mask(self._meaning.mask)
        return info


class ContinuousAction(_ActionWrapper):
    """See `hpo_envs.wrappers.ContinuousAction`."""

    meaning = actions.NearestFeatures


class HyperparameterAction(_ActionWrapper):
    """See `hpo_envs.wrappers.HyperparameterAction`."""

    meaning = actions.NearestValues


class FlattenAction(_ActionWrapper):
    """See `hpo_envs.wrappers.FlattenAction`."""

    meaning = actions.Flat

"""Wrappers of scalar environments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import gymnasium as gym
import numpy as np
from gymnasium.utils import RecordConstructorArgs

from hpo_envs.core.params import unmasked
from hpo_envs.wrappers import actions, observations, rewards

_ONE = np.zeros(1, np.intp)


class _RewardWrapper(gym.Wrapper[Any, Any, Any, Any], RecordConstructorArgs):
    transform: ClassVar[type[rewards.RewardTransform]]

    def __init__(self, env: gym.Env[Any, Any], **kwargs: Any) -> None:
        RecordConstructorArgs.__init__(self, **kwargs)
        super().__init__(env)
        scales = rewards.scales_of(env) if self.transform.needs_scales else {}
        self._transform = self.transform(1, scales, **kwargs)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        observation, info = self.env.reset(seed=seed, options=options)
        self._transform.start(_ONE, np.array([info["table"]], dtype=object))
        return observation, info

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        observation, reward, terminated, truncated, info = self.env.step(action)
        cost, evaluated = np.array([info["cost"]]), np.array([info.get("finished", True)])
        new = self._transform(np.array([reward], dtype=np.float64), cost, evaluated)
        return observation, float(new[0]), terminated, truncated, info


class ImprovementReward(_RewardWrapper):
    """Rewards by how much an evaluation beats the best one before it.

    Args:
        env: An environment with one objective.
        baseline: What the first evaluation is compared with; None: with itself, so that it is worth 0.
    """

    transform = rewards.Improvement

    def __init__(self, env: gym.Env[Any, Any], baseline: float | None = None) -> None:
        super().__init__(env, baseline=baseline)


class NormalisedReward(_RewardWrapper):
    """Rewards the position between the worst (0) and the best (1) row of the episode's table.

    The scale is the table's own, which an agent in the field would not know: for training and for plots.
    """

    transform = rewards.Normalised


class RegretReward(_RewardWrapper):
    """Rewards minus the simple regret. Training only: it uses the optimum of the episode's table."""

    transform = rewards.Regret


class CostAwareReward(_RewardWrapper):
    """Subtracts a price for each unit of cost.

    Args:
        env: An environment with one objective.
        price: Reward that one unit of `env.unwrapped.cost_unit` is worth, >= 0.
    """

    transform = rewards.CostAware

    def __init__(self, env: gym.Env[Any, Any], price: float) -> None:
        super().__init__(env, price=price)


class _ObservationWrapper(gym.Wrapper[Any, Any, Any, Any], RecordConstructorArgs):
    memory: ClassVar[Callable[..., observations.Memory]]

    def __init__(self, env: gym.Env[Any, Any], **kwargs: Any) -> None:
        RecordConstructorArgs.__init__(self, **kwargs)
        super().__init__(env)
        self._memory = self.memory(1, env, env.observation_space, env.action_space, **kwargs)
        self.observation_space = self._memory.space

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        observation, info = self.env.reset(seed=seed, options=options)
        self._memory.start(_ONE, observation[None])
        return self._memory.observe()[0], info

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        observation, reward, terminated, truncated, info = self.env.step(action)
        evaluated = np.array([info.get("finished", True)])
        self._memory.add(observation[None], np.asarray(action)[None], evaluated)
        return self._memory.observe()[0], reward, terminated, truncated, info


class HistoryObservation(_ObservationWrapper):
    """Observes the last k observations, newest last, zeros before the first: (k, d) float32.

    Args:
        env: Any environment of the suite.
        length: k, >= 1.
    """

    memory = observations.History

    def __init__(self, env: gym.Env[Any, Any], length: int) -> None:
        super().__init__(env, length=length)


class _ActionWrapper(gym.Wrapper[Any, Any, Any, Any], RecordConstructorArgs):
    meaning: ClassVar[Callable[..., actions.ActionMap]]

    def __init__(self, env: gym.Env[Any, Any]) -> None:
        RecordConstructorArgs.__init__(self)
        super().__init__(env)
        self._meaning = self.meaning(env, env.action_space)
        self.action_space = self._meaning.space

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        observation, info = self.env.reset(seed=seed, options=options)
        return observation, self._masked(info)

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        given, noted = self._meaning.check([unmasked(action)], 1)
        meant = self._meaning.of(given)[0]
        *out, info = self.env.step(int(meant) if meant.ndim == 0 else meant)
        return (*out, self._masked(info) | {name: value[0] for name, value in noted.items()})

    def get_wrapper_attr(self, name: str) -> Any:
        # Masks below this wrapper are of other actions.
        return self.action_masks if name == "action_masks" else super().get_wrapper_attr(name)

    @property
    def action_masks(self) -> Callable[[], Any]:
        masks, change = self.env.get_wrapper_attr("action_masks"), self._meaning.mask
        if change is None:
            raise AttributeError(f"action_masks: there is no useful mask of actions in {self.action_space}")
        return lambda: change(masks()[None])[0]

    def _masked(self, info: dict[str, Any]) -> dict[str, Any]:
        mask, change = info.pop("action_mask", None), self._meaning.mask
        if mask is not None and change is not None:
            info["action_mask"] = change(mask[None])[0]
        return info


class ContinuousAction(_ActionWrapper):
    """Actions in [-1, 1]^d: the row whose features are nearest is evaluated; its values are in `info["config"]`.

    A number beyond a bound is set to the bound, and `info["clipped"]` says so.
    """

    meaning = actions.NearestFeatures


class HyperparameterAction(_ActionWrapper):
    """One index per hyperparameter (MultiDiscrete over the values in the table): the nearest row is evaluated.

    A combination that the table has is met exactly.
    """

    meaning = actions.NearestValues


class FlattenAction(_ActionWrapper):
    """One number (Discrete) for each combination of the parts of a MultiDiscrete action, the last varying fastest.

    For methods that know one discrete action, on ids whose actions are a row and a checkpoint, values of a grid, or
    batches of arms. A mask of the parts becomes one of the combinations, in which all parts must be useful.
    """

    meaning = actions.Flat

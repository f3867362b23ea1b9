"""Bases of the wrappers of actions: a map from actions of another space, on k actions at once, and its two forms."""

from __future__ import annotations

import abc
from collections.abc import Callable
from typing import Any, ClassVar

import gymnasium as gym
import numpy as np
import numpy.typing as npt
from gymnasium.spaces import Discrete
from gymnasium.utils import RecordConstructorArgs
from gymnasium.vector import VectorEnv, VectorWrapper
from gymnasium.vector.utils import batch_space

from hpo_envs.core.infos import MaskedInfo
from hpo_envs.core.params import kind_of, unmasked, whole_table

Rows = npt.NDArray[np.int64]
Given = tuple[npt.NDArray[Any], dict[str, npt.NDArray[Any]]]
"""(k, ...) actions, and what `info` says of each."""


class ActionMap(abc.ABC):
    """Map from actions of another space to those of an environment.

    Attributes:
        space: Space of one new action.
        mask: Makes the (k, n) mask of new actions of the (k, ...) one of the environment's; None: none is useful.
    """

    space: gym.Space[Any]
    mask: Callable[[npt.NDArray[Any]], npt.NDArray[Any]] | None = None

    @abc.abstractmethod
    def check(self, actions: Any, k: int) -> Given:
        """Validate k actions of the new space.

        Raises:
            ValueError: Others than that.
        """

    @abc.abstractmethod
    def of(self, actions: npt.NDArray[Any]) -> Rows:
        """(k, ...) actions of the environment that k checked ones mean."""

    def useful(self) -> Callable[[npt.NDArray[Any]], npt.NDArray[Any]]:
        """`mask`.

        Raises:
            AttributeError: There is none.
        """
        if self.mask is None:
            raise AttributeError(f"action_masks: there is no useful mask of actions in {self.space}")
        return self.mask


def table_of(env: Any, action: gym.Space[Any]) -> Any:
    """The table of an environment with a row per action.

    Raises:
        ValueError: Another environment.
    """
    base = env.unwrapped
    if not isinstance(action, Discrete) or kind_of(env) != "rows" or not base.tables[0].feature_names:
        raise ValueError(f"env must have a row per action, with features, for this wrapper, got {base}")
    whole_table(env)
    return base.tables[0]


class ActionWrapper(gym.Wrapper[Any, Any, Any, Any], RecordConstructorArgs):
    """Scalar form."""

    meaning: ClassVar[Callable[..., ActionMap]]

    def __init__(self, env: gym.Env[Any, Any]) -> None:
        RecordConstructorArgs.__init__(self)
        super().__init__(env)
        self._meaning = self.meaning(env, env.action_space)
        self.action_space = self._meaning.space

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Start an episode."""
        observation, info = self.env.reset(seed=seed, options=options)
        return observation, self._masked(info)

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        """Perform the evaluation that an action of the new space means."""
        given, noted = self._meaning.check([unmasked(action)], 1)
        meant = self._meaning.of(given)[0]
        *out, info = self.env.step(int(meant) if meant.ndim == 0 else meant)
        return (*out, self._masked(info) | {name: value[0] for name, value in noted.items()})

    def get_wrapper_attr(self, name: str) -> Any:
        """Masks below this wrapper are of other actions."""
        return self.action_masks if name == "action_masks" else super().get_wrapper_attr(name)

    @property
    def action_masks(self) -> Callable[[], Any]:
        """`action_masks()` of the new actions, where there is a useful one."""
        masks, change = self.env.get_wrapper_attr("action_masks"), self._meaning.useful()
        return lambda: change(masks()[None])[0]

    def _masked(self, info: dict[str, Any]) -> dict[str, Any]:
        mask, change = info.pop("action_mask", None), self._meaning.mask
        if mask is not None and change is not None:
            info["action_mask"] = change(mask[None])[0]
        return info


class VectorActionWrapper(VectorWrapper):
    """Vectorized form."""

    meaning: ClassVar[Callable[..., ActionMap]]

    def __init__(self, env: VectorEnv[Any, Any, Any]) -> None:
        super().__init__(env)
        self._meaning = self.meaning(env, env.single_action_space)
        self.single_action_space = self._meaning.space
        self.action_space = batch_space(self._meaning.space, env.num_envs)

    def reset(self, *, seed: Any = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Start fresh episodes."""
        observation, info = self.env.reset(seed=seed, options=options)
        return observation, self._masked(info)

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        """Perform the evaluations that actions of the new space mean."""
        given, noted = self._meaning.check(unmasked(actions), self.num_envs)
        *out, info = self.env.step(self._meaning.of(given))
        nobody = np.zeros(self.num_envs, bool)
        for part in (self._masked(info), self._masked(info.get("final_info", {}))):
            reported = part.get("_cost", nobody)  # who evaluated something
            for name, value in noted.items() if reported.any() else ():
                part[name], part["_" + name] = value & reported, reported
        return (*out, info)

    @property
    def action_masks(self) -> Callable[[], Any]:
        """`action_masks()` of the new actions, where there is a useful one."""
        masks, change = self.env.unwrapped.action_masks, self._meaning.useful()  # type: ignore[attr-defined]
        return lambda: change(masks())

    def _masked(self, info: dict[str, Any]) -> dict[str, Any]:
        if isinstance(info, MaskedInfo):
            info.change_mask(self._meaning.mask)
        return info

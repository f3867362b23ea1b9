"""Search spaces outside Gymnasium's boxes: actions as dicts of natural values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces

from hpo_envs.tables.table import Hyperparameter


class DictActions(gym.ActionWrapper[Any, Any, Any], gym.utils.RecordConstructorArgs):
    """Actions as dicts: one entry per hyperparameter, in natural terms instead of [-1, 1].

    A range of floats is a scalar `Box` in natural units; a hyperparameter with listed values, or an integer one, is a
    `Discrete` index into its values; a choice is a `Discrete` index into its choices. Hyperparameters that their
    parent's value leaves inactive are accepted and ignored. `natural` shows a dict action with the values themselves,
    `index` goes back.

    Args:
        env: An environment whose `unwrapped` has `action_of(config)` and one search space for all its episodes, such
            as `CharHPO-v0` made with `architecture=`.

    Raises:
        ValueError: Another environment, or one whose search space changes from episode to episode.
    """

    def __init__(self, env: gym.Env[Any, Any]) -> None:
        gym.utils.RecordConstructorArgs.__init__(self)
        super().__init__(env)
        inner: Any = env.unwrapped
        if not hasattr(inner, "action_of") or not getattr(inner.table, "space", ()):
            raise ValueError(f"env must take the values of hyperparameters as its action, got {env}")
        if not getattr(inner, "fixed", True):
            raise ValueError("env must have one search space: make it with architecture='lstm' or 'transformer'")
        self.hyperparameters: tuple[Hyperparameter, ...] = inner.table.space
        self.action_space = spaces.Dict({h.name: _space_of(h) for h in self.hyperparameters})

    def action(self, action: Mapping[str, Any]) -> Any:
        """The box action of a dict action.

        Raises:
            ValueError: The dict is not in the action space.
        """
        if not isinstance(action, Mapping) or action not in self.action_space:
            raise ValueError(f"action must be in {self.action_space}, got {action!r}")
        inner: Any = self.env.unwrapped
        return inner.action_of(self.natural(action))

    def natural(self, action: Mapping[str, Any]) -> dict[str, Any]:
        """Natural values of a dict action."""
        return {h.name: _natural(h, action[h.name]) for h in self.hyperparameters}

    def index(self, config: Mapping[str, Any]) -> dict[str, Any]:
        """The dict action of natural values, `info["config"]` included; inactive ones may be 0 or missing."""
        return {h.name: _index(h, config.get(h.name, 0)) for h in self.hyperparameters}


def _step(h: Hyperparameter) -> int:
    """Step of an integer range that lists no values: its low end (Table 2: 100, 200, ...)."""
    return int(h.low)


def _space_of(h: Hyperparameter) -> spaces.Space[Any]:
    if h.values:
        return spaces.Discrete(len(h.values))
    if h.kind == "int":
        return spaces.Discrete(int(h.high - h.low) // _step(h) + 1)
    return spaces.Box(h.low, h.high, (), np.float64)


def _natural(h: Hyperparameter, value: Any) -> Any:
    if h.values:
        return h.values[int(value)]
    return int(h.low) + _step(h) * int(value) if h.kind == "int" else float(value)


def _index(h: Hyperparameter, value: Any) -> Any:
    if h.values:
        return np.int64(h.values.index(value) if value in h.values else 0)
    if h.kind == "int":
        return np.int64(max(int(value) - int(h.low), 0) // _step(h))
    return np.array(value if h.low <= value <= h.high else h.low)

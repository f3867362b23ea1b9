"""Points of a box as actions: the nearest row is evaluated."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import numpy.typing as npt
from gymnasium.spaces import Box

from hpo_envs.core import boxes
from hpo_envs.wrappers.actions import ActionMap, ActionWrapper, Given, Rows, VectorActionWrapper, table_of


class _NearestFeatures(ActionMap):
    """[-1, 1]^d: the row whose features, in [0, 1], are nearest to (action + 1) / 2."""

    def __init__(self, env: Any, action: gym.Space[Any]) -> None:
        self._features = table_of(env, action).features
        self._squares = (self._features**2).sum(axis=1)
        self.space = Box(-1.0, 1.0, (self._features.shape[1],), np.float32)

    def check(self, actions: Any, k: int) -> Given:
        """Numbers; those beyond a bound are set to it."""
        points, clipped = boxes.clip(actions, (k, self._features.shape[1]), "actions")
        return points, {"clipped": clipped}

    def of(self, actions: npt.NDArray[Any]) -> Rows:
        """Nearest in Euclidean distance, the first of several."""
        x = (actions + 1.0) / 2.0
        # Row by row in the same order of summation, so that a batch says what single actions say.
        distance = self._squares - 2.0 * (x[:, None, :] * self._features[None]).sum(axis=2)
        out: Rows = distance.argmin(axis=1)
        return out


class ContinuousAction(ActionWrapper):
    """Actions in [-1, 1]^d: the row whose features are nearest is evaluated; its values are in `info["config"]`.

    A number beyond a bound is set to the bound, and `info["clipped"]` says so.
    """

    meaning = _NearestFeatures


class VectorContinuousAction(VectorActionWrapper):
    """See `hpo_envs.wrappers.ContinuousAction`."""

    meaning = _NearestFeatures

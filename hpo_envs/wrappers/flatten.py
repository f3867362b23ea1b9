"""One number for each combination of the parts of an action."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import numpy.typing as npt
from gymnasium.spaces import Discrete, MultiDiscrete

from hpo_envs.core.params import check_ints
from hpo_envs.wrappers.actions import ActionMap, ActionWrapper, Given, Rows, VectorActionWrapper


class _Flat(ActionMap):
    """One number for each combination of the parts of an action, the last part varying fastest."""

    def __init__(self, env: Any, action: gym.Space[Any]) -> None:
        if not isinstance(action, MultiDiscrete) or len(action.shape) != 1:
            raise ValueError(f"env must have actions of several parts (MultiDiscrete) for this wrapper, got {action}")
        self._sizes = tuple(action.nvec.tolist())
        self.space = Discrete(int(np.prod(action.nvec)))
        self.mask = self._combined

    def check(self, actions: Any, k: int) -> Given:
        """Ints."""
        return check_ints(actions, (k,), int(self.space.n)), {}  # type: ignore[attr-defined]

    def of(self, actions: npt.NDArray[Any]) -> Rows:
        """The parts."""
        return np.stack(np.unravel_index(actions, self._sizes), axis=-1).astype(np.int64)

    def _combined(self, masks: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """A combination is useful where all of its parts are."""
        whole = np.ones((len(masks), 1), masks.dtype)
        for part in np.split(masks, np.cumsum(self._sizes)[:-1], axis=1):
            whole = (whole[:, :, None] & part[:, None, :]).reshape(len(masks), -1)
        return whole


class FlattenAction(ActionWrapper):
    """One number (Discrete) for each combination of the parts of a MultiDiscrete action, the last varying fastest.

    For methods that know one discrete action, on ids whose actions are a row and a checkpoint, values of a grid, or
    batches of arms. A mask of the parts becomes one of the combinations, in which all parts must be useful.
    """

    meaning = _Flat


class VectorFlattenAction(VectorActionWrapper):
    """See `hpo_envs.wrappers.FlattenAction`."""

    meaning = _Flat

"""`FlattenAction`: one number for each combination of the parts of an action."""

import math
from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium.spaces import Discrete, MultiDiscrete

from hpo_envs.core.params import check_ints
from hpo_envs.wrappers.forms import Change, Rule, ScalarForm, space_of


class Flat(Rule):
    """Rule of `FlattenAction`: an index of a combination stands for its parts."""

    def __init__(self, env: Any, n: int) -> None:
        parts = space_of(env, "action")
        if not isinstance(parts, MultiDiscrete) or len(parts.shape) != 1:
            raise ValueError(f"env must have actions of several parts (MultiDiscrete) for this wrapper, got {parts}")
        self._n, self._sizes = n, tuple(parts.nvec.tolist())
        self._count = math.prod(self._sizes)
        if self._count > np.iinfo(np.int64).max:
            raise ValueError(f"actions must have fewer than 2^63 combinations for this wrapper, got {parts}")
        self.action_space = Discrete(self._count)

    def actions(self, given: Any) -> tuple[npt.NDArray[np.int64], dict[str, npt.NDArray[Any]]]:
        """Return (n, parts) int64 actions of the environment for (n,) indices of combinations, and an empty dict."""
        checked = check_ints(given, (self._n,), self._count)
        return np.stack(np.unravel_index(checked, self._sizes), axis=-1).astype(np.int64), {}

    def masking(self) -> Change:
        """Return a function from (n, sum of sizes) masks of parts to (n, combinations): 1 where all parts have a 1."""
        return self._combined

    def _combined(self, masks: npt.NDArray[Any]) -> npt.NDArray[Any]:
        whole = np.ones((len(masks), 1), masks.dtype)
        for part in np.split(masks, np.cumsum(self._sizes)[:-1], axis=1):
            whole = (whole[:, :, None] & part[:, None, :]).reshape(len(masks), -1)
        return whole


class FlattenAction(ScalarForm):
    """Wrapper with a `Discrete` action for each combination of `MultiDiscrete` parts, the last varying fastest.

    For methods that support only a single discrete action, on ids whose actions are a row and a checkpoint, values of a
    grid, or batches of arms. A combination is masked out if any of its parts is.

    Raises:
        ValueError: The environment's actions are not a flat `MultiDiscrete` with fewer than 2^63 combinations, or an
            action is outside the space.
    """

    rule_class = Flat

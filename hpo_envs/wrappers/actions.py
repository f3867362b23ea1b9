"""Action maps of wrappers."""

from __future__ import annotations

import abc
import itertools
from collections.abc import Callable
from typing import Any

import gymnasium as gym
import numpy as np
import numpy.typing as npt
from gymnasium.spaces import Box, Discrete, MultiDiscrete

from hpo_envs.core import boxes
from hpo_envs.core.params import check_ints, kind_of, whole_table

Rows = npt.NDArray[np.int64]
Given = tuple[npt.NDArray[Any], dict[str, npt.NDArray[Any]]]
"""(k, ...) actions, and what `info` says of each."""


def _table_of(env: Any, action: gym.Space[Any]) -> Any:
    base = env.unwrapped
    if not isinstance(action, Discrete) or kind_of(env) != "rows" or not base.tables[0].feature_names:
        raise ValueError(f"env must have a row per action, with features, for this wrapper, got {base}")
    whole_table(env)
    return base.tables[0]


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


class Flat(ActionMap):
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


class NearestFeatures(ActionMap):
    """[-1, 1]^d: the row whose features, in [0, 1], are nearest to (action + 1) / 2."""

    def __init__(self, env: Any, action: gym.Space[Any]) -> None:
        self._features = _table_of(env, action).features
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


class NearestValues(ActionMap):
    """One index per hyperparameter into its distinct values in the table."""

    def __init__(self, env: Any, action: gym.Space[Any]) -> None:
        table = _table_of(env, action)
        if not table.space:
            raise ValueError(f"table must have hyperparameters for this wrapper, got {table.name}")
        values = [np.unique(column) for column in table.configs.T]
        sizes = [len(v) for v in values]
        if np.prod([float(s) for s in sizes]) > 1e6:
            raise ValueError(f"hyperparameters must have at most 10^6 combinations, got {sizes}")
        self.space = MultiDiscrete(sizes)
        self._sizes = tuple(sizes)
        scaled = [h.scale(v) for h, v in zip(table.space, values, strict=True)]
        cells = np.array(list(itertools.product(*scaled)))
        own = np.column_stack([h.scale(c) for h, c in zip(table.space, table.configs.T, strict=True)])
        # In chunks: memory stays bounded whatever the grid. Without BLAS: it breaks ties by the processor.
        parts = []
        for chunk in np.array_split(cells, 1 + len(cells) // 4096):
            distance = np.zeros((len(chunk), len(own)))
            for x, y in zip(chunk.T, own.T, strict=True):
                distance += np.subtract.outer(x, y) ** 2
            parts.append(distance.argmin(axis=1))
        self._row = np.concatenate(parts)

    def check(self, actions: Any, k: int) -> Given:
        """Ints."""
        return check_ints(actions, (k, len(self._sizes)), [*self._sizes]), {}

    def of(self, actions: npt.NDArray[Any]) -> Rows:
        """Nearest on the hyperparameters' own scales."""
        out: Rows = self._row[np.ravel_multi_index(tuple(actions.T), self._sizes)]
        return out

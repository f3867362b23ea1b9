"""What action wrappers compute: the row of a table that is nearest to what was asked for."""

from __future__ import annotations

import abc
import itertools
from typing import Any

import gymnasium as gym
import numpy as np
import numpy.typing as npt
from gymnasium.spaces import Box, Discrete, MultiDiscrete

from hpo_envs.core.params import kind_of, whole_table

Rows = npt.NDArray[np.int64]


def _table_of(env: Any, action: gym.Space[Any]) -> Any:
    base = env.unwrapped
    if not isinstance(action, Discrete) or kind_of(env) != "rows" or not base.tables[0].feature_names:
        raise ValueError(f"env must have a row per action, with features, for this wrapper, got {base}")
    whole_table(env)
    return base.tables[0]


class Nearest(abc.ABC):
    """From actions of another space to rows.

    Attributes:
        space: Space of one new action.
    """

    space: gym.Space[Any]

    def __init__(self, env: Any, action: gym.Space[Any]) -> None:
        self._table = _table_of(env, action)

    def check(self, action: Any) -> npt.NDArray[Any]:
        """Validates one action.

        Raises:
            ValueError: It is outside the space.
        """
        array = np.asarray(action)
        if array.dtype.kind not in "iuf" or array not in self.space:
            # Box.contains insists on its dtype; numbers of another float width are fine.
            same = isinstance(self.space, Box) and array.dtype.kind in "iuf" and array.shape == self.space.shape
            if not (same and bool((np.abs(array) <= 1.0).all())):
                raise ValueError(f"action must be in {self.space}, got {action!r}")
        return array

    @abc.abstractmethod
    def rows(self, actions: npt.NDArray[Any]) -> Rows:
        """(k,) row that each of (k, d) actions means."""


class NearestFeatures(Nearest):
    """[-1, 1]^d: the row whose features, in [0, 1], are nearest to (action + 1) / 2."""

    def __init__(self, env: Any, action: gym.Space[Any]) -> None:
        super().__init__(env, action)
        self._features = self._table.features
        self._squares = (self._features**2).sum(axis=1)
        self.space = Box(-1.0, 1.0, (self._features.shape[1],), np.float32)

    def rows(self, actions: npt.NDArray[Any]) -> Rows:
        """Nearest in Euclidean distance, the first of several."""
        x = (np.asarray(actions, dtype=np.float64) + 1.0) / 2.0
        # Row by row in the same order of summation, so that a batch says what single actions say.
        distance = self._squares - 2.0 * (x[:, None, :] * self._features[None]).sum(axis=2)
        return distance.argmin(axis=1)


class NearestValues(Nearest):
    """One index per hyperparameter into its distinct values in the table."""

    def __init__(self, env: Any, action: gym.Space[Any]) -> None:
        super().__init__(env, action)
        table = self._table
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

    def rows(self, actions: npt.NDArray[Any]) -> Rows:
        """Nearest on the hyperparameters' own scales."""
        return self._row[np.ravel_multi_index(tuple(np.asarray(actions, dtype=np.intp).T), self._sizes)]

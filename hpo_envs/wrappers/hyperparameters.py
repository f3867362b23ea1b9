"""Values of hyperparameters as actions: the nearest row is evaluated."""

from __future__ import annotations

import itertools
from typing import Any

import gymnasium as gym
import numpy as np
import numpy.typing as npt
from gymnasium.spaces import MultiDiscrete

from hpo_envs.core.params import check_ints
from hpo_envs.wrappers.actions import ActionMap, ActionWrapper, Given, Rows, VectorActionWrapper, table_of


class _NearestValues(ActionMap):
    """One index per hyperparameter into its distinct values in the table."""

    def __init__(self, env: Any, action: gym.Space[Any]) -> None:
        table = table_of(env, action)
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


class HyperparameterAction(ActionWrapper):
    """One index per hyperparameter (MultiDiscrete over the values in the table): the nearest row is evaluated.

    A combination that the table has is met exactly.
    """

    meaning = _NearestValues


class VectorHyperparameterAction(VectorActionWrapper):
    """See `hpo_envs.wrappers.HyperparameterAction`."""

    meaning = _NearestValues

"""`HyperparameterAction`: values of hyperparameters as actions; the nearest row is evaluated."""

import itertools
from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium.spaces import MultiDiscrete

from hpo_envs.core.params import check_ints
from hpo_envs.wrappers.continuous import table_of
from hpo_envs.wrappers.forms import Rule, ScalarForm


class NearestValues(Rule):
    """Rule of `HyperparameterAction`: one index per hyperparameter into its sorted distinct values in the table."""

    def __init__(self, env: Any, n: int) -> None:
        table = table_of(env)
        if not table.space:
            raise ValueError(f"table must have hyperparameters for this wrapper, got {table.name}")
        values = [np.unique(column) for column in table.configs.T]
        self._n, self._sizes = n, tuple(len(v) for v in values)
        if np.prod([float(s) for s in self._sizes]) > 1e6:
            raise ValueError(f"hyperparameters must have at most 10^6 combinations, got {[*self._sizes]}")
        self.action_space = MultiDiscrete([*self._sizes])
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

    def actions(self, given: Any) -> tuple[npt.NDArray[np.int64], dict[str, npt.NDArray[Any]]]:
        """Return the (n,) nearest rows (Euclidean on the hyperparameters' scales; ties: first), and an empty dict."""
        checked = check_ints(given, (self._n, len(self._sizes)), [*self._sizes])
        return self._row[np.ravel_multi_index(tuple(checked.T), self._sizes)], {}

    def masking(self) -> None:
        """Return None, because masks of rows do not apply to combinations."""


class HyperparameterAction(ScalarForm):
    """Wrapper with one index per hyperparameter into its sorted values in the table; it evaluates the nearest row.

    A combination that is in the table selects its first row.

    Raises:
        ValueError: `ContinuousAction` rejects the environment, its table has no hyperparameters or their values have
            more than 10^6 combinations, or an action is not one index within bounds per hyperparameter.
    """

    rule_class = NearestValues

"""Other actions: points of a box, values of hyperparameters, one number for the parts of an action."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium.spaces import Box, Discrete, MultiDiscrete

from hpo_envs.core import boxes
from hpo_envs.core.params import check_ints, kind_of, whole_table
from hpo_envs.wrappers.forms import Change, Rule, ScalarForm, space_of


def table_of(env: Any) -> Any:
    """The table of an environment with a row per action.

    Raises:
        ValueError: Another environment.
    """
    base = env.unwrapped
    by_row = isinstance(space_of(env, "action"), Discrete) and kind_of(env) == "rows"
    if not by_row or not base.tables[0].feature_names:
        raise ValueError(f"env must have a row per action, with features, for this wrapper, got {base}")
    whole_table(env)
    return base.tables[0]


class NearestFeatures(Rule):
    """[-1, 1]^d: the row whose features, in [0, 1], are nearest to (action + 1) / 2."""

    def __init__(self, env: Any, n: int) -> None:
        self._n, self._features = n, table_of(env).features
        self._squares = (self._features**2).sum(axis=1)
        self.action_space = Box(-1.0, 1.0, (self._features.shape[1],), np.float32)

    def actions(self, given: Any) -> tuple[npt.NDArray[np.int64], dict[str, npt.NDArray[Any]]]:
        """Nearest in Euclidean distance, the first of several; numbers beyond a bound are set to it."""
        points, clipped = boxes.clip(given, (self._n, self._features.shape[1]), "actions")
        x = (points + 1.0) / 2.0
        # Row by row in the same order of summation, so that a batch says what single actions say.
        distance = self._squares - 2.0 * (x[:, None, :] * self._features[None]).sum(axis=2)
        return distance.argmin(axis=1), {"clipped": clipped}

    def masking(self) -> None:
        """A point stands for no row in particular."""


class ContinuousAction(ScalarForm):
    """Actions in [-1, 1]^d: the row whose features are nearest is evaluated; its values are in `info["config"]`.

    A number beyond a bound is set to the bound, and `info["clipped"]` says so.
    """

    rule_class = NearestFeatures


class NearestValues(Rule):
    """One index per hyperparameter into its distinct values in the table."""

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
        """Nearest on the hyperparameters' own scales."""
        checked = check_ints(given, (self._n, len(self._sizes)), [*self._sizes])
        return self._row[np.ravel_multi_index(tuple(checked.T), self._sizes)], {}

    def masking(self) -> None:
        """A combination stands for no row in particular."""


class HyperparameterAction(ScalarForm):
    """One index per hyperparameter (MultiDiscrete over the values in the table): the nearest row is evaluated.

    A combination that the table has is met exactly.
    """

    rule_class = NearestValues


class Flat(Rule):
    """One number for each combination of the parts of an action, the last part varying fastest."""

    def __init__(self, env: Any, n: int) -> None:
        parts = space_of(env, "action")
        if not isinstance(parts, MultiDiscrete) or len(parts.shape) != 1:
            raise ValueError(f"env must have actions of several parts (MultiDiscrete) for this wrapper, got {parts}")
        self._n, self._sizes = n, tuple(parts.nvec.tolist())
        self._count = int(np.prod(parts.nvec))
        self.action_space = Discrete(self._count)

    def actions(self, given: Any) -> tuple[npt.NDArray[np.int64], dict[str, npt.NDArray[Any]]]:
        """The parts."""
        checked = check_ints(given, (self._n,), self._count)
        return np.stack(np.unravel_index(checked, self._sizes), axis=-1).astype(np.int64), {}

    def masking(self) -> Change:
        """A combination is useful where all of its parts are."""
        return self._combined

    def _combined(self, masks: npt.NDArray[Any]) -> npt.NDArray[Any]:
        whole = np.ones((len(masks), 1), masks.dtype)
        for part in np.split(masks, np.cumsum(self._sizes)[:-1], axis=1):
            whole = (whole[:, :, None] & part[:, None, :]).reshape(len(masks), -1)
        return whole


class FlattenAction(ScalarForm):
    """One number (Discrete) for each combination of the parts of a MultiDiscrete action, the last varying fastest.

    For methods that know one discrete action, on ids whose actions are a row and a checkpoint, values of a grid, or
    batches of arms. A mask of the parts becomes one of the combinations, in which all parts must be useful.
    """

    rule_class = Flat

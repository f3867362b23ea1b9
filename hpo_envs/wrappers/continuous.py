"""`ContinuousAction`: points of a box as actions; the nearest row is evaluated."""

from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium.spaces import Box, Discrete

from hpo_envs.core.params import check_box, kind_of
from hpo_envs.wrappers.forms import Rule, ScalarForm, space_of


def table_of(env: Any) -> Any:
    """Return the first table of an environment whose actions are rows, the same configurations in all its tables.

    Raises:
        ValueError: Actions are not rows of a table with features, its tables have different configurations, or episodes
            shuffle or subsample the rows.
    """
    base = env.unwrapped
    by_row = isinstance(space_of(env, "action"), Discrete) and kind_of(env) == "rows"
    if not by_row or not base.tables[0].feature_names:
        raise ValueError(f"env must have a row per action, with features, for this wrapper, got {base}")
    first = base.tables[0]
    for t in base.tables[1:]:
        if not (np.array_equal(t.configs, first.configs) and np.array_equal(t.features, first.features)):
            raise ValueError(f"tables must have the same configurations for this wrapper, got {first.name}, {t.name}")
    if not base.params.view.whole:
        raise ValueError(f"shuffle and subsample must be left out for this wrapper, got {base.params.view}")
    return first


class NearestFeatures(Rule):
    """Rule of `ContinuousAction`: the row whose features, in [0, 1], are nearest to (action + 1) / 2."""

    def __init__(self, env: Any, n: int) -> None:
        self._n, self._features = n, table_of(env).features
        self._squares = (self._features**2).sum(axis=1)
        self.action_space = Box(-1.0, 1.0, (self._features.shape[1],), np.float32)

    def actions(self, given: Any) -> tuple[npt.NDArray[np.int64], dict[str, npt.NDArray[Any]]]:
        """Return (n,) rows nearest to the clipped actions (Euclidean; ties: the first), and (n,) flags `clipped`."""
        points, clipped = check_box(given, (self._n, self._features.shape[1]), "actions")
        x = (points + 1.0) / 2.0
        # Summed row by row in one order, so that a batch gives the same rows as single actions.
        distance = self._squares - 2.0 * (x[:, None, :] * self._features[None]).sum(axis=2)
        return distance.argmin(axis=1), {"clipped": clipped}

    def masking(self) -> None:
        """Return None, because masks of rows do not apply to points."""


class ContinuousAction(ScalarForm):
    """Wrapper with actions in [-1, 1]^d that evaluates the row with the nearest features, see `info["config"]`.

    A number beyond a bound is set to the bound, and `info["clipped"]` is True.

    Raises:
        ValueError: The environment does not have a row with features per action, its tables have different
            configurations, its episodes shuffle or subsample the rows, or an action is not d numbers without NaN.
    """

    rule_class = NearestFeatures

"""Observations of a source task (`Source`), and the features that it shares with a problem."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

from hpo_envs.agents.models import Floats
from hpo_envs.tables.checks import read_only


@dataclass(frozen=True, eq=False)
class Source:
    """Observations of another table. Arrays are read-only, and the order of the observations has no meaning.

    Attributes:
        name: Name of the table.
        features: (t, d) float64. A feature shared with the problem is on the problem's scale, so that values outside
            the problem's range are outside [0, 1].
        rewards: (t, objectives) float64, higher is better, in the table's unit.
        costs: (t,) float64, cost of each evaluation; of a full training if the table has curves.
        feature_names: Names of the columns of `features`; empty: the problem's columns.
        levels: (L,) resource of each checkpoint if the table has learning curves; else None.
        curves: (t, L, objectives) rewards at each checkpoint, NaN past a run's end; `rewards` has the last ones. None
            without learning curves.
        curve_costs: (t, L) cost of training up to each checkpoint; None without learning curves.

    Raises:
        ValueError: `features`, `rewards` and `costs` differ in length.
    """

    name: str
    features: Floats
    rewards: Floats
    costs: Floats
    feature_names: tuple[str, ...] = ()
    levels: Floats | None = None
    curves: Floats | None = None
    curve_costs: Floats | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "feature_names", tuple(self.feature_names))
        for name in ("features", "rewards", "costs", "levels", "curves", "curve_costs"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, read_only(getattr(self, name)))
        lengths = len(self.features), len(self.rewards), len(self.costs)
        if len(set(lengths)) > 1:
            raise ValueError(f"features, rewards and costs of a source must be equally long, got {lengths}")

    def shared(self, names: tuple[str, ...]) -> tuple[list[int], list[int]]:
        """Return the matching columns of this source's features and of the problem's features.

        Without `feature_names` both lists name all columns.

        Args:
            names: Names of the problem's features.
        """
        if not self.feature_names:
            every = list(range(self.features.shape[1]))
            return every, every
        both = [name for name in self.feature_names if name in names]
        return [self.feature_names.index(name) for name in both], [names.index(name) for name in both]

    def with_columns(self, columns: list[int], names: tuple[str, ...]) -> Source:
        """Return the source with only the features that a problem has.

        Args:
            columns: The columns to keep, if this source has no `feature_names`.
            names: Names of the features to keep, if it has.
        """
        if not self.feature_names:
            return dataclasses.replace(self, features=self.features[:, columns])
        kept = [name for name in self.feature_names if name in names]
        at = [self.feature_names.index(name) for name in kept]
        same = tuple(kept) == names
        return dataclasses.replace(self, features=self.features[:, at], feature_names=() if same else tuple(kept))

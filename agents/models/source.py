"""Observations of a source task (`Source`), and the features that it shares with a problem."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

from hpo_envs.agents.models import Floats
from hpo_envs.tables.checks import read_only


@dataclass(frozen=True, eq=False)
class Source:
    """Observations of another table or search. Arrays are read-only, and the order of the observations has no meaning.

    Attributes:
        name: Name of the table or search.
        features: (t, d) float64. Features shared with the problem are on its scale, and [0, 1] is the problem's range;
            for a box, [-1, 1].
        rewards: (t, objectives) float64, higher is better, in the table's units.
        costs: (t,) float64 cost of each evaluation; if the table has curves, of a full training.
        feature_names: Names of the columns of `features`; empty: the problem's columns.
        levels: (L,) resource of each checkpoint if the table has learning curves; else None.
        curves: (t, L, objectives) rewards at the checkpoints, NaN past a run's end; None without learning curves.
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
        """Return the columns of this source's features that are in `names`, and the indices of these names.

        Without `feature_names`, both are all columns of the source.
        """
        if not self.feature_names:
            every = list(range(self.features.shape[1]))
            return every, every
        both = [name for name in self.feature_names if name in names]
        return [self.feature_names.index(name) for name in both], [names.index(name) for name in both]

    def with_columns(self, columns: list[int], names: tuple[str, ...]) -> Source:
        """Return the source with only the features in `names`, or, without `feature_names`, only the given columns."""
        if not self.feature_names:
            return dataclasses.replace(self, features=self.features[:, columns])
        mine, theirs = self.shared(names)
        kept = tuple(names[j] for j in theirs)
        return dataclasses.replace(self, features=self.features[:, mine], feature_names=() if kept == names else kept)

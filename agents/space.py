"""`Axis` and `Space` of agents: coordinates in [0, 1], natural values, inactive hyperparameters, Gower distances."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from hpo_envs.agents.models import Floats

MIDDLE = 0.5
"""Coordinate of an inactive axis, so that points that differ only in inactive axes are one configuration."""


@dataclass(frozen=True)
class Axis:
    """One hyperparameter: a coordinate in [0, 1] and its natural values.

    Attributes:
        values: Coordinates of the distinct values, ascending; empty: any coordinate is a value.
        categorical: Whether the values have no order.
        parent: Index of an earlier axis that decides whether this one is active; -1: always active.
        when: Indices of the parent's values that activate it.
        others: Further parents, each with the indices of its values that activate this axis; all must.
        name: Name of the hyperparameter; empty: not known.
        choices: Natural values of a list, in the order of their coordinates, which divide [0, 1] into equal parts;
            empty: a range. Default: 0, 1, ... if there are `values`, except for a range of integers.
        low: Smallest natural value of a range.
        high: Largest natural value of a range.
        whole: Whether a range consists of integers, each with an interval around it.
        log: Whether coordinates are linear in the logarithms of natural values.
    """

    values: tuple[float, ...] = ()
    categorical: bool = False
    parent: int = -1
    when: tuple[int, ...] = ()
    others: tuple[tuple[int, tuple[int, ...]], ...] = ()
    name: str = ""
    choices: tuple[Any, ...] = ()
    low: float = 0.0
    high: float = 1.0
    whole: bool = False
    log: bool = False

    def __post_init__(self) -> None:
        for name in ("values", "when", "choices"):
            object.__setattr__(self, name, tuple(getattr(self, name)))
        object.__setattr__(self, "others", tuple((int(parent), tuple(when)) for parent, when in self.others))
        if self.values and not self.choices and not self.whole:
            object.__setattr__(self, "choices", tuple(range(len(self.values))))

    @property
    def kind(self) -> str:
        """`categorical`, `ordinal` (a list of ordered values), `integer` or `real`."""
        if self.choices:
            return "categorical" if self.categorical else "ordinal"
        return "integer" if self.whole else "real"

    @property
    def single(self) -> bool:
        """Whether the hyperparameter has only one value."""
        return len(self.choices) == 1 or (not self.choices and self.low == self.high)

    def natural(self, coordinate: float) -> Any:
        """The natural value of a coordinate."""
        if self.choices:
            return self.choices[min(int(coordinate * len(self.choices)), len(self.choices) - 1)]
        low, high = self._ends
        value = low + coordinate * (high - low)
        value = min(max(math.exp(value) if self.log else value, self.low), self.high)
        return round(value) if self.whole else value

    def coordinate(self, value: Any) -> float:
        """The coordinate of a natural value, the inverse of `natural`.

        Raises:
            ValueError: The value is outside the range, or not one of the choices.
        """
        if self.choices:
            same = [c == value and isinstance(c, bool) == isinstance(value, bool) for c in self.choices]
            if True in same:
                return self.values[same.index(True)] if self.values else (same.index(True) + 0.5) / len(same)
            raise ValueError(f"{self.name} must be one of {', '.join(map(repr, self.choices))}, got {value!r}")
        slack = 1e-9 * max(abs(self.low), abs(self.high))
        if not self.low - slack <= value <= self.high + slack:
            raise ValueError(f"{self.name} must be in [{self.low:g}, {self.high:g}], got {value!r}")
        low, high = self._ends
        value = math.log(value) if self.log else value
        return min(max((value - low) / (high - low), 0.0), 1.0) if high > low else MIDDLE

    @property
    def _ends(self) -> tuple[float, float]:
        low, high = (self.low - 0.5, self.high + 0.5) if self.whole else (self.low, self.high)
        return (math.log(max(low, 0.5 * self.low)), math.log(high)) if self.log else (low, high)


class Space:
    """A search space: its axes, and the conditions under which they are active.

    Args:
        axes: One per coordinate.

    Attributes:
        axes: The given axes; those without a name are called `x0`, `x1`, ... by position.
        names: Names of the axes.
    """

    def __init__(self, axes: Sequence[Axis]) -> None:
        self.axes = tuple(axis if axis.name else replace(axis, name=f"x{j}") for j, axis in enumerate(axes))
        self.names = tuple(axis.name for axis in self.axes)
        self._grids = [np.array(a.values) for a in axes]
        parents = [((a.parent, a.when), *a.others) if a.parent >= 0 else () for a in axes]
        self._when = [[(p, np.isin(np.arange(len(axes[p].values)), when)) for p, when in each] for each in parents]

    def __len__(self) -> int:
        return len(self.axes)

    def values(self, x: Floats, j: int) -> npt.NDArray[np.intp]:
        """(n,) index of the value of axis j nearest to each of (n, d) points."""
        return np.asarray(np.abs(x[:, j, None] - self._grids[j]).argmin(axis=1))

    def active(self, x: Floats) -> npt.NDArray[np.bool_]:
        """(n, d) mask of the axes that are active at each of (n, d) points."""
        active = np.ones(x.shape, bool)
        for j, parents in enumerate(self._when):
            for parent, wanted in parents:  # by the parent's value
                active[:, j] &= active[:, parent] & wanted[self.values(x, parent)]
        return active

    def config(self, point: Floats) -> dict[str, Any]:
        """Natural values, by name, of the axes that are active at a (d,) point."""
        active = self.active(point[None])[0]
        each = zip(self.names, self.axes, point.tolist(), active, strict=True)
        return {name: axis.natural(u) for name, axis, u, on in each if on}

    def point(self, config: Mapping[str, Any]) -> Floats:
        """(d,) coordinates of natural values by name; axes without a value are at `MIDDLE`, other names are ignored.

        Raises:
            ValueError: A value is outside its axis.
        """
        each = zip(self.names, self.axes, strict=True)
        return np.array([axis.coordinate(config[name]) if name in config else MIDDLE for name, axis in each])

    def distances(self, some: Floats, others: Floats) -> Floats:
        """(k, n) Gower distances between (k, d) and (n, d) points: mean differences over the axes.

        Categories differ by 0 or 1, ordered values by the difference of their coordinates relative to its maximum; an
        axis that is active at only one of the points differs by 1, one that is inactive at both by 0.

        Paper: John Gower. A General Coefficient of Similarity and Some of Its Properties. Biometrics 27(4):857-871,
        1971.
        """
        here, there = self.active(some), self.active(others)
        total = np.zeros((len(some), len(others)))
        for j, axis in enumerate(self.axes):
            one, two = some[:, j], others[:, j]
            if axis.values:
                at, scale = self._grids[j], (axis.values[-1] - axis.values[0]) or 1.0
                one, two = (
                    np.asarray(self.values(x, j) if axis.categorical else at[self.values(x, j)] / scale, np.float64)
                    for x in (some, others)
                )
            gap = np.abs(np.subtract.outer(one, two))
            gap = np.minimum(gap, 1.0) if axis.categorical else gap
            both = np.logical_and.outer(here[:, j], there[:, j])
            total += np.where(both, gap, np.not_equal.outer(here[:, j], there[:, j]))
        return total / max(len(self.axes), 1)

"""Points of a search space: coordinates in [0, 1], stored numbers, conditions, grids, quasi-random candidates."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from hpo_envs.tables import exact
from hpo_envs.tables.checks import one_of
from hpo_envs.tables.table import Floats, Hyperparameter, active

FINE = 64
"""Largest number of integers in a range for which agents get a list of values."""

POSITION = frozenset({"values", "categorical", "parent", "when", "others"})
"""Fields of an axis that concern coordinates; the others concern natural values."""

TRIES = 8
"""Quasi-random points drawn per candidate, rounded up to a power of two in total; used if many are equal."""


class Points:
    """The points of a search space: coordinates in [0, 1], stored numbers, and natural values.

    Args:
        space: Search space, see `space_of`.

    Attributes:
        space: The hyperparameters.
    """

    def __init__(self, space: tuple[Hyperparameter, ...]) -> None:
        self.space = space

    def raw(self, unit: Floats) -> Floats:
        """(n, d) stored numbers at (n, d) coordinates in [0, 1], 0 where inactive; listed values share [0, 1]."""
        raw = np.column_stack([raw_of(h, unit[:, j]) for j, h in enumerate(self.space)])
        return np.where(self.active(raw), raw, 0.0)

    def unit(self, raw: Floats) -> Floats:
        """(n, d) coordinates in [0, 1] of stored numbers (n, d), the inverse of `raw`."""
        return np.column_stack([unit_of(h, raw[:, j]) for j, h in enumerate(self.space)])

    def active(self, raw: Floats) -> npt.NDArray[np.bool_]:
        """(n, d) mask of active hyperparameters: those whose condition is satisfied."""
        return active(self.space, raw)

    def config(self, raw: Floats) -> dict[str, Any]:
        """The active hyperparameters of stored numbers (d,), with natural values."""
        active = self.active(raw[None])[0]
        return {h.name: h.natural(v) for h, v, on in zip(self.space, raw.tolist(), active, strict=True) if on}

    def row(self, config: Mapping[str, Any]) -> Floats:
        """(d,) stored numbers of natural values; inactive hyperparameters are 0 and may be missing.

        Raises:
            ValueError: A name is unknown, an active hyperparameter is missing, or a value is outside its range.
        """
        for name in config:
            one_of("name in config", name, [h.name for h in self.space])
        raw = np.zeros(len(self.space))
        for j, h in enumerate(self.space):
            if not self.active(raw[None])[0, j]:
                continue
            if h.name not in config:
                raise ValueError(f"config must have {h.name}, got {', '.join(config) or 'nothing'}")
            raw[j] = h.stored(config[h.name])
        return raw

    @property
    def size(self) -> float:
        """Number of points, including those that conditions make equal; infinite if a range has floats."""
        return math.prod(map(_size, self.space))

    def grid(self) -> Floats:
        """(n, d) stored numbers of all points of a finite space, each once."""
        sizes = [int(_size(h)) for h in self.space]
        grid = np.indices(sizes).reshape(len(sizes), -1).T
        return np.unique(self.raw((grid + 0.5) / np.array(sizes)), axis=0)  # conditions make some equal

    def candidates(self, count: int, seed: int) -> Floats:
        """(n, d) stored numbers: the grid if it has at most `count` points, else up to `count` quasi-random ones.

        They are distinct and in an order that depends on the seed. A smaller count gives the first of them, unless the
        larger one covers the whole grid. Quasi-random points are scrambled Sobol points (Owen 1998).
        """
        if self.size <= count:
            return np.random.default_rng(seed).permutation(self.grid())
        from scipy.stats import qmc

        engine = qmc.Sobol(len(self.space), scramble=True, rng=np.random.default_rng(seed))
        points = engine.random_base2((TRIES * count - 1).bit_length())
        raw = self.raw(points[: 2 * count])
        if len(np.unique(raw, axis=0)) < count:
            raw = self.raw(points)
        kept = np.sort(np.unique(raw, axis=0, return_index=True)[1])
        return raw[kept[:count]]


def axes_of(space: tuple[Hyperparameter, ...]) -> tuple[dict[str, Any], ...]:
    """Fields of an agent's `Axis` for each hyperparameter of a space: coordinates and natural values.

    Ranges of more than `FINE` integers are treated as real.
    """
    at, axes = {h.name: j for j, h in enumerate(space)}, []
    for h in space:
        listed: Floats
        if h.kind == "categorical":
            listed = np.arange(len(h.values), dtype=np.float64)
        elif h.values:
            listed = np.array(h.values, np.float64)
        else:
            listed = np.arange(h.low, h.high + 1.0) if _size(h) <= FINE else np.empty(0)
        axis: dict[str, Any] = {"values": tuple(unit_of(h, listed).tolist()), "categorical": h.kind == "categorical"}
        axis |= {"name": h.name, "choices": tuple(map(_plain, h.values)), "log": h.log}
        axis |= {"low": float(h.low), "high": float(h.high), "whole": h.kind == "int"}
        when = [(at[p], tuple(space[at[p]].values.index(v) for v in c)) for p, c in h.conditions.items()]
        if when:
            axis |= {"parent": when[0][0], "when": when[0][1], "others": tuple(when[1:])}
        axes.append(axis)
    return tuple(axes)


def _plain(value: Any) -> Any:
    """A choice as JSON data; the text of a choice without a JSON form."""
    value = value.item() if isinstance(value, np.generic) else value
    return value if value is None or isinstance(value, (str, int, float)) else repr(value)


def _size(h: Hyperparameter) -> float:
    """Number of values of a hyperparameter; infinite for a range of floats."""
    if h.values:
        return len(h.values)
    return h.high - h.low + 1 if h.kind == "int" else (1 if h.low == h.high else math.inf)


def raw_of(h: Hyperparameter, unit: Floats) -> Floats:
    """Stored numbers of a hyperparameter at coordinates in [0, 1], both (n,)."""
    if h.values:
        index = np.minimum((unit * len(h.values)).astype(np.intp), len(h.values) - 1)
        return index.astype(np.float64) if h.kind == "categorical" else np.array(h.values, np.float64)[index]
    low, high = _ends(h)
    value = low + unit * (high - low)
    value = exact.exp(value) if h.log else value
    return np.asarray(np.clip(np.round(value) if h.kind == "int" else value, h.low, h.high))


def unit_of(h: Hyperparameter, raw: Floats) -> Floats:
    """Coordinates in [0, 1] of stored numbers, the inverse of `raw_of`."""
    if h.values:
        listed = np.arange(len(h.values)) if h.kind == "categorical" else np.array(h.values, np.float64)
        return np.asarray((np.abs(raw[:, None] - listed).argmin(axis=1) + 0.5) / len(h.values))
    low, high = _ends(h)
    value = np.clip(raw, h.low, h.high)
    value = exact.log(value) if h.log else value
    return np.asarray((value - low) / (high - low)) if high > low else np.full(len(raw), 0.5)


def _ends(h: Hyperparameter) -> tuple[float, float]:
    """The ends of a range on its scale; each integer is the middle of an interval."""
    low, high = (h.low - 0.5, h.high + 0.5) if h.kind == "int" else (h.low, h.high)
    return (float(exact.log(max(low, 0.5 * h.low))), float(exact.log(high))) if h.log else (low, high)

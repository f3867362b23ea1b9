"""`Problem`: what an agent knows before its first evaluation; `Axis` and `Space` of hyperparameters; private copies."""

from __future__ import annotations

import copy
import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import gymnasium as gym
import numpy as np
import numpy.typing as npt

from hpo_envs.agents.models import Floats, Indices
from hpo_envs.agents.models.source import Source
from hpo_envs.tables.checks import read_only

MIDDLE = 0.5
"""Coordinate of an inactive axis, so that points that differ only in inactive axes are one configuration."""


@dataclass(frozen=True, eq=False)
class Problem:
    """The information that an agent has before its first evaluation. Arrays are read-only.

    Attributes:
        action_space: Gymnasium space of one action.
        features: (rows, d) float64 in [0, 1], features of each candidate; None if candidates have no features.
        feature_names: Names of the columns of `features`.
        levels: (levels,) resource of each checkpoint if actions are (row, level) pairs; else None.
        objectives: Number of rewards per evaluation.
        budget: Budget of an episode, in `unit`; None: unlimited.
        unit: Unit of the budget and of `info["cost"]`.
        mutate: `mutate(action, rng) -> action` if the space has a grammar, else None; `mutate(None, rng)` returns a
            random candidate. If a candidate takes several actions, argument and result are (steps, ...) arrays.
        reward_bounds: (objectives, 2) float64, lowest and highest reward by the metrics' definition (never from the
            table), infinite where a metric has no bound; None: unknown.
        base: (table rows, d) features that several problems share, such as those of a whole table: `features` is
            `base[index]`, and what depends on features alone is computed once for the base. Default: `features`.
        index: (rows,) row of `base` of each candidate; None = all, in order.
        sources: Source tasks: observations of other tables.
        held_out: Languages of the problem's tables, or task groups, see `tables.catalogue.held_out`. Weights trained on
            one of them have seen this problem and are used only if the user asks for them.
        axes: The hyperparameter of each coordinate of a box, a grid or `points`, or its arguments as a mapping; empty:
            unknown.
        points: (table rows, d) float64 in [0, 1], coordinates of each row of `base` on the axes; None: unknown.
        weights: (rows,) probability of each candidate in random search; None: all are equally likely.

    Raises:
        ValueError: `features` differs from `base[index]`.
    """

    action_space: gym.Space[Any]
    features: Floats | None = None
    feature_names: tuple[str, ...] = ()
    levels: Floats | None = None
    objectives: int = 1
    budget: float | None = None
    unit: str = "evaluations"
    mutate: Callable[[Any, np.random.Generator], Any] | None = None
    reward_bounds: Floats | None = None
    base: Floats | None = None
    index: Indices | None = None
    sources: tuple[Source, ...] = ()
    held_out: tuple[str, ...] = ()
    axes: tuple[Axis, ...] = ()
    points: Floats | None = None
    weights: Floats | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "axes", tuple(a if isinstance(a, Axis) else Axis(**a) for a in self.axes))
        for name in ("feature_names", "held_out"):
            object.__setattr__(self, name, tuple(getattr(self, name)))
        for name in ("features", "levels", "reward_bounds", "base", "points", "weights"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, read_only(getattr(self, name)))
        if self.index is not None:
            object.__setattr__(self, "index", read_only(self.index, np.intp))
        base = self.features if self.base is None else self.base
        if base is None:
            return
        chosen = base if self.index is None or self.base is None else read_only(base[self.index])
        if self.features is not None and self.features is not chosen and not np.array_equal(self.features, chosen):
            raise ValueError(f"features must equal base[index], got others of shape {self.features.shape}")
        object.__setattr__(self, "base", base)
        if self.features is None:
            object.__setattr__(self, "features", chosen)

    def __str__(self) -> str:
        many = None if self.features is None else self.features.shape
        parts = [str(self.action_space) if many is None else f"{many[0]} candidates with {many[1]} features"]
        counts = {"levels": 0 if self.levels is None else len(self.levels), "objectives": self.objectives}
        counts["sources"] = len(self.sources)
        parts += [f"{count} {name}" for name, count in counts.items() if count > (name == "objectives")]
        return ", ".join([*parts, "no budget" if self.budget is None else f"budget {self.budget:g} {self.unit}"])

    def __repr__(self) -> str:
        return f"<Problem: {self}>"

    def with_features(self, prefix: str | tuple[str, ...]) -> Problem:
        """Return the problem with only the features whose names start with a prefix, or with one of several.

        It has neither axes nor points, and its sources have only these features. An empty prefix changes nothing.

        Raises:
            ValueError: No feature has a name that starts with the prefix.
        """
        if not prefix:
            return self
        chosen = [j for j, name in enumerate(self.feature_names) if name.startswith(prefix)]
        if self.base is None or not chosen:
            every = ", ".join(self.feature_names)
            raise ValueError(f"features must be a prefix of the name of a feature ({every}), got {prefix!r}")
        names = tuple(self.feature_names[j] for j in chosen)
        sources = tuple(s.with_columns(chosen, names) for s in self.sources)
        return dataclasses.replace(
            self, features=None, base=self.base[:, chosen], feature_names=names, sources=sources, axes=(), points=None
        )

    def with_resource(self, resource: float | None) -> Problem:
        """Return the problem with only the checkpoints within a resource; unchanged for None or without checkpoints.

        Args:
            resource: Limit of the training of one configuration, in units of the first checkpoint (epochs if every
                epoch is a checkpoint); the first checkpoint always remains.

        Raises:
            ValueError: The resource is not positive.
        """
        if resource is None:
            return self
        if not resource > 0:
            raise ValueError(f"resource must be > 0, got {resource!r}")
        if self.levels is None:
            return self
        return dataclasses.replace(self, levels=self.levels[: affordable(self.levels, resource) + 1])

    @property
    def rows(self) -> int:
        """Number of candidates.

        Raises:
            ValueError: Actions are not from a finite list of candidates.
        """
        if self.features is not None:
            return len(self.features)
        if isinstance(self.action_space, gym.spaces.Discrete):
            return int(self.action_space.n)
        if isinstance(self.action_space, gym.spaces.MultiDiscrete):
            sizes = self.action_space.nvec.tolist()
            return int(math.prod(sizes) if self.levels is None else sizes[0])
        raise ValueError(f"action_space must be finite for this agent, got {self.action_space}")

    @property
    def candidates(self) -> Floats | None:
        """(rows, d) coordinates of each candidate on the axes; None without `points`."""
        return self.points if self.points is None or self.index is None else self.points[self.index]

    def to_bytes(self) -> bytes:
        """Encode the problem as a message of `wire`, without pickled objects; `from_bytes` reads it in any process.

        Raises:
            ValueError: The space is not in `wire.SPACES`, or the grammar is not a function of a module.
            TypeError: An axis has a choice that a message cannot contain, see `wire.encode`.
        """
        from hpo_envs.agents import wire

        plain = {f.name: getattr(self, f.name) for f in dataclasses.fields(self) if f.name != "features"}
        plain["action_space"] = wire.encode_space(self.action_space)
        plain["mutate"] = None if self.mutate is None else wire.encode_function(self.mutate)
        plain["axes"] = [dataclasses.asdict(axis) for axis in self.axes]
        plain["sources"] = [dataclasses.asdict(source) for source in self.sources]
        return wire.encode(plain)

    @classmethod
    def from_bytes(cls, data: bytes) -> Problem:
        """Read a problem written by `to_bytes`.

        Raises:
            ValueError: The bytes do not encode a problem, or its grammar is not a function of this package.
        """
        from hpo_envs.agents import wire

        head, rest = data[: wire.HEAD.size], data[wire.HEAD.size :]
        text, arrays = wire.lengths(head)
        if len(rest) != text + arrays:
            raise ValueError(f"data must have {text + arrays} bytes after the head, got {len(rest)}")
        plain = wire.decode(rest[:text], rest[text:])
        try:
            plain["action_space"] = wire.decode_space(plain["action_space"])
            plain["mutate"] = None if plain["mutate"] is None else wire.decode_function(plain["mutate"])
            plain["sources"] = tuple(Source(**source) for source in plain["sources"])
            return cls(**plain)
        except wire.MALFORMED as error:
            raise ValueError(f"data must be a problem written by to_bytes, got another message ({error!r})") from None


def _immutable(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return a copy of an array that is backed by bytes, so that nothing can make it writable."""
    return np.frombuffer(array.tobytes(), array.dtype).reshape(array.shape)


def sealed(problem: Problem) -> Problem:
    """Return a copy of a problem and its sources whose arrays nothing can make writable."""

    def arrays(of: Problem | Source) -> dict[str, Any]:
        values = {f.name: getattr(of, f.name) for f in dataclasses.fields(of)}
        return {name: _immutable(value) for name, value in values.items() if isinstance(value, np.ndarray)}

    sources = tuple(dataclasses.replace(s, **arrays(s)) for s in problem.sources)
    return dataclasses.replace(problem, **arrays(problem), sources=sources)


def private(problem: Problem, seed: int, rows: npt.NDArray[Any] | None = None) -> Problem:
    """Return a copy of a shared problem (see `sealed`) for one agent, with a separate action space seeded by `seed`.

    `rows` is the (k,) row of the base of each candidate, ignored without a base; None: the candidates of the problem.
    """
    shared = problem.action_space
    # All that a `Discrete` has is immutable but its generator, which seeding replaces.
    space = copy.copy(shared) if type(shared) is gym.spaces.Discrete else copy.deepcopy(shared)
    space.seed(seed)
    changed: dict[str, Any] = {"action_space": space}
    if rows is not None and problem.base is not None:
        index = np.asarray(rows, np.intp)
        changed |= {"index": _immutable(index), "features": _immutable(problem.base.take(index, axis=0))}
    own = object.__new__(Problem)
    own.__dict__.update(problem.__dict__, **changed)  # checked when the shared one was made
    return own


def resources_of(levels: Floats) -> Floats:
    """Return checkpoints as positive resources: those counted from 0 are a step more."""
    return levels if levels[0] > 0 else levels - levels[0] + (levels[1] - levels[0] if len(levels) > 1 else 1.0)


def affordable(levels: Floats, resource: float) -> int:
    """Return the index of the last of `levels` within a resource (in units of the first level); at least 0."""
    levels = resources_of(levels)
    return max(int(np.searchsorted(levels, resource * levels[0] * (1 + 1e-9), side="right")) - 1, 0)


@dataclass(frozen=True)
class Axis:
    """One hyperparameter: a coordinate in [0, 1] and its natural values.

    Attributes:
        values: Coordinates of the distinct values, ascending; empty: any coordinate is a value.
        categorical: Whether the values have no order.
        parent: Index of an earlier axis that decides whether this one is active; -1: always active.
        when: Indices of the parent's values that activate this axis.
        others: (axis, indices of its values) of further parents; the axis is active only if all parents activate it.
        name: Name of the hyperparameter; empty: not known.
        choices: Natural values of a list, in the order of their coordinates, which divide [0, 1] into equal parts;
            empty: a range. Default: 0, 1, ... if there are `values`, except for a range of integers.
        low: Smallest natural value of a range.
        high: Largest natural value of a range.
        whole: Whether a range consists of integers; each covers an interval of coordinates.
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
        if self.log and not self.choices and self.low <= 0:
            raise ValueError(f"low of a logarithmic range must be > 0, got {self.low!r}")

    @property
    def kind(self) -> str:
        """Kind of hyperparameter: `categorical`, `ordinal` (a list of ordered values), `integer` or `real`."""
        if self.choices:
            return "categorical" if self.categorical else "ordinal"
        return "integer" if self.whole else "real"

    @property
    def single(self) -> bool:
        """Whether the hyperparameter has only one value."""
        return len(self.choices) == 1 or (not self.choices and self.low == self.high)

    def natural(self, coordinate: float) -> Any:
        """Return the natural value of a coordinate in [0, 1]."""
        if self.choices:
            return self.choices[min(int(coordinate * len(self.choices)), len(self.choices) - 1)]
        low, high = self._ends
        value = low + coordinate * (high - low)
        value = min(max(math.exp(value) if self.log else value, self.low), self.high)
        return round(value) if self.whole else value

    def coordinate(self, value: Any) -> float:
        """Return the coordinate of a natural value.

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
        """Return the (n,) indices of the values of axis j nearest to (n, d) points."""
        return np.asarray(np.abs(x[:, j, None] - self._grids[j]).argmin(axis=1))

    def active(self, x: Floats) -> npt.NDArray[np.bool_]:
        """Return the (n, d) mask of the axes that are active at each of (n, d) points."""
        active = np.ones(x.shape, bool)
        for j, parents in enumerate(self._when):
            for parent, wanted in parents:  # by the parent's value
                active[:, j] &= active[:, parent] & wanted[self.values(x, parent)]
        return active

    def config(self, point: Floats) -> dict[str, Any]:
        """Return the natural values, by name, of the axes that are active at a (d,) point."""
        active = self.active(point[None])[0]
        each = zip(self.names, self.axes, point.tolist(), active, strict=True)
        return {name: axis.natural(u) for name, axis, u, on in each if on}

    def point(self, config: Mapping[str, Any]) -> Floats:
        """Return the (d,) coordinates of natural values; axes without a value are at `MIDDLE`.

        Names that are not axes are ignored.

        Raises:
            ValueError: A value is outside its axis.
        """
        each = zip(self.names, self.axes, strict=True)
        return np.array([axis.coordinate(config[name]) if name in config else MIDDLE for name, axis in each])

    def distances(self, some: Floats, others: Floats) -> Floats:
        """Return the (k, n) Gower distances between (k, d) and (n, d) points: mean differences over the axes.

        Categories differ by 0 or 1, ordered values by the difference of their coordinates, divided by the largest
        difference on the axis. An axis adds 1 if it is active at only one of the two points, 0 if at neither.

        Paper: John Gower. A General Coefficient of Similarity and Some of Its Properties. Biometrics 27(4), 1971.
        """
        here, there = self.active(some), self.active(others)
        total = np.zeros((len(some), len(others)))
        for j, axis in enumerate(self.axes):
            one, two = some[:, j], others[:, j]
            if axis.values:
                scale = (axis.values[-1] - axis.values[0]) or 1.0
                grid = np.arange(len(axis.values), dtype=float) if axis.categorical else self._grids[j] / scale
                one, two = grid[self.values(some, j)], grid[self.values(others, j)]
            gap = np.abs(np.subtract.outer(one, two))
            gap = np.minimum(gap, 1.0) if axis.categorical else gap
            both = np.logical_and.outer(here[:, j], there[:, j])
            total += np.where(both, gap, np.not_equal.outer(here[:, j], there[:, j]))
        return total / max(len(self.axes), 1)

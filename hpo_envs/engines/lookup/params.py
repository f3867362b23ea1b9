"""What look-up environments read: tables turned into arrays once, shared by the scalar and the batched form."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium.spaces import Box

from hpo_envs.core.env import Floats
from hpo_envs.tables import store
from hpo_envs.tables.table import STATUSES, Hyperparameter, Table, nearest

Objective = str | tuple[str, ...]

STATUS_DTYPE = f"U{max(map(len, STATUSES))}"


def load_tables(names: tuple[str, ...], table: Any) -> tuple[Table, ...]:
    """The tables of an id.

    Args:
        names: Table names.
        table: `"auto"`, `"measured"`, `"surrogate"`, or a `Table` (a tuple of them for several names).

    Raises:
        ValueError: Not one of those.
    """
    if isinstance(table, Table):
        return (table,)
    if isinstance(table, (tuple, list)) and table and all(isinstance(t, Table) for t in table):
        return tuple(table)
    if not isinstance(table, str):
        raise ValueError(f"table must be one of {', '.join(store.KINDS)} or a Table, got {table!r}")
    return tuple(store.load(name, table) for name in names)  # type: ignore[arg-type]


@dataclass(frozen=True)
class Prepared:
    """Arrays that answer every step; cells = rows x repeats of all tables, in that order.

    Attributes:
        tables: The tables, all with the same space and metrics.
        rows: Rows of one table.
        repeats: (tables * rows,) measured repeats of each row, at least 1.
        max_repeats: Cells per row.
        objectives: Indices of the rewarded metrics.
        rewards: (cells, m) float64, oriented: higher is better.
        costs: (cells,) float64.
        metrics: (cells, metrics) float64 in native units, no NaN.
        configs: (tables * rows, H) float64, raw.
        status: (cells,) str, names of `STATUSES`.
        templates: (cells + 1, d) float32, observation after each cell; the last row is the initial observation.
        low: (m,) lowest possible reward by definition.
        high: (m,) highest possible reward by definition.
        observation_space: Bounds of the observation.
        cost_unit: Unit of `costs`.
    """

    tables: tuple[Table, ...]
    rows: int
    repeats: npt.NDArray[np.int64]
    max_repeats: int
    objectives: tuple[int, ...]
    rewards: Floats
    costs: Floats
    metrics: Floats
    configs: Floats
    status: npt.NDArray[np.str_]
    templates: npt.NDArray[np.float32]
    low: Floats
    high: Floats
    observation_space: Box
    cost_unit: str

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the rewarded metrics."""
        return tuple(self.tables[0].metric_names[j] for j in self.objectives)

    @property
    def labels(self) -> tuple[str, ...]:
        """Short names of the tables, for `options={"table": ...}`."""
        return tuple(t.name.partition("/")[2].removesuffix("-grid") for t in self.tables)

    def whole(self) -> float:
        """Cost of evaluating every run of the dearest table once."""
        return float(self.costs.reshape(len(self.tables), -1).sum(axis=1).max())

    def choose(self, options: dict[str, Any] | None) -> int | None:
        """Index of the table that `reset` options ask for, or None.

        Raises:
            ValueError: No such table.
        """
        if not options or "table" not in options:
            return None
        name = options["table"]
        if name not in self.labels:
            raise ValueError(
                f"options['table'] must be one of {', '.join(self.labels)}, got {name!r}{nearest(name, self.labels)}"
            )
        return self.labels.index(name)


def check_objective(objective: Any) -> Objective:
    """A name or a tuple of names; lists become tuples.

    Raises:
        ValueError: Neither.
    """
    if isinstance(objective, str):
        return objective
    if not isinstance(objective, (tuple, list)) or not all(isinstance(name, str) for name in objective):
        raise ValueError(f"objective must be the name of a metric or a tuple of names, got {objective!r}")
    return tuple(objective)


def prepare(tables: tuple[Table, ...], objective: Objective, cost: str) -> Prepared:
    """Prepares tables for stepping; cached, because `make` is called often.

    Raises:
        ValueError: Unknown metric, or tables that do not fit together.
    """
    if not isinstance(cost, str):
        raise ValueError(f"cost must be evaluations or the name of a metric, got {cost!r}")
    return _prepare(tuple(ByHash(t) for t in tables), check_objective(objective), cost)


class ByHash:
    """A table that compares by its content's hash, to serve as a cache key."""

    def __init__(self, table: Table) -> None:
        self.table = table

    def __hash__(self) -> int:
        return hash(self.table.provenance.sha256)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ByHash) and (
            (self.table.name, self.table.provenance) == (other.table.name, other.table.provenance)
        )


@functools.lru_cache(maxsize=64)
def _prepare(keyed: tuple[ByHash, ...], objective: Objective, cost: str) -> Prepared:
    tables = tuple(k.table for k in keyed)
    first = tables[0]
    for t in tables[1:]:
        if t.metrics != first.metrics or t.space != first.space or t.values.shape[:2] != first.values.shape[:2]:
            raise ValueError(f"tables must share space, rows and metrics, got {first.name} and {t.name}")
    chosen = (objective,) if isinstance(objective, str) else objective
    if not chosen:
        raise ValueError(f"objective must name at least one metric of {', '.join(first.metric_names)}, got ()")
    objectives = tuple(_metric(first, "objective", name) for name in chosen)
    metrics = np.concatenate([_filled(t) for t in tables])
    bounds = np.array([[m.low, m.high] for m in first.metrics])
    sign = np.array([first.metrics[j].sign for j in objectives])
    rewards = metrics[:, objectives] * sign
    ends = bounds[list(objectives)] * sign[:, None]
    low, high = ends.min(axis=1), ends.max(axis=1)
    if cost == "evaluations":
        costs, cost_unit, cost_high = np.ones(len(metrics)), "evaluations", 1.0
    elif cost == first.cost_unit and cost not in first.metric_names:
        every = [np.nanmax(np.where(np.isnan(t.cost), 0.0, t.cost), axis=2).reshape(-1) for t in tables]
        costs, cost_unit, cost_high = np.concatenate(every), first.cost_unit, 1e9
    else:
        j = _metric(first, "cost", cost)
        if first.metrics[j].goal != "min":
            raise ValueError(f"cost must be evaluations or a metric to be kept low, got {cost!r}")
        costs, cost_unit, cost_high = metrics[:, j], first.metrics[j].unit or cost, first.metrics[j].high
    features = np.concatenate([np.repeat(t.features, t.repeats, axis=0) for t in tables])
    # Layout: features | rewards | cost | best rewards | budget left. See the families' Observation Space.
    d, m = features.shape[1], len(objectives)
    templates = np.zeros((len(metrics) + 1, d + 2 * m + 2), np.float32)
    templates[:-1, :d] = features
    templates[:-1, d : d + m] = np.clip(rewards, low, high)
    templates[:-1, d + m] = np.minimum(costs, cost_high)
    templates[-1, d : d + m] = low
    templates[-1, d + m + 1 : d + 2 * m + 1] = low
    templates[-1, -1] = 1.0
    zeros, ones = np.zeros(d), np.ones(d)
    space = Box(
        np.concatenate([zeros, low, [0.0], low, [0.0]]).astype(np.float32),
        np.concatenate([ones, high, [cost_high], high, [1.0]]).astype(np.float32),
        dtype=np.float32,
    )
    status = np.array(STATUSES, dtype=STATUS_DTYPE)[np.concatenate([t.status.reshape(-1) for t in tables])]
    repeats = np.concatenate([_repeats(t) for t in tables])
    for array in (metrics, rewards, costs, templates, status, repeats):
        array.setflags(write=False)
    return Prepared(
        tables, len(first), repeats, first.repeats, objectives, rewards, costs, metrics,
        np.concatenate([t.configs for t in tables]), status, templates, low, high, space, cost_unit,
    )  # fmt: skip


def _metric(table: Table, argument: str, name: Any) -> int:
    if name not in table.metric_names:
        extra = "evaluations, " if argument == "cost" else ""
        raise ValueError(
            f"{argument} must be one of {extra}{', '.join(table.metric_names)}, got {name!r}"
            f"{nearest(name, table.metric_names)}"
        )
    return table.metric(name)


def _filled(t: Table) -> Floats:
    """(rows * repeats, metrics) the last level of each run; what was never measured gets the metric's worst value."""
    last = np.maximum((~np.isnan(t.values)).sum(axis=2, keepdims=True) - 1, 0)
    ends = np.take_along_axis(t.values, last, axis=2)[:, :, 0]
    worst = np.array([m.worst for m in t.metrics])
    return np.where(np.isnan(ends), worst, ends).reshape(-1, len(t.metrics))


def _repeats(t: Table) -> npt.NDArray[np.int64]:
    return np.maximum((~np.isnan(t.values).all(axis=(2, 3))).sum(axis=1), 1).astype(np.int64)


def choices_of(h: Hyperparameter) -> npt.NDArray[np.object_] | None:
    """The choices of a categorical as an array, None for numbers."""
    if h.kind != "categorical":
        return None
    choices = np.empty(len(h.values), dtype=object)
    choices[:] = h.values
    return choices


def grid_sizes(table: Table) -> npt.NDArray[np.int64]:
    """(H,) number of values of each hyperparameter of a complete grid whose last one varies fastest.

    Raises:
        ValueError: The table's rows are not a complete grid in that order.
    """
    sizes = np.array([len(h.values) for h in table.space], dtype=np.int64)
    if not len(sizes) or int(sizes.prod()) != len(table):
        raise ValueError(f"table must be a complete grid, got {table.name} with {len(table)} rows")
    return sizes

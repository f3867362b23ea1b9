"""`Table`, `Hyperparameter`, `Metric`, `Provenance`: invariants, NaN, statuses, worst values, scaling, sha256."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from hpo_envs.tables import Floats as Floats
from hpo_envs.tables import exact, frames
from hpo_envs.tables.checks import nearest, one_of, scalar, shown

LARGEST = 1e30
"""Largest absolute value of a score; larger ones of users count as infinite, because their statistics overflow."""

STATUSES = ("ok", "failed", "diverged", "truncated")
"""Names of the codes in `Table.status`.

`ok`: trained as planned; `failed`: never produced a model worth measuring; `diverged`: the loss became NaN or
infinite; `truncated`: stopped early for another reason.
"""

BLOCK = 1 << 17
"""Number of rows, or of numbers of a large array, that are processed at a time."""

OK, FAILED, DIVERGED, TRUNCATED = range(len(STATUSES))

LOST = (FAILED, DIVERGED)
"""Codes of the runs that end without a usable model."""


def numbers(values: Any) -> npt.NDArray[np.float64]:
    """Convert numbers to a float64 array, and all else to one NaN.

    None becomes NaN, and a Boolean among floats or small ints 0 or 1. Other Booleans, masked and complex arrays, times,
    texts and ragged lists are not numbers, nor is a list with any of these.
    """
    try:
        array = np.asarray(values)
        others = array.dtype.kind == "O" and any(isinstance(v, (str, bytes, bool, np.bool_)) for v in array.flat)
        if array.dtype.kind in "iufO" and not others and not isinstance(values, np.ma.MaskedArray):
            return array.astype(np.float64)
    except (TypeError, ValueError, OverflowError):  # an int beyond all floats
        pass
    return np.array(np.nan)


def is_number(value: Any) -> bool:
    """Return whether a value is an int or float, of Python or NumPy; bools and ints beyond all floats are not."""
    if isinstance(value, int):
        return not isinstance(value, bool) and abs(value) <= sys.float_info.max
    return isinstance(value, (float, np.integer, np.floating)) and not isinstance(value, np.timedelta64)


@dataclass(frozen=True)
class Metric:
    """One measured quantity.

    Attributes:
        name: Identifier, as in `info["metrics"]`.
        unit: Native unit ("BLEU", "s", "MiB", ...); may be empty.
        goal: Whether higher ("max") or lower ("min") is better.
        low: Finite lower bound from the metric's definition; in users' tables it may be guessed from the values.
        high: Finite upper bound, likewise; for metrics without one, the documented cap of observations.
        description: One sentence.
    """

    name: str
    unit: str
    goal: Literal["max", "min"]
    low: float
    high: float
    description: str = ""

    @property
    def sign(self) -> float:
        """+1.0 if higher is better, else -1.0: the higher `sign * value`, the better."""
        return 1.0 if self.goal == "max" else -1.0

    @property
    def worst(self) -> float:
        """The bound that stands for the value of a run without a usable model, in native units."""
        return self.low if self.goal == "max" else self.high


@dataclass(frozen=True)
class Hyperparameter:
    """One dimension of a search space.

    Attributes:
        name: Identifier, as in `info["config"]`.
        kind: `int` and `float` are ordered numbers; `categorical` has no order and is stored as an index
            into `values`.
        low: Smallest stored value (0 for categoricals).
        high: Largest stored value (number of choices - 1 for categoricals).
        log: Whether the [0, 1] scale is logarithmic; a 0 that precedes two or more `values` lies one step below them.
        values: The grid of natural values, or the choices; empty for a continuous or integer range.
        condition: `(parent, choices)`, or more of these pairs, one after another: active only while each parent takes
            one of its choices; an inactive hyperparameter is stored as 0.
        description: One sentence.
        complement: Whether 1 - value is stored, within `low` and `high`: with `log`, a scale for decay rates near 1.
    """

    name: str
    kind: Literal["int", "float", "categorical"]
    low: float
    high: float
    log: bool = False
    values: tuple[Any, ...] = ()
    condition: tuple[Any, ...] | None = None
    description: str = ""
    complement: bool = False

    def __post_init__(self) -> None:
        positive = self.low > 0 or (self.low == 0 and len(self.values) > 2)
        if not 0 <= self.high - self.low < math.inf or (self.log and not positive):
            rule = "0 < low <= high" if self.log else "finite numbers, low <= high"
            raise ValueError(f"range of {self.name} must be {rule}, got {self.low:g} to {self.high:g}")

    @property
    def conditions(self) -> dict[str, tuple[Any, ...]]:
        """Parent -> its choices, one of which it must take."""
        given = self.condition or ()
        return dict(zip(given[::2], given[1::2], strict=True))

    @property
    def bounds(self) -> tuple[Any, Any]:
        """The smallest and the largest natural value of a numerical hyperparameter."""
        low, high = sorted((self.natural(self.low), self.natural(self.high)))
        return low, high

    def scale(self, raw: npt.ArrayLike) -> Floats:
        """Map raw values, any shape, to [0, 1]; NaN and values outside [low, high] map to 0."""
        x = np.asarray(raw, dtype=np.float64)
        inside = (x >= self.low) & (x <= self.high)
        x = np.where(inside, x, self.low)
        low, high = self.low, self.high
        if self.log:
            if low == 0:  # of a list, one step below the others
                low = self.values[1] ** 2 / self.values[2]
                x = np.maximum(x, low)
            x, low, high = exact.log(x), float(exact.log(low)), float(exact.log(high))
        return np.where(inside, (x - low) / (high - low) if high > low else 0.0, 0.0)

    def natural(self, raw: float) -> Any:
        """The natural value of a stored number: an int, a float, or the choice itself."""
        if self.kind == "categorical":
            return self.values[int(raw)]
        return int(raw) if self.kind == "int" else float(1.0 - raw if self.complement else raw)

    def place(self, value: Any) -> int | None:
        """Return the index of a natural value in `values`, None without it; 1 and 1.0 may be two, True is no number."""
        value = value if type(value) in map(type, self.values) else scalar(value)
        same = [
            j
            for j, v in enumerate(self.values)
            if (v == value or (v != v and value != value)) and isinstance(v, bool) == isinstance(value, bool)
        ]
        return min(same, key=lambda j: type(self.values[j]) is not type(value), default=None)

    def stored(self, value: Any) -> float:
        """Return the stored number of a natural value; ValueError if it has another type or is not an allowed value."""
        if self.values:
            if (at := self.place(value)) is None:
                raise ValueError(f"{self.name} must be one of {', '.join(map(repr, self.values))}, got {shown(value)}")
            return float(at if self.kind == "categorical" else self.values[at])
        value = scalar(value)
        low, high = self.bounds
        if not is_number(value) or not low <= value <= high or (self.kind == "int" and value != int(value)):
            kind = "an int" if self.kind == "int" else "a number"
            raise ValueError(f"{self.name} must be {kind} in [{low:g}, {high:g}], got {shown(value)}")
        return float(1.0 - value if self.complement else value)


def active(space: Sequence[Hyperparameter], raw: Floats) -> npt.NDArray[np.bool_]:
    """(n, d) mask of active hyperparameters: those whose conditions, if any, hold and whose parents are active."""
    at = {h.name: j for j, h in enumerate(space)}
    mask = np.ones(raw.shape, bool)
    for j, h in enumerate(space):
        for name, choices in h.conditions.items():
            parent, above = at[name], space[at[name]]
            wanted = [above.stored(c) if above.kind == "categorical" else float(c) for c in choices]
            mask[:, j] &= mask[:, parent] & np.isin(raw[:, parent], wanted)
    return mask


@dataclass(frozen=True)
class Provenance:
    """Source, licence and citation of a table's content, and its hash.

    Attributes:
        kind: `measured` (recorded results) or `surrogate` (predictions of a model, or a formula).
        upstream: Repository, as owner/name, `this project`, `none`, or the name of a user's file, frame or study.
        commit: Commit of the repository, 40 hex digits; of a user's data, the start of their sha256.
        licence: Licence of the content.
        citation: Reference to cite.
        sha256: Hash of the table's canonical content; filled in by `Table`.
        notes: Notes for users (held-out error, imputed cells, ...), one sentence each.
    """

    kind: Literal["measured", "surrogate"]
    upstream: str
    commit: str
    licence: str
    citation: str
    sha256: str = ""
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Table:
    """Evaluations of a finite set of configurations.

    Attributes:
        name: `dataset/table`, e.g. `nmthpo/swen`.
        keys: Unique name of each row.
        space: The hyperparameters, one per column of `configs`; may be empty.
        configs: (rows, len(space)) float64, raw values (categoricals as indices).
        feature_names: Names of the columns of `features`.
        features: (rows, d) float64 in [0, 1]: features of each row that agents observe before its evaluation.
        metrics: The measured quantities.
        values: (rows, repeats, levels, metrics) float64 in native units; NaN = not measured, trailing along levels.
        cost: (rows, repeats, levels) float64, cumulative, including that level; NaN = not reached.
        cost_unit: Unit of `cost`.
        levels: (levels,) float64, strictly increasing fidelities, in `level_unit`.
        level_unit: Unit of `levels` ("epochs", "updates", ...).
        status: (rows, repeats) uint8, index into `STATUSES`.
        source_index: (rows,) int64, position of each row upstream, in the file or among the draws; default: 0, 1, 2,
            ... Rows that are actions are stored in another order, see `hpo_envs.tables.frames`.
        provenance: Source, licence, citation and hash of the table.

    Raises:
        ValueError: A field is invalid, fields contradict each other, or `provenance.sha256` is not the content's hash.
    """

    name: str
    keys: tuple[str, ...]
    metrics: tuple[Metric, ...]
    values: Floats
    cost: Floats
    provenance: Provenance
    cost_unit: str = "evaluations"
    space: tuple[Hyperparameter, ...] = ()
    configs: Floats = field(default_factory=lambda: np.zeros((0, 0)))
    feature_names: tuple[str, ...] = ()
    features: Floats = field(default_factory=lambda: np.zeros((0, 0)))
    levels: Floats = field(default_factory=lambda: np.ones(1))
    level_unit: str = "full training"
    status: npt.NDArray[np.uint8] = field(default_factory=lambda: np.zeros((0, 0), np.uint8))
    source_index: npt.NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))

    def __post_init__(self) -> None:
        rows = len(self.keys)
        defaults: dict[str, Any] = {}
        if self.configs.size == 0:
            defaults["configs"] = np.zeros((rows, len(self.space)))
        if self.features.size == 0:
            defaults["features"] = np.zeros((rows, len(self.feature_names)))
        if self.status.size == 0:
            defaults["status"] = np.zeros(self.values.shape[:2], np.uint8)
        if self.source_index.size == 0:
            defaults["source_index"] = np.arange(rows)
        for name in ("values", "cost", "configs", "features", "levels", "status", "source_index"):
            dtype = {"status": np.uint8, "source_index": np.int64}.get(name, np.float64)
            array = defaults.get(name, getattr(self, name))
            if not _frozen(array, dtype):
                # A private, read-only copy: nobody can change a table after its laws were checked.
                array = np.array(array, dtype=dtype, order="C", copy=True)
                array.setflags(write=False)
            object.__setattr__(self, name, array)
        _check_laws(self)
        digest = _digest(self)
        if self.provenance.sha256 not in ("", digest):
            raise ValueError(
                f"table {self.name}: provenance.sha256 must be the hash of the content, {digest}, "
                f"got {self.provenance.sha256}"
            )
        object.__setattr__(self, "provenance", dataclasses.replace(self.provenance, sha256=digest))

    def __len__(self) -> int:
        return len(self.keys)

    def __repr__(self) -> str:
        facts = ", ".join(f"{name} {value}" for name, value in self._facts().items())
        return f"<Table {self.name} ({self.provenance.kind}): {facts}>"

    def _repr_html_(self) -> str:
        head = self.subset(range(min(5, len(self)))).to_frame().head()
        return frames.facts(f"{self.name} ({self.provenance.kind})", self._facts()) + str(head.to_html(index=False))

    def _facts(self) -> dict[str, Any]:
        many = {"repeats": self.repeats, self.level_unit: len(self.levels)}
        space = {"hyperparameters": len(self.space)}
        names = ", ".join(self.metric_names[:6]) + (", ..." if len(self.metrics) > 6 else "")
        several = {name: count for name, count in many.items() if count > 1}
        return {"rows": len(self), **space, **several, "metrics": names, "cost in": self.cost_unit}

    def to_frame(self) -> Any:
        """A pandas DataFrame with a row for each configuration, repeat and level that has a value or a cost.

        A failed or diverged run without any also has a row.

        Columns: `key`; the hyperparameters with their natural values, missing if inactive; `repeat` and `level`, if
        there are several; the metrics in native units; `cost`, cumulative; `status`. A metric with the name of a
        column other than a hyperparameter's is prefixed with `metrics.`, a hyperparameter with that of any other column
        with `config.`.
        """
        return frames.of_table(self, active(self.space, self.configs), STATUSES, LOST)

    @property
    def repeats(self) -> int:
        """Maximum number of repeats of a row."""
        return int(self.values.shape[1])

    @property
    def metric_names(self) -> tuple[str, ...]:
        """Names of the metrics, in the order of the last axis of `values`."""
        return tuple(m.name for m in self.metrics)

    def metric(self, name: str) -> int:
        """Return the index of a metric by its name; ValueError if the table does not have it."""
        names = self.metric_names
        return names.index(one_of("metric", name, names, f" in table {self.name}"))

    def row(self, key: str) -> int:
        """Return the index of a row by its key; KeyError if the table does not have it."""
        if key not in self.keys:
            raise KeyError(f"key must be a row of table {self.name}, got {key!r}{nearest(key, self.keys)}")
        return self.keys.index(key)

    def index_of(self, config: Mapping[str, Any]) -> int:
        """Index of the first row of a configuration, given with natural values as in `config(row)`.

        Args:
            config: Hyperparameter -> value; values of inactive ones are ignored. For a table without hyperparameters:
                `{"key": ...}`.

        Raises:
            ValueError: An unknown or missing hyperparameter, a value or a combination that was not measured; the
                message names the hyperparameter.
        """
        if not self.space:
            key = one_of("key", config.get("key"), self.keys, listed=f"the keys of table {self.name}")
            return self.keys.index(key)
        return _index_of(self, config)

    def config(self, row: int) -> dict[str, Any]:
        """Return the natural values of a row's hyperparameters; an inactive one has that of the stored number 0."""
        return {h.name: h.natural(v) for h, v in zip(self.space, self.configs[row], strict=True)}

    def graph(self, row: int) -> Any:
        """Recurrent cell of a row as a `networkx` graph, see `hpo_envs.tables.cells.graph`.

        Raises:
            ValueError: Rows of this table are not cells, or their recipes are not known.
        """
        make = GRAPHS.get(self.name.partition("/")[0])
        try:
            if make is not None:
                return make(self.keys[row])
        except ValueError:
            pass
        raise ValueError(f"rows of {self.name} must be cells with a recipe, got {self.keys[row]!r}")

    def final(self, metric: str) -> Floats:
        """(rows,) value of a metric at the last measured level, mean over repeats; NaN if never measured."""
        ends = self.ends(metric)
        measured = ~np.isnan(ends)
        total = np.where(measured, ends, 0.0).sum(axis=1)
        count = measured.sum(axis=1)
        return np.where(count > 0, total / np.maximum(count, 1), np.nan)

    def ends(self, metric: str) -> Floats:
        """(rows, repeats) values of a metric at the last measured level of each repeat; NaN if there is none."""
        v = self.values[..., self.metric(metric)]
        last = np.maximum((~np.isnan(v)).sum(axis=2) - 1, 0)
        return np.take_along_axis(v, last[..., None], axis=2)[..., 0]

    def subset(self, rows: npt.ArrayLike, name: str | None = None) -> Table:
        """The table with only the rows at these indices, in this order; `name` renames it."""
        index = np.asarray(rows, dtype=np.intp)
        names = ("values", "cost", "configs", "features", "status", "source_index")
        arrays = {a: getattr(self, a)[index] for a in names}
        keys, fresh = tuple(self.keys[i] for i in index), dataclasses.replace(self.provenance, sha256="")
        return dataclasses.replace(self, name=name or self.name, keys=keys, provenance=fresh, **arrays)


def _index_of(table: Table, config: Mapping[str, Any]) -> int:
    known = {h.name: h for h in table.space}
    for name in config:
        one_of(f"hyperparameter of table {table.name}", name, known)
    left = np.arange(len(table))
    wanted = np.zeros(len(known))
    for j, h in enumerate(table.space):
        if not active(table.space, wanted[None])[0, j]:
            continue
        if h.name not in config:
            raise ValueError(f"config must have {h.name}, got {', '.join(config) or 'nothing'}")
        wanted[j], measured = h.stored(config[h.name]), table.configs[left, j]
        same = np.isclose(measured, wanted[j], rtol=1e-9, atol=0.0)
        if not same.any():
            before = "" if len(left) == len(table) else " with the values before it"
            near = h.natural(measured[np.abs(measured - wanted[j]).argmin()])
            rule = f"a value that table {table.name} measured{before}"
            raise ValueError(f"{h.name} must be {rule}, got {shown(config[h.name])}, the nearest is {near!r}")
        left = left[same]
    return int(left[0])


def _frozen(array: Any, dtype: Any) -> bool:
    """Return whether an array needs no copy: it has the dtype, owns its C-ordered data and is read-only."""
    if type(array) is not np.ndarray or array.dtype != dtype:
        return False
    return bool(array.flags.owndata and array.flags.c_contiguous and not array.flags.writeable)


GRAPHS: dict[str, Callable[[str], Any]] = {}
"""Data set -> function from the key of a row to its graph, set by the builders of data sets whose rows are graphs."""


def feature_matrix(space: tuple[Hyperparameter, ...], configs: Floats) -> tuple[tuple[str, ...], Floats]:
    """Names and (rows, d) values in [0, 1] of the features of raw configurations.

    Numbers become one column in [0, 1]; a categorical becomes one 0/1 column per choice.
    """
    names: list[str] = []
    for h in space:
        names += [f"{h.name}={choice}" for choice in h.values] if h.kind == "categorical" else [h.name]
    matrix = np.empty((len(configs), len(names)))
    for start in range(0, len(configs), BLOCK):
        part, at = slice(start, start + BLOCK), 0
        for j, h in enumerate(space):
            if h.kind == "categorical":
                for code in range(len(h.values)):
                    matrix[part, at + code] = configs[part, j] == code
                at += len(h.values)
            else:
                matrix[part, at] = h.scale(configs[part, j])
                at += 1
    return tuple(names), matrix


def searched(space: tuple[Hyperparameter, ...], configs: Floats) -> dict[str, Any]:
    """Fields for a Table whose features are its scaled configurations."""
    names, features = feature_matrix(space, configs)
    return {"space": space, "configs": configs, "feature_names": names, "features": features}


def _check_laws(t: Table) -> None:
    def law(holds: bool, rule: str, got: object = "") -> None:
        if not holds:
            raise ValueError(f"table {t.name}: {rule}" + (f", got {got}" if got != "" else ""))

    rows = len(t.keys)
    law(rows > 0, "must have at least one row", rows)
    law(_unique(t.keys), "keys must be unique")
    law(t.values.ndim == 4, "values must be (rows, repeats, levels, metrics)", t.values.shape)
    shape = (rows, t.values.shape[1], len(t.levels))
    law(t.values.shape == (*shape, len(t.metrics)), f"values must be {(*shape, len(t.metrics))}", t.values.shape)
    law(t.cost.shape == shape, f"cost must be {shape}", t.cost.shape)
    law(t.status.shape == shape[:2], f"status must be {shape[:2]}", t.status.shape)
    law(bool((t.status < len(STATUSES)).all()), f"status must index {STATUSES}", t.status.max(initial=0))
    law(t.configs.shape == (rows, len(t.space)), f"configs must be {(rows, len(t.space))}", t.configs.shape)
    d = len(t.feature_names)
    law(t.features.shape == (rows, d), f"features must be {(rows, d)}", t.features.shape)
    law(t.source_index.shape == (rows,), f"source_index must be {(rows,)}", t.source_index.shape)
    places = np.sort(t.source_index)
    law(bool(places[0] >= 0 and (places[1:] > places[:-1]).all()), "source_index must be unique and >= 0")
    law(bool(np.isfinite([t.configs.min(initial=0), t.configs.max(initial=0)]).all()), "configs must be finite")
    law(bool(t.features.min(initial=0) >= 0 and t.features.max(initial=1) <= 1), "features must lie in [0, 1]")
    rising = bool(np.isfinite(t.levels).all() and (np.diff(t.levels) > 0).all())
    law(rising, "levels must be finite and increasing", t.levels.tolist())
    law(len(set(t.metric_names)) == len(t.metrics), "metric names must be unique", t.metric_names)
    for m in t.metrics:
        finite = -LARGEST <= m.low < m.high <= LARGEST
        law(finite, f"bounds of {m.name} must be low < high, up to {LARGEST:g}", f"{m.low:g} to {m.high:g}")
    huge = bool((t.values > LARGEST).any() or (t.values < -LARGEST).any())
    law(not huge, f"values must be NaN or from {-LARGEST:g} to {LARGEST:g}", "larger ones")
    law(not np.isinf(t.cost).any(), "cost must be finite or NaN", "inf")
    law(not (t.cost < 0).any(), "cost must be >= 0", "a negative one")
    hole: npt.NDArray[np.bool_] = np.isnan(t.values)
    law(not (hole[:, :, :-1] & ~hole[:, :, 1:]).any(), "NaN must be trailing along levels, never inside")
    empty = np.asarray(hole.all(axis=(2, 3)))
    law(not (empty[:, :-1] & ~empty[:, 1:]).any(), "NaN must be trailing along repeats, never inside")
    law(not (np.isnan(t.cost) & ~hole.all(axis=3)).any(), "cost must be known where a value is")
    law(not (np.diff(t.cost, axis=2) < 0).any(), "cost must not decrease along levels")


def _unique(keys: tuple[str, ...]) -> bool:
    """Return whether keys are distinct; compares hashes first, to save memory."""
    hashes = np.fromiter(map(hash, keys), np.int64, len(keys))
    hashes.sort()
    return bool((hashes[1:] != hashes[:-1]).all()) or len(set(keys)) == len(keys)


def _digest(t: Table) -> str:
    """Return the SHA-256 of the fields except `source_index`; of `provenance` it covers the kind alone."""
    head: Mapping[str, Any] = {
        "name": t.name, "kind": t.provenance.kind, "keys": [],
        "space": [{k: v for k, v in vars(h).items() if v or k != "complement"} for h in t.space],
        "feature_names": t.feature_names, "metrics": [vars(m) for m in t.metrics], "cost_unit": t.cost_unit,
        "level_unit": t.level_unit, "shape": t.values.shape,
    }  # fmt: skip
    before, mark, after = json.dumps(head, sort_keys=True, default=str).partition('"keys": [')
    digest = hashlib.sha256((before + mark).encode())
    for start in range(0, len(t.keys), BLOCK):
        digest.update((", " * (start > 0) + json.dumps(t.keys[start : start + BLOCK])[1:-1]).encode())
    digest.update(after.encode())
    for array in (t.values, t.cost, t.configs, t.features, t.levels):
        flat = array.reshape(-1)
        for start in range(0, flat.size, BLOCK):
            part = flat[start : start + BLOCK]
            # Adding 0.0 turns -0.0 into 0.0 and one NaN pattern stands for all: equal tables hash equally.
            digest.update(np.where(np.isnan(part), np.nan, part + 0.0).astype("<f8").tobytes())
    digest.update(t.status.tobytes())
    return digest.hexdigest()


class ByHash:
    """A table compared by its name and provenance, which includes the hash of its content."""

    def __init__(self, table: Table) -> None:
        self.table = table

    def __hash__(self) -> int:
        return hash(self.table.provenance.sha256)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ByHash) and (
            (self.table.name, self.table.provenance) == (other.table.name, other.table.provenance)
        )

"""Search spaces from dicts, tuples, Optuna and ConfigSpace, to dicts and ConfigSpace; their points in [0, 1]."""

import dataclasses
import enum
import itertools
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set, ValuesView
from decimal import Decimal
from typing import Any

import numpy as np
import numpy.typing as npt

from hpo_envs.tables import exact
from hpo_envs.tables.checks import check_bool, extra_module, one_of, scalar, shown, unshared
from hpo_envs.tables.table import Floats, Hyperparameter, active, is_number

MOST_STEPS = 1_000_000
"""Largest number of steps of a range."""

WORDS = ("log", "int", "float")
"""Options after the two ends of a range."""

KEYS = ("low", "high", "log", "step", "kind", "choices", "values", "if")
"""Keys of a hyperparameter given as a mapping."""

POSITION = frozenset({"values", "categorical", "parent", "when", "others"})
"""Fields of an axis that concern coordinates; the others concern natural values."""


def space_of(given: Any) -> tuple[Hyperparameter, ...]:
    """The hyperparameters of a search space.

    Args:
        given: A sequence of `Hyperparameter`; a `ConfigSpace.ConfigurationSpace`; or a mapping of names to a
            distribution of Optuna, a `Hyperparameter`, or plain data: a tuple `(low, high)` is a range, of ints if both
            ends are, optionally followed by `"log"` and `"int"` or `"float"`, and so is a list that ends in such a
            word; any other list, a `range` or an array is choices, which are ordered if all are numbers; a mapping has
            `low` and `high` (with `log`, `step`, `kind`), ordered `values` or unordered `choices`, and optionally
            `if = {parent: [choices], ...}`; anything else but a set, an iterator or a distribution is a constant.

    Raises:
        ValueError: The space is empty or has another form, names or choices are not distinct, a range is empty or does
            not suit its scale or step, or a condition does not name values of a hyperparameter before it.
    """
    if hasattr(given, "conditions") and hasattr(given, "values"):
        given = _of_configspace(given)
    if isinstance(given, Mapping):
        space = tuple(_entry(str(name), value) for name, value in given.items())
    elif isinstance(given, Sequence) and all(isinstance(h, Hyperparameter) for h in given):
        space = tuple(given)
    else:
        rule = "a dict, a ConfigurationSpace or a sequence of Hyperparameter"
        raise ValueError(f"space must be {rule}, got {shown(given)}")
    if not space:
        raise ValueError("space must have at least one hyperparameter, got none")
    _check(space)
    return space


def to_plain(h: Hyperparameter) -> dict[str, Any]:
    """Return the definition of a hyperparameter as plain data, which `space_of` accepts as the value of its name."""
    if h.kind == "categorical":
        entry: dict[str, Any] = {"choices": list(h.values)}
    elif h.values:
        entry = {"values": list(h.values), "log": h.log}
    else:
        low, high = h.bounds  # a decay rate, stored as 1 - value, has no logarithmic scale of its own
        entry = {"low": low, "high": high, "kind": h.kind}
        entry |= {"log": True} if h.log and not h.complement else {}
    return entry | ({"if": {parent: [*choices] for parent, choices in h.conditions.items()}} if h.condition else {})


def _check(space: tuple[Hyperparameter, ...]) -> None:
    names = [h.name for h in space]
    if len(set(names)) < len(names):
        raise ValueError(f"names in space must be distinct, got {', '.join(names)}")
    for h in space:
        if h.kind == "int" and abs(largest := max((h.low, h.high, *h.values), key=abs)) > 2**53:
            raise ValueError(f"{h.name} must have ints up to 2**53, as float64 merges larger ones, got {largest:.0f}")
        for text in (t for t in (h.name, *h.values) if isinstance(t, str) and re.search("[\ud800-\udfff]", t)):
            raise ValueError(f"names and choices in space must be valid Unicode, got {text!r}")
        for parent, choices in h.conditions.items():
            if parent not in names[: names.index(h.name)]:
                raise ValueError(f"condition of {h.name} must name a hyperparameter before it, got {parent!r}")
            above = space[names.index(parent)]
            if not choices:
                raise ValueError(f"condition of {h.name} must name at least one value of {parent}, got none")
            for choice in choices:
                if above.place(choice) is None:
                    known = ", ".join(map(repr, above.values)) or "none; list them instead of a range"
                    raise ValueError(f"condition of {h.name} must name values of {parent} ({known}), got {choice!r}")


def _entry(name: str, value: Any) -> Hyperparameter:
    """Return the hyperparameter of a name and a definition in any notation of `space_of`; ValueError if invalid."""
    if isinstance(value, Hyperparameter):
        return value
    if type(value).__name__.endswith("Distribution"):
        value = _of_optuna(value)
    # JSON and TOML have no tuples: a list that ends in one of the words is a range, too.
    elif isinstance(value, tuple) or (isinstance(value, list) and len(value) > 2 and value[-1] in WORDS):
        value = tuple(map(scalar, value))
        words = value[2:]
        if not 2 <= len(value) <= 4 or not all(map(is_number, value[:2])) or not set(words) <= set(WORDS):
            rule = f"(low, high), optionally followed by {', '.join(WORDS)}"
            raise ValueError(f"{name} must be {rule}, got {shown(value)}")
        kind = next((w for w in words if w != "log"), None)
        value = {"low": value[0], "high": value[1], "log": "log" in words, "kind": kind}
    elif isinstance(value, (Set, Iterator, ValuesView, enum.EnumMeta)) or hasattr(value, "rvs"):
        raise ValueError(f"{name} must be a range (low, high), a list of choices or a constant, got {shown(value)}")
    elif isinstance(value, range) or (isinstance(value, np.ndarray) and value.ndim == 1):
        return _listed(name, list(value))
    elif not isinstance(value, Mapping):
        return _listed(name, value if isinstance(value, list) else [value])
    for key in value:
        one_of(f"key of {name}", key, KEYS)
    if len({"low" if key in ("high", "step") else key for key in value} & {"low", "choices", "values"}) > 1:
        raise ValueError(f"{name} must have either choices, values, or low and high, got {shown(dict(value))}")
    check_bool(f"log of {name}", scalar(value.get("log", False)))
    if "choices" in value or "values" in value:
        key = "values" if "values" in value else "choices"
        if isinstance(value[key], (str, Mapping, set)) or not isinstance(value[key], Iterable):
            raise ValueError(f"{key} of {name} must be a list, got {shown(value[key])}")
        h = _listed(name, list(value[key]), key == "values")
        h = dataclasses.replace(h, log=bool(value.get("log", h.log)) and h.kind != "categorical")
    else:
        h = _range(name, value)
    given = value.get("if")
    if given is None:
        return h
    if not isinstance(given, Mapping) or not given:
        raise ValueError(f"if of {name} must be {{parent: [choices], ...}}, got {given!r}")
    pairs = ((str(p), tuple(c) if isinstance(c, (list, tuple)) else (c,)) for p, c in given.items())
    return dataclasses.replace(h, condition=tuple(itertools.chain(*pairs)))


def _range(name: str, given: Mapping[str, Any]) -> Hyperparameter:
    """A hyperparameter from a mapping with `low` and `high`."""
    low, high, step = (scalar(given.get(key)) for key in ("low", "high", "step"))
    log = bool(given.get("log", False))
    if not is_number(low) or not is_number(high):
        raise ValueError(f"{name} must have numeric low and high, choices or values, got {shown(dict(given))}")
    whole = all(isinstance(end, (int, np.integer)) for end in (low, high)) and not (is_number(step) and step % 1)
    kind: Any = given.get("kind") or ("int" if whole else "float")
    if kind not in ("int", "float"):
        raise ValueError(f"kind of {name} must be int or float, got {kind!r}")
    if kind == "int" and (low % 1 or high % 1 or (is_number(step) and step % 1)):
        by = "" if step is None else f" by {step}"
        raise ValueError(f"ends and step of {name} must be whole for ints, got {low} to {high}{by}")
    values: tuple[Any, ...] = ()
    if step is not None and (kind == "float" or step != 1):
        if not (is_number(step) and step > 0) or log or step > high - low > 0:
            rule = "a number > 0 and at most high - low, on a linear scale"
            raise ValueError(f"step of {name} must be {rule}, got {shown(step)}")
        if not 0 <= (float(high) - float(low)) / step < MOST_STEPS:
            raise ValueError(f"range of {name} must be at most {MOST_STEPS} steps, got {low} to {high} by {step}")
        first, each = Decimal(str(low)), Decimal(str(step))  # 0.1 + 2 * 0.1 is 0.3
        numbers = (first + i * each for i in range(math.floor((high - low) / step + 1e-9) + 1))
        values = tuple(map(int if kind == "int" else float, numbers))
        high = values[-1]
    return Hyperparameter(name, kind, float(low), float(high), log, values)


def _listed(name: str, values: list[Any], ordered: bool | None = None) -> Hyperparameter:
    """A hyperparameter with listed values; several numbers are ordered unless `ordered` is False.

    They are logarithmic if all are positive and the largest is at least 100 times the smallest.
    """
    values = [*map(scalar, values)]
    for v in (v for v in values if hasattr(v, "shape")):
        raise ValueError(f"choices of {name} must be values, got {type(v).__name__} of shape {tuple(v.shape)}")
    if any(isinstance(v, float) and math.isnan(v) for v in values):
        raise ValueError(f"choices of {name} must not be NaN, which equals nothing, got {shown(values)}")
    try:
        distinct = len({(type(v), v) for v in values}) == len(values)
    except TypeError:  # lists
        distinct = not any(a == b and type(a) is type(b) for a, b in itertools.combinations(values, 2))
    if not values or not distinct:
        raise ValueError(f"choices of {name} must be distinct and not empty, got {shown(values)}")
    numbers = all(is_number(v) and not isinstance(v, enum.Enum) for v in values)
    if ordered and not numbers:
        raise ValueError(f"values of {name} must be numbers, got {shown(values)} (choices have no order)")
    if numbers and ordered is not False and len(values) > 1:
        grid = tuple(sorted(values))
        log = grid[0] > 0 and grid[-1] >= 100.0 * grid[0]
        kind: Any = "int" if all(isinstance(v, int) for v in grid) else "float"
        return Hyperparameter(name, kind, float(grid[0]), float(grid[-1]), log, grid)
    return Hyperparameter(name, "categorical", 0.0, float(len(values) - 1), False, tuple(values))


def _of_optuna(distribution: Any) -> dict[str, Any]:
    """A distribution as plain data."""
    if hasattr(distribution, "choices"):
        return {"choices": distribution.choices}
    kind, log = "int" if type(distribution).__name__.startswith("Int") else "float", bool(distribution.log)
    step = None if log else distribution.step
    return {"low": distribution.low, "high": distribution.high, "log": log, "step": step, "kind": kind}


def _of_configspace(given: Any) -> dict[str, Any]:
    """Return a ConfigurationSpace as plain data; ValueError for forbidden clauses or conditions other than ==, in."""
    if list(getattr(given, "forbidden_clauses", ())):
        raise ValueError(f"space must not have forbidden clauses, got {given.forbidden_clauses[0]}")
    found: dict[str, dict[str, Any]] = {}
    for h in given.values():
        if hasattr(h, "lower"):
            kind = "int" if "Integer" in type(h).__name__ else "float"
            found[h.name] = {"low": h.lower, "high": h.upper, "log": h.log, "kind": kind}
        elif hasattr(h, "sequence") and all(map(is_number, h.sequence)):
            found[h.name] = {"values": h.sequence}
        else:
            found[h.name] = {"choices": getattr(h, "sequence", getattr(h, "choices", None)) or [h.value]}
    for both in given.conditions:
        for c in both.components if type(both).__name__ == "AndConjunction" else [both]:
            if type(c).__name__ not in ("EqualsCondition", "InCondition"):
                raise ValueError(f"conditions of a space must be == or in, or several of these with and, got {c}")
            wanted = found[c.child.name].setdefault("if", {})
            wanted[c.parent.name] = list(c.values) if hasattr(c, "values") else [c.value]
    return found


def to_configspace(space: tuple[Hyperparameter, ...], seed: int | None = None) -> Any:
    """Export a search space to a `ConfigSpace.ConfigurationSpace`.

    Listed numbers become ordinals, choices categoricals, ranges uniform floats or integers (logarithmic where the
    space is, except decay rates), single numbers constants; conditional hyperparameters get their condition.

    Args:
        space: Search space of a table, such as `env.unwrapped.table.space`.
        seed: Seed of ConfigSpace's own sampling.

    Raises:
        ModuleNotFoundError: ConfigSpace is not installed.
    """
    cs = extra_module("ConfigSpace", "interop", "exports")
    out = cs.ConfigurationSpace(seed=seed)
    for h in space:
        if h.kind == "categorical":
            made = cs.CategoricalHyperparameter(h.name, list(h.values))
        elif len(h.values) == 1 or h.low == h.high:
            made = cs.Constant(h.name, h.natural(h.low))
        elif h.values:
            made = cs.OrdinalHyperparameter(h.name, list(h.values))
        elif h.kind == "int":
            made = cs.UniformIntegerHyperparameter(h.name, int(h.low), int(h.high), log=h.log)
        else:
            made = cs.UniformFloatHyperparameter(h.name, *h.bounds, log=h.log and not h.complement)
        out.add(made)
    for h in (h for h in space if h.condition):
        each = [cs.InCondition(out[h.name], out[parent], list(choices)) for parent, choices in h.conditions.items()]
        out.add(each[0] if len(each) == 1 else cs.AndConjunction(*each))
    return out


class Points:
    """The points of a search space: coordinates in [0, 1], stored numbers, and natural values.

    Attributes:
        space: The hyperparameters, see `space_of`.
    """

    def __init__(self, space: tuple[Hyperparameter, ...]) -> None:
        self.space = space

    def raw(self, unit: Floats) -> Floats:
        """(n, d) stored numbers at (n, d) coordinates in [0, 1], 0 if inactive; listed values divide [0, 1] equally."""
        raw = np.column_stack([raw_of(h, unit[:, j]) for j, h in enumerate(self.space)])
        return np.where(self.active(raw), raw, 0.0)

    def unit(self, raw: Floats) -> Floats:
        """(n, d) coordinates in [0, 1] of (n, d) stored numbers; a listed value has the middle of its interval."""
        return np.column_stack([unit_of(h, raw[:, j]) for j, h in enumerate(self.space)])

    def active(self, raw: Floats) -> npt.NDArray[np.bool_]:
        """(n, d) mask of active hyperparameters: those whose conditions hold and whose parents are active."""
        return active(self.space, raw)

    def config(self, raw: Floats) -> dict[str, Any]:
        """The active hyperparameters of stored numbers (d,), with natural values."""
        active = self.active(raw[None])[0]
        return {h.name: unshared(h.natural(v)) for h, v, on in zip(self.space, raw.tolist(), active, strict=True) if on}

    def row(self, config: Mapping[str, Any]) -> Floats:
        """(d,) stored numbers of natural values; inactive hyperparameters are 0, given or not, and not checked.

        Raises:
            ValueError: A name is unknown, or an active hyperparameter is missing or has an invalid value.
        """
        for name in config:
            one_of("name in config", name, [h.name for h in self.space])
        raw = np.zeros(len(self.space))
        for j, h in enumerate(self.space):
            if h.condition and not self.active(raw[None])[0, j]:
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

    def weights(self, raw: Floats) -> Floats | None:
        """(n,) probabilities of (n, d) distinct points in random search; None without conditions: all are equal.

        Each value of a parent is equally likely, however many of the points have it.
        """
        parents = [j for j, h in enumerate(self.space) if any(h.name in other.conditions for other in self.space)]
        if not parents:
            return None
        active = self.active(raw)[:, parents]
        sizes = np.array([_size(self.space[j]) for j in parents])
        branches = np.where(active, raw[:, parents], np.inf)
        _, which, counts = np.unique(branches, axis=0, return_inverse=True, return_counts=True)
        weights = np.where(active, 1.0 / sizes, 1.0).prod(axis=1) / counts[which.reshape(-1)]
        return np.asarray(weights / weights.sum())

    def candidates(self, count: int, seed: int) -> Floats:
        """(n, d) stored numbers: the grid if `size` is at most `count`, else up to `count` quasi-random points.

        They are distinct and in an order that depends on the seed. A smaller count gives the first of them, unless the
        larger one gives the grid. Quasi-random points are scrambled Sobol points, see `scipy.stats.qmc.Sobol`.
        """
        if self.size <= count:
            return np.random.default_rng(seed).permutation(self.grid())
        from scipy.stats import qmc

        engine = qmc.Sobol(len(self.space), scramble=True, rng=np.random.default_rng(seed))
        points = engine.random_base2((8 * count - 1).bit_length())  # many may be equal
        raw = self.raw(points[: 2 * count])
        if len(np.unique(raw, axis=0)) < count:
            raw = self.raw(points)
        kept = np.sort(np.unique(raw, axis=0, return_index=True)[1])
        return raw[kept[:count]]


def axes_of(space: tuple[Hyperparameter, ...]) -> tuple[dict[str, Any], ...]:
    """Fields of an agent's `Axis` for each hyperparameter of a space: coordinates and natural values.

    A range of at most 64 integers is a list of values; one of more is treated as real.
    """
    at, axes = {h.name: j for j, h in enumerate(space)}, []
    for h in space:
        listed: Floats
        if h.kind == "categorical":
            listed = np.arange(len(h.values), dtype=np.float64)
        elif h.values:
            listed = np.array(h.values, np.float64)
        else:
            listed = np.arange(h.low, h.high + 1.0) if _size(h) <= 64 else np.empty(0)
        axis: dict[str, Any] = {"values": tuple(unit_of(h, listed).tolist()), "categorical": h.kind == "categorical"}
        axis |= {"name": h.name, "choices": tuple(map(_plain, h.values)), "log": h.log}
        axis |= {"low": float(h.low), "high": float(h.high), "whole": h.kind == "int"}
        when = [(at[p], tuple(map(space[at[p]].place, c))) for p, c in h.conditions.items()]
        if when:
            axis |= {"parent": when[0][0], "when": when[0][1], "others": tuple(when[1:])}
        axes.append(axis)
    return tuple(axes)


def _plain(value: Any) -> Any:
    """Return a choice as JSON data; its `repr` if it is not a text, number, Boolean or None."""
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
    """(n,) coordinates in [0, 1] of (n,) stored numbers; a listed value has the middle of its interval."""
    if h.values:
        listed = np.arange(len(h.values)) if h.kind == "categorical" else np.array(h.values, np.float64)
        return np.asarray((np.abs(raw[:, None] - listed).argmin(axis=1) + 0.5) / len(h.values))
    low, high = _ends(h)
    value = np.clip(raw, h.low, h.high)
    value = exact.log(value) if h.log else value
    return np.asarray((value - low) / (high - low)) if high > low else np.full(len(raw), 0.5)


def _ends(h: Hyperparameter) -> tuple[float, float]:
    """Return the ends of a range, as natural logarithms if it is logarithmic; those of ints are half a step further."""
    low, high = (h.low - 0.5, h.high + 0.5) if h.kind == "int" else (h.low, h.high)
    return (float(exact.log(max(low, 0.5 * h.low))), float(exact.log(high))) if h.log else (low, high)

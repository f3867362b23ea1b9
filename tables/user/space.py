"""Search spaces from and to the usual notations (tuples, dicts, Optuna, ConfigSpace)."""

import dataclasses
import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from hpo_envs.tables.checks import extra_module, one_of, scalar
from hpo_envs.tables.table import Hyperparameter, is_number

LOG = 100.0
"""Smallest ratio of the largest to the smallest of listed positive numbers for a logarithmic scale."""

WORDS = ("log", "int", "float")
"""Options after the two ends of a range."""

KEYS = ("low", "high", "log", "step", "kind", "choices", "values", "if")
"""Keys of a hyperparameter given as a mapping."""


def space_of(given: Any) -> tuple[Hyperparameter, ...]:
    """The hyperparameters of a search space.

    Args:
        given: A sequence of `Hyperparameter`; a `ConfigSpace.ConfigurationSpace`; or a mapping of names to a
            distribution of Optuna, a `Hyperparameter`, or plain data: a tuple `(low, high)` is a range, of ints if both
            ends are, optionally followed by `"log"` and `"int"` or `"float"`, and so is a list that ends in such a
            word; any other list is choices, which are ordered if all are numbers; a mapping has `low` and `high` (with
            `log`, `step`, `kind`), ordered `values` or unordered `choices`, and optionally
            `if = {parent: [choices], ...}`; anything else is a constant.

    Raises:
        ValueError: The space has another form, names or choices are not distinct, a range is empty, or a condition does
            not name values of a hyperparameter before it.
    """
    if hasattr(given, "conditions") and hasattr(given, "values"):
        given = _of_configspace(given)
    if isinstance(given, Mapping):
        space = tuple(_entry(str(name), value) for name, value in given.items())
    elif isinstance(given, Sequence) and all(isinstance(h, Hyperparameter) for h in given):
        space = tuple(given)
    else:
        raise ValueError(
            f"space must be a dict, a ConfigurationSpace or a sequence of Hyperparameter, got {str(given)[:80]!r}"
        )
    if not space:
        raise ValueError("space must have at least one hyperparameter, got none")
    _check(space)
    return space


def to_plain(h: Hyperparameter) -> dict[str, Any]:
    """A hyperparameter as plain data, which `space_of` takes under its name."""
    if h.kind == "categorical":
        entry: dict[str, Any] = {"choices": list(h.values)}
    elif h.values:
        entry = {"values": list(h.values), "log": h.log and h.low > 0}
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
        finite = math.isfinite(h.low) and math.isfinite(h.high)
        if not finite or h.low > h.high or (h.log and h.low <= 0):
            rule = "0 < low <= high" if h.log else "finite numbers, low <= high"
            raise ValueError(f"range of {h.name} must be {rule}, got {h.low:g} to {h.high:g}")
        for parent, choices in h.conditions.items():
            if parent not in names[: names.index(h.name)]:
                raise ValueError(f"condition of {h.name} must name a hyperparameter before it, got {parent!r}")
            known = space[names.index(parent)].values
            if not choices:
                raise ValueError(f"condition of {h.name} must name at least one value of {parent}, got none")
            for choice in choices:
                if choice not in known:
                    shown = ", ".join(map(repr, known)) or "none"
                    raise ValueError(f"condition of {h.name} must name values of {parent} ({shown}), got {choice!r}")


def _entry(name: str, value: Any) -> Hyperparameter:
    """The hyperparameter with a name and a definition in any notation."""
    if isinstance(value, Hyperparameter):
        return value
    if type(value).__name__.endswith("Distribution"):
        value = _of_optuna(value)
    # JSON and TOML have no tuples: a list that ends in one of the words is a range, too.
    elif isinstance(value, tuple) or (isinstance(value, list) and len(value) > 2 and value[-1] in WORDS):
        value = tuple(map(scalar, value))
        words = value[2:]
        if not 2 <= len(value) <= 4 or not all(map(is_number, value[:2])) or not set(words) <= set(WORDS):
            raise ValueError(f"{name} must be (low, high), optionally followed by {', '.join(WORDS)}, got {value!r}")
        kind = next((w for w in words if w != "log"), None)
        value = {"low": value[0], "high": value[1], "log": "log" in words, "kind": kind}
    elif not isinstance(value, Mapping):
        return _listed(name, value if isinstance(value, list) else [value])
    for key in value:
        one_of(f"key of {name}", key, KEYS)
    if "choices" in value or "values" in value:
        ordered = "values" in value
        h = _listed(name, list(value["values" if ordered else "choices"]), ordered)
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
        raise ValueError(f"{name} must have numeric low and high, choices or values, got {dict(given)!r}")
    whole = isinstance(low, (int, np.integer)) and isinstance(high, (int, np.integer))
    kind: Any = given.get("kind") or ("int" if whole else "float")
    if kind not in ("int", "float"):
        raise ValueError(f"kind of {name} must be int or float, got {kind!r}")
    values: tuple[Any, ...] = ()
    if step is not None and (kind == "float" or step != 1):
        if not (is_number(step) and step > 0) or log:
            raise ValueError(f"step of {name} must be a number > 0 on a linear scale, got {step!r}")
        values = tuple(low + i * step for i in range(math.floor((high - low) / step + 1e-9) + 1))
        high = values[-1]
    return Hyperparameter(name, kind, float(low), float(high), log, values)


def _listed(name: str, values: list[Any], ordered: bool | None = None) -> Hyperparameter:
    """A hyperparameter with listed values; several numbers are ordered unless `ordered` is False."""
    values = [*map(scalar, values)]
    for v in (v for v in values if hasattr(v, "shape")):
        raise ValueError(f"choices of {name} must be values, got {type(v).__name__} of shape {tuple(v.shape)}")
    if not values or any(a == b and type(a) is type(b) for a, b in itertools.combinations(values, 2)):
        raise ValueError(f"choices of {name} must be distinct and not empty, got {values!r}")
    numbers = all(map(is_number, values))
    if ordered and not numbers:
        raise ValueError(f"values of {name} must be numbers, got {values!r} (choices have no order)")
    if numbers and ordered is not False and len(values) > 1:
        grid = tuple(sorted(values))
        log = grid[0] > 0 and grid[-1] >= LOG * grid[0]
        kind: Any = "int" if all(isinstance(v, int) for v in grid) else "float"
        return Hyperparameter(name, kind, float(grid[0]), float(grid[-1]), log, grid)
    return Hyperparameter(name, "categorical", 0.0, float(len(values) - 1), False, tuple(values))


def _of_optuna(distribution: Any) -> dict[str, Any]:
    """A distribution as plain data."""
    if hasattr(distribution, "choices"):
        return {"choices": distribution.choices}
    kind, log = "int" if type(distribution).__name__ == "IntDistribution" else "float", bool(distribution.log)
    step = None if log else distribution.step
    return {"low": distribution.low, "high": distribution.high, "log": log, "step": step, "kind": kind}


def _of_configspace(given: Any) -> dict[str, Any]:
    """A `ConfigSpace.ConfigurationSpace` as plain data."""
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
    """Export a search space to ConfigSpace.

    Listed numbers become ordinals, choices categoricals, ranges uniform floats or integers (logarithmic where the
    space is), single values constants; conditional hyperparameters get their condition.

    Args:
        space: Search space of a table, such as `env.unwrapped.table.space`.
        seed: Seed of ConfigSpace's own sampling.

    Returns:
        A `ConfigSpace.ConfigurationSpace`.

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

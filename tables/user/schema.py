"""Roles of the columns of a file as the user states them, and as a TOML file."""

import json
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hpo_envs.tables.checks import one_of, parsed
from hpo_envs.tables.table import Hyperparameter, Table
from hpo_envs.tables.user.space import space_of, to_plain

NO_COST = "evaluations"
"""Cost without a column: every evaluation costs 1."""


@dataclass(frozen=True)
class Schema:
    """Schema of the columns; missing entries are inferred.

    Attributes:
        score: Column(s) of the metric(s); the first is rewarded.
        goal: `max` or `min`, for each.
        cost: Column of what a run cost, cumulative along checkpoints; `evaluations`: every evaluation costs 1.
        level: Column of the checkpoint, where a run has several lines.
        repeat: Column that tells runs of one configuration apart (a seed, a fold).
        status: Column of how a run ended.
        hyperparameters: Columns to take; default: all that remain.
        drop: Columns to leave out.
        categorical: Columns of numbers that have no order.
        log: Column -> whether its scale is logarithmic.
        fill: Column -> what an empty cell or `none` means there.
        bounds: Score -> (lowest, highest) value by its definition.
        duplicates: Whether lines that are equal in every cell are one run; default: unless configurations are repeated.
        space: The hyperparameters and their definitions, which are not guessed then.
    """

    score: tuple[str, ...] = ()
    goal: tuple[Any, ...] = ()
    cost: str | None = None
    level: str | None = None
    repeat: str | None = None
    status: str | None = None
    hyperparameters: tuple[str, ...] | None = None
    drop: tuple[str, ...] = ()
    categorical: tuple[str, ...] = ()
    log: Mapping[str, bool] = field(default_factory=dict)
    fill: Mapping[str, Any] = field(default_factory=dict)
    bounds: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    duplicates: bool | None = None
    space: tuple[Hyperparameter, ...] = ()


_LIST, _MAPPING = ("a list of names", Iterable), ("a mapping of columns", Mapping)
_RULES: dict[str, tuple[str, Any]] = {
    **dict.fromkeys(("score", "goal", "hyperparameters", "drop", "categorical"), _LIST),
    **dict.fromkeys(("log", "fill", "bounds"), _MAPPING),
    **dict.fromkeys(("cost", "level", "repeat", "status"), ("the name of a column", str)),
    "duplicates": ("true or false", bool),
    "space": ("a search space", object),
}


def schema_of(given: Mapping[str, Any], source: str = "schema") -> Schema:
    """A schema of plain data: names of `Schema` with texts, lists or mappings; see `space_of` for the space.

    Raises:
        ValueError: An unknown name, or a value of another kind.
    """
    made: dict[str, Any] = {}
    for key, value in given.items():
        rule, kind = _RULES[one_of(f"{source}: key", key, _RULES)]
        if value is None:
            continue
        if not isinstance(value, kind):
            raise ValueError(f"{source}: {key} must be {rule}, got {value!r}")
        if kind is Iterable:
            value = (value,) if isinstance(value, str) else tuple(map(str, value))
        made[key] = space_of(value) if key == "space" else value
    return Schema(**made)


def from_file(path: str | Path) -> Schema:
    """A schema in a TOML file, as `to_toml` writes it.

    Raises:
        ValueError: The file is none.
        OSError: It cannot be read.
    """
    return schema_of(parsed(Path(path), tomllib.loads, "TOML"), str(path))


def to_toml(schema: Schema, table: Table) -> str:
    """The complete schema as a TOML file, including inferred entries."""
    lines = ["# What the columns are: hpo-envs table from-csv FILE --schema THIS"]
    for name in ("score", "goal", "cost", "level", "repeat", "status", "drop", "duplicates"):
        value = getattr(schema, name)
        if value not in (None, ()):
            lines.append(f"{name} = {_toml(value)}")
    for name in ("fill", "bounds"):
        value = {m.name: (m.low, m.high) for m in table.metrics} if name == "bounds" else getattr(schema, name)
        if value:
            lines += ["", f"[{name}]", *(f"{_toml(k)} = {_toml(v)}" for k, v in value.items())]
    lines += ["", "[space]", *(f"{_toml(h.name)} = {_toml(to_plain(h))}" for h in table.space)]
    return "\n".join([*lines, ""])


def _toml(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{_toml(k)} = {_toml(v)}" for k, v in value.items()) + " }"
    return json.dumps(value, ensure_ascii=False)  # TOML's, too

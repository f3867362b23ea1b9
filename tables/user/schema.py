"""Roles of the columns of a file as the user states them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from hpo_envs.tables.checks import one_of
from hpo_envs.tables.table import Hyperparameter
from hpo_envs.tables.user.space import space_of

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


def schema_of(given: Mapping[str, Any]) -> Schema:
    """A schema of plain data: names of `Schema` with texts, lists or mappings; see `space_of` for the space.

    Raises:
        ValueError: An unknown name, or a value of another kind.
    """
    made: dict[str, Any] = {}
    for key, value in given.items():
        rule, kind = _RULES[one_of("argument", key, _RULES)]
        if value is None:
            continue
        if not isinstance(value, kind):
            raise ValueError(f"{key} must be {rule}, got {value!r}")
        if kind is Iterable:
            value = (value,) if isinstance(value, str) else tuple(map(str, value))
        made[key] = space_of(value) if key == "space" else value
    return Schema(**made)

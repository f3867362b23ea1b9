"""The user's statement about columns (options of `hpo-envs table`), and decisions on the rest, one line each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd

from hpo_envs.tables.checks import one_of
from hpo_envs.tables.table import LOST, Hyperparameter, Metric
from hpo_envs.tables.user.cells import Floats, Mask
from hpo_envs.tables.user.frame import Decision, Frame
from hpo_envs.tables.user.space import space_of

NO_COST = "evaluations"
"""Unit of the cost if no column has it and there are no checkpoints: 1 per evaluation."""


@dataclass(frozen=True)
class Statement:
    """Meaning of columns, as stated by the user; missing entries are decided.

    Attributes:
        score: Column(s) of the metric(s); the first is rewarded.
        goal: `max` or `min`, one for each score.
        cost: Column of the cost of a run, cumulative over checkpoints; `evaluations`: 1 per run, or the checkpoint.
        level: Column of the checkpoint, if runs have several lines.
        repeat: Column that distinguishes runs of one configuration (a seed, a fold).
        status: Column of the outcome of a run.
        hyperparameters: Columns to use unless they are constant; default: those without another role.
        drop: Columns to leave out.
        categorical: Numeric columns whose values are not ordered.
        log: Column -> whether its scale is logarithmic, or `decay`: logarithmic in 1 - x.
        fill: Column -> value for cells that are empty or `none`.
        bounds: Score -> (lowest, highest) possible value.
        duplicates: Whether lines that are equal in every cell are one run; default: if a column names or distinguishes
            runs, or no configuration has different outcomes.
        space: Definitions of the hyperparameters, which are then not decided.
        decimal: Decimal separator, `.` or `,`.
        ask: Whether to raise an error instead of guessing.
    """

    score: tuple[str, ...] = ()
    goal: tuple[Any, ...] = ()
    cost: str | None = None
    level: str | None = None
    repeat: str | None = None
    status: str | None = None
    hyperparameters: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()
    categorical: tuple[str, ...] = ()
    log: Mapping[str, Any] = field(default_factory=dict)
    fill: Mapping[str, Any] = field(default_factory=dict)
    bounds: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    duplicates: bool | None = None
    space: tuple[Hyperparameter, ...] = ()
    decimal: str | None = None
    ask: bool = False


@dataclass(frozen=True)
class Decisions:
    """Decisions on a frame, extended by each step; `str` returns one line per decision.

    Attributes:
        frame: The frame, reduced to the lines of runs.
        given: The user's statement.
        stated: The statement, completed by decisions.
        said: All decisions with their reasons.
        metrics: The metrics.
        space: The hyperparameters, parents before their children.
        values: Name of a hyperparameter -> its (lines,) stored numbers, NaN where inactive.
        scores: (lines, metrics) float64; NaN: the line does not have this score.
        lines: DataFrame of the `row`, `repeat`, `level`, `cost` and `status` of each line, as far as they are decided.
        cost_unit: Unit of the costs.
        names: Columns that name the runs.
    """

    frame: Frame
    given: Statement
    stated: Statement
    said: tuple[Decision, ...] = ()
    metrics: tuple[Metric, ...] = ()
    space: tuple[Hyperparameter, ...] = ()
    values: Mapping[str, Floats] = field(default_factory=dict)
    scores: Floats = field(default_factory=lambda: np.empty((0, 0)))
    lines: pd.DataFrame = field(default_factory=pd.DataFrame)
    cost_unit: str = ""
    names: tuple[str, ...] = ()

    def __str__(self) -> str:
        return "\n".join(map(str, self.said))

    @property
    def uncertain(self) -> tuple[Decision, ...]:
        """Uncertain decisions, which an option settles."""
        return tuple(d for d in self.said if d.option)

    @property
    def questions(self) -> tuple[Decision, ...]:
        """Open questions, which only the user can settle; until then the decisions are provisional."""
        return tuple(d for d in self.said if d.role == "question")

    @property
    def lost(self) -> Mask:
        """(lines,) mask of runs that failed or diverged."""
        return np.isin(self.lines["status"], LOST)

    def add(self, *said: Decision, stated: Mapping[str, Any] | None = None, **changes: Any) -> Decisions:
        """Return the decisions extended by `said`, with the statement updated by `stated` and fields by `changes`."""
        return replace(self, said=(*self.said, *said), stated=replace(self.stated, **(stated or {})), **changes)


_LIST, _MAPPING = ("a list of names", Iterable), ("a mapping of columns", Mapping)
_RULES: dict[str, tuple[str, Any]] = {
    **dict.fromkeys(("score", "goal", "hyperparameters", "drop", "categorical"), _LIST),
    **dict.fromkeys(("log", "fill", "bounds"), _MAPPING),
    **dict.fromkeys(("cost", "level", "repeat", "status"), ("the name of a column", str)),
    **dict.fromkeys(("duplicates", "ask"), ("true or false", bool)),
    "space": ("a search space", object),
    "decimal": ("a point or a comma", str),
}


def statement_of(given: Mapping[str, Any], frame: Frame) -> Statement:
    """Make a statement from plain data: fields of `Statement` as texts, lists or mappings; space: see `space_of`.

    None and empty values are decided. Columns are named as in `Frame.column`; what is not given is taken from the facts
    on the frame's columns in other files.

    Raises:
        ValueError: A field is unknown, a value has another type, or a column is missing or has two roles.
    """
    made: dict[str, Any] = {}
    stated = {key: value for key, value in given.items() if not _empty(value)}
    known = {k: v for k, v in frame.known.items() if not _empty(v) and (k != "goal" or "score" not in stated)}
    known = {k: v for k, v in known.items() if k != "level" or v in frame.cells}
    for key, value in (known | stated).items():
        rule, kind = _RULES[one_of("argument", key, _RULES)]
        if not isinstance(value, kind) or (key == "decimal" and value not in (".", ",")):
            raise ValueError(f"{key} must be {rule}, got {value!r}")
        if kind is Iterable:
            words = [value] if isinstance(value, str) else map(str, value)
            made[key] = tuple(words if key == "goal" else map(frame.column, words))
        elif kind is Mapping:
            made[key] = {frame.column(column): of_column for column, of_column in value.items()}
        elif key == "space":
            made[key] = tuple(replace(h, name=frame.column(h.name)) for h in space_of(value))
        elif kind is bool or key == "decimal" or ((key, value) == ("cost", NO_COST) and NO_COST not in frame.cells):
            made[key] = value
        else:
            made[key] = frame.column(value)
    if "space" in made:
        if "space" not in stated:  # a study's, of which the user may leave out a part
            kept = {*made.get("hyperparameters", frame.cells)} - {*made.get("drop", ())}
            made["space"] = tuple(h for h in made["space"] if h.name in kept)
        made["hyperparameters"] = tuple(h.name for h in made["space"])
    s = Statement(**made)
    defined = {h.name for h in s.space}
    used = [*s.score, *(c for c in (s.cost, s.level, s.repeat) if c is not None and c != NO_COST)]
    if len(set(used)) < len(used):
        raise ValueError(f"score, cost, level and repeat must be different columns, got {', '.join(used)}")
    clashes = {
        "drop": {*used, *s.hyperparameters}, "hyperparameters": {*used}, "categorical": {*used, *s.log, *defined},
        "log": {*used, *defined},
    }  # fmt: skip
    for key, others in clashes.items():
        for column in (c for c in getattr(s, key) if key in stated and c in others):
            raise ValueError(f"{key} must not name a column that other arguments give another meaning, got {column}")
    for column in (c for c in s.bounds if "score" in stated and c not in s.score):
        raise ValueError(f"bounds must be those of scores, got those of {column}")
    return s


def _empty(value: Any) -> bool:
    return value is None or (isinstance(value, (str, Sequence, Mapping)) and not value)

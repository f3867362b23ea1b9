"""Sheets: the columns of a file or frame, what those of a tool's export are, and what the user says of them."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
import pandas as pd

from hpo_envs.tables.checks import one_of
from hpo_envs.tables.table import Hyperparameter
from hpo_envs.tables.user.cells import Mask, absent, as_text, of_series
from hpo_envs.tables.user.space import space_of

SHOWN = 5
"""Lines that an error names before it counts the rest."""

NO_COST = "evaluations"
"""Cost without a column: every evaluation costs 1."""


@dataclass
class Schema:
    """What the columns are, as the user states it; missing entries are inferred.

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
    hyperparameters: tuple[str, ...] = ()
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


@dataclass(frozen=True)
class Recipe:
    """The columns of a tool's export, each as a regular expression that its whole name matches.

    Attributes:
        tool: Whose export it is.
        signs: Each is the name of some column: then it is this tool's.
        settings: Hyperparameters; its group is their name without a prefix. Empty: all that nothing else explains.
        scores: What was measured; likewise.
        cost: What a run cost, in seconds.
        level: The checkpoint, where a run has several lines.
        run: The name of a run.
        state: How it ended.
        noted: Bookkeeping, where settings have no prefix.
        goal: Whether all its scores are to be high or low, if the tool has a rule.
        prepare: Makes plain columns of what is not.
    """

    tool: str = ""
    signs: tuple[str, ...] = ()
    settings: str = ""
    scores: str = ""
    cost: str = ""
    level: str = ""
    run: str = ""
    state: str = ""
    noted: str = ""
    goal: Literal["max", "min"] | None = None
    prepare: Callable[[pd.DataFrame], pd.DataFrame] = lambda frame: frame


@dataclass
class Sheet:
    """Columns, before they have roles, and what is decided of them; the readers leave out lines, and respell cells.

    Attributes:
        source: What to call it in errors and in the provenance.
        frame: A column of cells each, a line per row; its index has their numbers or names.
        unit: What a line is called ("line", "row", "run").
        digest: SHA-256 of the content.
        recipe: Of the tool; `Recipe()` where none is recognised.
        settings: The hyperparameters, empty if the export does not mark them.
        scores: What was measured.
        names: Short name of a column -> name in the file, where they differ.
        notes: The decisions, in words.
        explain: Called with each of them.
    """

    source: str
    frame: pd.DataFrame
    unit: str
    digest: str
    recipe: Recipe = Recipe()
    settings: tuple[str, ...] = ()
    scores: tuple[str, ...] = ()
    names: Mapping[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    explain: Callable[[str], None] = lambda note: None

    def say(self, text: str, *columns: str) -> None:
        """Note a decision, of the whole or of some columns."""
        self.notes.append(": ".join(filter(None, [", ".join(self.names.get(c, c) for c in columns), text])))
        self.explain(self.notes[-1])

    def where(self, line: int) -> str:
        """Name of a line in errors."""
        return f"{self.unit} {self.frame.index[line]}"

    def require(self, good: Mask, name: str, rule: str) -> None:
        """Raise a ValueError that names the lines of a column, and their cells, which are not `good`, (lines,)."""
        wrong = np.flatnonzero(~good).tolist()
        if not wrong:
            return
        shown = as_text(self.frame[name].iloc[wrong[:SHOWN]]).astype(object).fillna("")
        errors = [
            f"{self.where(i)}, column {name}: must be {rule}"
            f"{' (decimals take a point)' if re.fullmatch(r'[+-]?[0-9]+,[0-9]+', cell) else ''}, got {cell[:40]!r}"
            for i, cell in zip(wrong, shown, strict=False)
        ]
        more = f"; and {len(wrong) - SHOWN} more" if len(wrong) > SHOWN else ""
        raise ValueError(f"{self.source}: {'; '.join(errors)}{more}")

    def column(self, word: str) -> str:
        """The column that someone means: by its name, its name in the file, or the only one that ends in it.

        Raises:
            ValueError: There is none.
        """
        names = list(self.frame)
        if word in names:
            return word
        ending = [new for new, old in self.names.items() if word == old]
        ending = ending or [n for n in names if re.fullmatch(rf".*[./_ ]{re.escape(word)}", n)]
        return ending[0] if len(ending) == 1 else one_of("column", word, names)

    def one(self, pattern: str) -> str | None:
        """The first column of a pattern that has a value, None if there is none."""
        some = (n for n, c in self.frame.items() if re.fullmatch(pattern, n) and not absent(c).all())
        return next(some, None) if pattern else None


def schema_of(given: Mapping[str, Any], sheet: Sheet) -> Schema:
    """A schema of plain data: names of `Schema` with texts, lists or mappings; see `space_of` for the space.

    Args:
        given: Their values; those that are None or empty are inferred.
        sheet: Whose columns they name, see `Sheet.column`.

    Raises:
        ValueError: An unknown name, a value of another kind, or a column that is not there or has two roles.
    """
    made: dict[str, Any] = {}
    for key, value in given.items():
        rule, kind = _RULES[one_of("argument", key, _RULES)]
        if value is None or (isinstance(value, (str, Sequence, Mapping)) and not value):
            continue
        if not isinstance(value, kind):
            raise ValueError(f"{key} must be {rule}, got {value!r}")
        if kind is Iterable:
            words = [value] if isinstance(value, str) else map(str, value)
            made[key] = tuple(words if key == "goal" else map(sheet.column, words))
        elif kind is Mapping:
            made[key] = {sheet.column(column): of_column for column, of_column in value.items()}
        elif key == "space":
            made[key] = tuple(replace(h, name=sheet.column(h.name)) for h in space_of(value))
        else:
            free = key == "duplicates" or (key == "cost" and value == NO_COST and NO_COST not in sheet.frame)
            made[key] = value if free else sheet.column(value)
    s = Schema(**made)
    s.hyperparameters = tuple(h.name for h in s.space) or s.hyperparameters
    used = [*s.score, *(c for c in (s.cost, s.level, s.repeat) if c is not None and c != NO_COST)]
    if len(set(used)) < len(used):
        raise ValueError(f"score, cost, level and repeat must be different columns, got {', '.join(used)}")
    return s


def count(n: int, what: str) -> str:
    """`1 run`, `2 runs`."""
    return f"{n} {what}{'' if n == 1 else 's'}"


def of_frame(
    frame: Any, source: str, digest: str = "", unit: str = "line", lines: Sequence[Any] | None = None
) -> Sheet:
    """The columns of a pandas DataFrame or of an Arrow table.

    Args:
        frame: The frame; its index does not count.
        source: See `Sheet`, as `unit`.
        digest: See `Sheet`; default: computed of the cells.
        unit: What a line is called.
        lines: Numbers or names of the lines; default: from 2, as in a file.

    Raises:
        ValueError: No columns, no lines, or a name twice.
    """
    frame = frame if isinstance(frame, pd.DataFrame) else frame.to_pandas()
    names = [".".join(str(p) for p in n if str(p)) if isinstance(n, tuple) else str(n) for n in frame.columns]
    for name in (n for j, n in enumerate(names) if n in names[:j]):
        raise ValueError(f"{source}: columns must have names, each once, got {name!r} twice")
    if not names or len(frame) == 0:
        raise ValueError(f"{source} must have columns and at least one line, got {len(names)} and {len(frame)}")
    frame = frame.set_axis(range(2, len(frame) + 2) if lines is None else list(lines))
    cells = pd.DataFrame({name: of_series(frame.iloc[:, j]) for j, name in enumerate(names)}, copy=False)
    if not digest:
        digests = hashlib.sha256(repr(names).encode(errors="replace"))
        for _, column in cells.items():
            digests.update(pd.util.hash_pandas_object(column, index=False).to_numpy())
        digest = digests.hexdigest()
    return Sheet(source, cells, unit, digest)

"""Frames: texts and numbers of a file with their places, lists in cells (columns or curves), errors that name lines.

A table is read in three steps, each a function from one frozen, printable record to the next: `read` makes a `Frame` of
a source (`files`, `folders`, `documents`, `studies`, `tools`), `decide` extends `Decisions` on a frame in steps
(`formats`, `outcomes`, `roles`, `definitions`, `repeats`), and `build` makes a `Table` of decisions.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd

from hpo_envs.tables.checks import one_of, shown
from hpo_envs.tables.table import is_number
from hpo_envs.tables.user.cells import Mask, absent, as_text, of_series

SPREAD = 50
"""Lists with at most this many numbers become columns, longer ones curves."""

MOST_COLUMNS = 10_000
"""Largest number of columns; examining each takes milliseconds."""

SPARSE = 10_000_000
"""Largest number of cells of mappings of which less than a tenth have a value."""

SHOWN = 5
"""Number of lines named in an error; further ones are counted."""


@dataclass(frozen=True)
class Recipe:
    """Columns of a tool's export, as regular expressions that match whole names.

    Attributes:
        tool: Name of the tool.
        signs: Patterns, each of which must match a column for the tool to be recognised.
        settings: Hyperparameters; the group is the name without a prefix. Empty: all columns without another role.
        scores: Measured columns; the group is the name.
        cost: Cost of a run in seconds.
        level: Checkpoint, if a run has several lines.
        run: Name of a run.
        state: Outcome of a run.
        repeat: Column that distinguishes runs of one configuration.
        noted: Bookkeeping columns, if settings have no prefix.
        goal: Goal of all scores, if the tool fixes it.
        prepare: Function that converts the columns of the export before `settings` and `scores` are matched.
    """

    tool: str = ""
    signs: tuple[str, ...] = ()
    settings: str = ""
    scores: str = ""
    cost: str = ""
    level: str = ""
    run: str = ""
    state: str = ""
    repeat: str = ""
    noted: str = ""
    goal: Literal["max", "min"] | None = None
    prepare: Callable[[pd.DataFrame], pd.DataFrame] = lambda frame: frame


class Decision(NamedTuple):
    """A decision on some columns, or on the whole frame.

    Attributes:
        role: `file`, `score`, `cost`, `level`, `repeat`, `status`, `name`, `hyperparameter`, `ignored` or `question`.
        columns: Names of the columns in the file; empty: the whole frame.
        text: The decision and its reason, in words.
        option: Option that settles the decision; empty if it is certain, or a question.
    """

    role: str
    columns: tuple[str, ...]
    text: str
    option: str = ""

    def __str__(self) -> str:
        said = ": ".join(filter(None, [", ".join(self.columns), self.text]))
        return f"{said}; uncertain, {self.option} settles it" if self.option else said


@dataclass(frozen=True)
class Frame:
    """The columns of a file, before they have roles.

    Attributes:
        source: Name of the source in errors and in the provenance.
        cells: Columns of cells, with a line per row; the index has the numbers or names of the lines.
        unit: Word for a line ("line", "row", "run").
        digest: SHA-256 of the content.
        delimiter: Separator of the file's fields; empty if there is none.
        decisions: Decisions of the reader, such as ignored or joined parts.
        recipe: Recipe of the tool; `Recipe()` if none is recognised.
        settings: Names of the hyperparameters; empty if the export does not mark them.
        scores: Names of the measured columns.
        names: Short name of a column -> name in the file, if they differ.
        known: Facts on the columns from other files or a study, by the names of `Statement`.
        units: Column -> unit of its numbers, if they had one.
    """

    source: str
    cells: pd.DataFrame
    unit: str = "line"
    digest: str = ""
    delimiter: str = ""
    decisions: tuple[Decision, ...] = ()
    recipe: Recipe = Recipe()
    settings: tuple[str, ...] = ()
    scores: tuple[str, ...] = ()
    names: Mapping[str, str] = field(default_factory=dict)
    known: Mapping[str, Any] = field(default_factory=dict)
    units: Mapping[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        lines, columns = self.cells.shape
        tool = f", an export of {self.recipe.tool}" if self.recipe.tool else ""
        said = [f"{self.source}{tool}: {lines} {self.unit}s, {columns} columns: {', '.join(self.cells)}"]
        return "\n  ".join([*said, *map(str, self.decisions)])

    def __len__(self) -> int:
        return len(self.cells)

    def __getitem__(self, column: str) -> Any:
        return self.cells[column]

    def of(self, role: str, text: str, *columns: str, option: str = "") -> Decision:
        """A decision on columns, named as in the file."""
        return Decision(role, tuple(self.names.get(c, c) for c in columns), text, option)

    def only(self, kept: Mask) -> Frame:
        """The frame with only the lines selected by `kept`, a (lines,) mask."""
        return self if kept.all() else replace(self, cells=self.cells[kept])

    def where(self, line: int) -> str:
        """Return the name, such as `line 7`, of the line at a position in the frame, for errors."""
        return f"{self.unit} {self.cells.index[line]}"

    def require(self, good: Mask, name: str, rule: str) -> None:
        """Raise a ValueError that names the cells of a column where `good`, a (lines,) mask, is False, if any."""
        wrong = np.flatnonzero(~good).tolist()
        if not wrong:
            return
        shown = as_text(self.cells[name].iloc[wrong[:SHOWN]]).astype(object).fillna("")
        errors = [
            f"{self.where(i)}, column {name}: must be {rule}"
            f"{' (decimals take a point)' if re.fullmatch(r'[+-]?[0-9]+,[0-9]+', cell) else ''}, got {cell[:40]!r}"
            for i, cell in zip(wrong, shown, strict=False)
        ]
        more = f"; and {len(wrong) - SHOWN} more" if len(wrong) > SHOWN else ""
        raise ValueError(f"{self.source}: {'; '.join(errors)}{more}")

    def column(self, word: str) -> str:
        """Return the column that has this name here or in the file, or the only one whose name ends with it.

        Raises:
            ValueError: There is no such column, or several end with the word.
        """
        names = list(self.cells)
        if word in names:
            return word
        ending = [new for new, old in self.names.items() if word == old]
        ending = ending or [n for n in names if re.fullmatch(rf".*[./_ ]{re.escape(word)}", n)]
        return ending[0] if len(ending) == 1 else one_of("column", word, names)

    def one(self, pattern: str) -> str | None:
        """Return the first column that has a value and whose name matches a pattern; None for "" or without a match."""
        some = (n for n, c in self.cells.items() if re.fullmatch(pattern, n) and not absent(c).all())
        return next(some, None) if pattern else None


def count(n: int, what: str) -> str:
    """Return a number with its noun: `1 run`, `2 runs`."""
    return f"{n} {what}{'' if n == 1 else 's'}"


def check_columns(source: str, number: int) -> None:
    """Raise a ValueError if a number of columns exceeds `MOST_COLUMNS`."""
    if number > MOST_COLUMNS:
        raise ValueError(f"{source} must have at most {MOST_COLUMNS} columns, got {number}")


def of_lines(source: str, lines: Sequence[Mapping[str, Any]], index: Any = None) -> pd.DataFrame:
    """Return a DataFrame of flat mappings; ValueError if they have too many keys, or nearly none in common."""
    names = dict.fromkeys(name for line in lines for name in line)
    check_columns(source, len(names))
    full = sum(map(len, lines))
    if len(lines) * len(names) > max(10 * full, SPARSE):
        raise ValueError(f"{source} must have keys in common, got {len(names)} in {len(lines)} runs with {full} values")
    return pd.DataFrame(lines, index, dtype=object)


def of_frame(frame: Any, source: str, digest: str = "", lines: Sequence[Any] | None = None, **more: Any) -> Frame:
    """The frame of a pandas DataFrame or an Arrow table.

    Args:
        frame: The DataFrame or table; its index is ignored.
        source: See `Frame`.
        digest: See `Frame`; default: computed from the cells.
        lines: Numbers or names of the lines; default: numbered from 2, as in a file.
        **more: Other fields of a `Frame`.

    Raises:
        ValueError: `frame` is of another type, has no columns, no lines or too many columns, or repeats a name.
    """
    if not (isinstance(frame, pd.DataFrame) or hasattr(frame, "to_pandas")):
        raise ValueError(f"frame must be a pandas DataFrame or an Arrow table, got {shown(frame)}")
    frame = frame if isinstance(frame, pd.DataFrame) else frame.to_pandas()
    names = [".".join(str(p) for p in n if str(p)) if isinstance(n, tuple) else str(n) for n in frame.columns]
    check_columns(source, len(names))
    for name in (n for n, count in Counter(names).items() if count > 1):
        raise ValueError(f"{source}: columns must have distinct names, got {name!r} twice")
    if not names or len(frame) == 0:
        raise ValueError(f"{source} must have columns and at least one line, got {len(names)} and {len(frame)}")
    index = range(2, len(frame) + 2) if lines is None else list(lines)
    frame = _unrolled(frame.set_axis(index).set_axis(names, axis=1))
    names = list(frame)
    columns = {name: of_series(c) for j, n in enumerate(names) for name, c in _spread(n, frame.iloc[:, j]).items()}
    cells = pd.DataFrame(columns, frame.index, copy=False)
    if not digest:
        digests = hashlib.sha256(repr(names).encode(errors="replace"))
        for _, column in cells.items():
            digests.update(pd.util.hash_pandas_object(column, index=False).to_numpy())
        digest = digests.hexdigest()
    return Frame(source, cells, digest=digest, **more)


def _unrolled(frame: pd.DataFrame) -> pd.DataFrame:
    """Split curves (lists of more than `SPREAD` numbers) into a line per checkpoint with its `run` and `step`.

    The frame is unchanged if it has no curves or already has such columns, or if the curves of a run differ in length
    or hold other values than numbers, or a line lacks one.
    """
    lists = [n for n in frame if isinstance(frame[n].iloc[0], list) and len(frame[n].iloc[0]) > SPREAD]
    sizes = [frame[n].map(lambda v: len(v) if isinstance(v, list) else 0) for n in lists]
    if not lists or {"run", "step"} & {*frame} or any(not sizes[0].equals(size) or size.min() == 0 for size in sizes):
        return frame
    if not all(is_number(x) or x in ("NaN", "Infinity", "-Infinity") for n in lists for v in frame[n] for x in v):
        return frame
    long = frame.assign(run=range(1, len(frame) + 1)).explode(lists)
    return long.assign(step=long.groupby("run").cumcount())


def _spread(name: str, values: pd.Series) -> dict[str, pd.Series]:
    """A column for each number if all cells are equally long lists of at most `SPREAD` numbers, else the column."""
    first = values.iloc[0]
    size = len(first) if isinstance(first, (list, np.ndarray)) else 0
    if not 0 < size <= SPREAD or not all(isinstance(v, (list, np.ndarray)) and len(v) == size for v in values):
        return {name: values}
    if not all(is_number(x) for v in values for x in v):
        return {name: values}
    return {f"{name}.{i}": pd.Series([v[i] for v in values], values.index) for i in range(size)}

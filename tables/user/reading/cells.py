"""Cells of a column: an array of numbers, truth values or times, or text; and the values that they stand for."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from hpo_envs.tables.table import Hyperparameter
from hpo_envs.tables.user.infer import CHOICES, Column, apart

Floats = npt.NDArray[np.float64]
Index = npt.NDArray[np.intp]
Mask = npt.NDArray[np.bool_]

MISSING = ("", "nan", "na", "n/a", "null")
"""Empty cells, in any case."""

_TRUTH = {"true": True, "false": False, "yes": True, "no": False}
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_INT = re.compile(r"[+-]?\d{1,300}")


@dataclass(frozen=True)
class Text:
    """Cells of text, of which each different one is stored once.

    Attributes:
        codes: (lines,) index into `different`, -1 where there is no cell.
        different: The different texts, without spaces around them.
    """

    codes: Index
    different: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.codes)

    def __getitem__(self, lines: Any) -> Text:
        used, codes = np.unique(self.codes[lines], return_inverse=True)
        return Text(used[codes], self.different) if len(used) == len(self.different) else self._only(used, codes)

    def _only(self, used: Index, codes: Index) -> Text:
        none = int(len(used) > 0 and used[0] == -1)
        return Text(codes.reshape(-1) - none, tuple(self.different[i] for i in used[none:].tolist()))

    def each(self, value: Callable[[str], Any], without: Any) -> npt.NDArray[Any]:
        """(lines,) a value for each text, computed once for equal ones, and another where there is no cell."""
        return np.array([*map(value, self.different), without])[self.codes]


Cells = npt.NDArray[Any] | Text


def text(values: Iterable[Any]) -> Text:
    """Texts of values of any kind; None, NaN, NA and NaT are no cell."""
    none = (None, pd.NA, pd.NaT)
    plain = [None if any(v is n for n in none) or (isinstance(v, float) and v != v) else str(v) for v in values]
    codes, different = pd.factorize(np.array([*plain, None], dtype=object)[:-1])
    stripped, kept = pd.factorize(np.array([*(d.strip() for d in different), None], dtype=object))
    return Text(stripped[codes], tuple(kept))


def of_series(values: pd.Series[Any]) -> Cells:
    """Cells of a pandas Series; numbers are not copied."""
    kind = getattr(values.dtype, "kind", "O")
    if kind in "iuf":
        numpy = isinstance(values.dtype, np.dtype)
        return values.to_numpy() if numpy else values.to_numpy(np.float64, na_value=np.nan)
    if kind == "b" and not values.hasnans:
        return values.to_numpy(bool)
    if kind in "mM":
        return values.to_numpy(f"{kind}8[us]")
    if isinstance(values.dtype, np.dtype):
        return text(values)
    codes, different = pd.factorize(values)  # strings and categories: each different one is looked at once
    inner = text(different.tolist())
    return Text(np.append(inner.codes, -1)[codes], inner.different)


def of_values(values: Sequence[Any]) -> Cells:
    """Cells of Python's values, None where there is none; what mixes kinds is text, as are NaN and large ints."""
    kinds = {type(v) for v in values}
    if kinds == {bool}:
        return np.array(values)
    if kinds <= {int, float, type(None)} and all(v is None or abs(v) < 2**53 for v in values):
        return np.array([np.nan if v is None else v for v in values], np.int64 if kinds == {int} else np.float64)
    return text(str(v) if isinstance(v, float) else v for v in values)  # NaN, too: the run diverged


def number(text: str) -> float | int | None:
    """The number that a text is, else None; an int stays one. No infinities, no underscores."""
    cell = text.strip()
    if _INT.fullmatch(cell):
        return int(cell)
    value = float(cell) if _NUMBER.fullmatch(cell) else math.nan
    return value if math.isfinite(value) else None


def missing(text: str) -> bool:
    """Whether a text stands for an empty cell."""
    return text.strip().lower() in MISSING


def absent(cells: Cells) -> Mask:
    """(lines,) which cells are empty."""
    if isinstance(cells, Text):
        return cells.each(missing, True)
    return np.asarray(pd.isna(cells)) if cells.dtype.kind in "fmM" else np.zeros(len(cells), bool)


def numbers(cells: Cells) -> Floats:
    """(lines,) float64, NaN where a cell is no finite number."""
    if isinstance(cells, Text):
        return cells.each(lambda t: float("nan" if (v := number(t)) is None else v), np.nan)
    values = np.asarray(cells, np.float64) if cells.dtype.kind in "iuf" else np.full(len(cells), np.nan)
    return (
        values if cells.dtype.kind != "f" or np.isfinite(values).all() else np.where(np.isinf(values), np.nan, values)
    )


def seconds(cells: Cells) -> Floats:
    """(lines,) seconds of numbers, durations and texts such as `0 days 00:01:02.5`, `1.2min`, `1h 5m`; else NaN."""
    if isinstance(cells, Text):
        spans = pd.to_timedelta(pd.Series(list(cells.different), dtype=object), errors="coerce").dt.total_seconds()
        known = [b if (v := number(t)) is None else float(v) for t, b in zip(cells.different, spans, strict=True)]
        return np.array([*known, np.nan])[cells.codes]
    return pd.Series(cells).dt.total_seconds().to_numpy() if cells.dtype.kind == "m" else numbers(cells)


def many(cells: Cells) -> bool:
    """Whether text has more different values than a choice can have."""
    return isinstance(cells, Text) and sum(not missing(t) for t in cells.different[: 2 * CHOICES]) > CHOICES


def numeric(cells: Cells) -> bool:
    """Whether most cells that are not empty are numbers."""
    if not isinstance(cells, Text):
        return cells.dtype.kind in "iuf"
    few = cells[:1000]
    return int((~np.isnan(numbers(few))).sum()) * 2 > int((~absent(few)).sum())


def distinct(cells: Cells) -> int:
    """How many different values there are."""
    return len(cells.different) if isinstance(cells, Text) else len(pd.unique(cells))


def codes(cells: Cells) -> Index:
    """(lines,) the same code for equal cells; empty ones have one of their own."""
    return cells.codes + 1 if isinstance(cells, Text) else pd.factorize(cells, use_na_sentinel=False)[0]


def filled(cells: Cells, value: str) -> tuple[Cells, int]:
    """Cells with a value where they are empty or say `none`, and how many these were."""
    old = cells if isinstance(cells, Text) else text(cells.tolist())
    holes = old.each(lambda t: missing(t) or t.lower() == "none", True)
    return text(np.where(holes, value, old.each(str, "")).tolist()), int(holes.sum())


_SPREAD = r" *\(?(±|\+/-) *\d*[.,]?\d+(e[+-]?\d+)? ?%?\)?"
_SPELLINGS = (
    (_SPREAD, rf"[+-]?\d*[.,]?\d+(e[+-]?\d+)?({_SPREAD})?( ?%)?", "", "numbers after ± left out"),
    (" ?%", r"[+-]?\d*[.,]?\d+ ?%", "", "percent signs left out"),
    (",", r"[+-]?\d+(,\d+)?", ".", "decimal commas read as points"),
    ("'", r"('[+-])?\d*\.?\d+(e[+-]?\d+)?", "", "apostrophes before signs left out"),  # MLflow's, against formulas
)
"""What is replaced in numbers, what all of them must match, by what it is replaced, and a note."""


def respelled(cells: Text, is_word: Callable[[str], bool]) -> tuple[Text, str]:
    """Numbers with an uncertainty, a percent sign, a decimal comma or an apostrophe as plain ones, and a note.

    Args:
        cells: Text.
        is_word: Whether a text may stand among the numbers, such as `OOM`.
    """
    notes = []
    for sign, pattern, new, note in _SPELLINGS:
        if not any(re.search(sign, t) for t in cells.different):
            continue
        odd = (t for t in cells.different if not re.fullmatch(pattern, t))
        if all(missing(t) or is_word(t) for t in odd):
            inner = text(re.sub(sign, new, t) for t in cells.different)
            cells = Text(np.append(inner.codes, -1)[cells.codes], inner.different)
            notes.append(note)
    return cells, ", ".join(notes)


def column(name: str, cells: Cells, categorical: bool = False) -> Column:
    """The values of a column's cells.

    Text is numbers if most of it is: then the rest are slips. `none` is a choice among texts; among numbers it is
    missing, and remembered.

    Raises:
        ValueError: Whole numbers that float64 cannot distinguish.
    """
    if not isinstance(cells, Text) and (categorical or cells.dtype.kind not in "iuf"):
        cells = text(cells.tolist())
    if not isinstance(cells, Text):
        if cells.dtype.kind in "iu":
            apart(name, (int(cells.min()), int(cells.max())))
        values, bad = numbers(cells), np.flatnonzero(np.isinf(cells))
    else:
        known = [t for t in cells.different if not missing(t)]
        if not categorical and known and len(known) <= CHOICES and all(t.lower() in _TRUTH for t in known):
            return _choices(cells, lambda t: _TRUTH[t.lower()])
        values = numbers(cells)
        none = cells.each(lambda t: t.lower() == "none", False)
        full = ~absent(cells) & ~none
        bad = np.flatnonzero(full & np.isnan(values))
        if categorical or len(bad) * 5 > full.sum() or len(bad) == full.sum():
            return _choices(cells, lambda t: t)
        apart(name, (v for t in known if isinstance(v := number(t), int)))
    whole = bool((values == np.floor(values))[~np.isnan(values)].all())
    return Column(values, whole=whole, none=none if isinstance(cells, Text) and none.any() else None, bad=bad)


def _choices(cells: Text, meaning: Callable[[str], Any]) -> Column:
    known = [t for t in cells.different if not missing(t)]
    if len(known) > CHOICES:
        return Column(np.full(len(cells), np.nan), tuple(sorted(known)))
    choices = tuple(sorted({meaning(t) for t in known}, key=str))
    return Column(cells.each(lambda t: np.nan if missing(t) else float(choices.index(meaning(t))), np.nan), choices)


def within(cells: Cells, h: Hyperparameter) -> tuple[Column, Index, str]:
    """The values of a hyperparameter whose definition is known, the lines with others, and the rule they break."""
    old = cells if isinstance(cells, Text) else text(cells.tolist())
    valid = ~absent(old)
    rule = f"one of {', '.join(map(str, h.values))}"
    if h.kind == "categorical":
        exact = {str(v): float(i) for i, v in enumerate(h.values)}
        index: dict[Any, float] = {v.lower(): i for v, i in exact.items()}
        index |= {float(v): float(i) for i, v in enumerate(h.values) if isinstance(v, (int, float))}
        index |= {word: index[str(truth).lower()] for word, truth in _TRUTH.items() if str(truth).lower() in index}

        def at(t: str) -> float:
            return exact.get(t, index.get(t.lower(), index.get(number(t), np.nan)))

        values = old.each(lambda t: index.get("none", np.nan) if missing(t) else at(t), index.get("none", np.nan))
        return Column(values, h.values), np.flatnonzero(np.isnan(values) & valid), rule
    values = numbers(old)
    good = (values >= h.low) & (values <= h.high)
    if h.values:
        good &= np.isin(values, h.values)
    else:
        rule = f"{'an int' if h.kind == 'int' else 'a number'} in [{h.low:g}, {h.high:g}]"
        good &= (h.kind != "int") | (values == np.floor(values))
    none = old.each(lambda t: t.lower() == "none", False)
    return Column(np.where(good, values, np.nan), whole=h.kind == "int"), np.flatnonzero(valid & ~good & ~none), rule

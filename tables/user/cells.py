"""Cells of a file as numbers, choices or durations: empty cells, NaN, Booleans, words for failed or unfinished runs."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable
from shlex import quote
from typing import Any, NamedTuple, TypeGuard

import numpy as np
import numpy.typing as npt
import pandas as pd

from hpo_envs.tables import Floats as Floats
from hpo_envs.tables.table import DIVERGED, FAILED, OK, TRUNCATED, Hyperparameter

Index = npt.NDArray[np.intp]
Mask = npt.NDArray[np.bool_]
Cells = Any
"""A pandas Series: float64 with NaN in empty cells, or `category` of texts without surrounding spaces."""

CHOICES = 50
"""Largest number of different texts of a categorical column."""

UNNAMED = "Unnamed: "
"""Prefix of the names that pandas gives to unnamed columns; most of them are the index of a frame."""

UNFINISHED = 255
"""Code of a run that has not ended, or of a text that is not an outcome."""

OUTCOMES = {
    DIVERGED: r"[+-]?(nan( .*)?|inf(inity)?)|diverged?|divergence|explod(ed|ing)|overflow",
    FAILED: r"oom|.*out of memory.*|memory ?out|fail(ed|ure)?|.*error(ed)?|.*exception|crash(ed)?|killed|abort(ed)?|"
    r"time ?d? ?out|none|missing|invalid|-+|—|\?",
    TRUNCATED: r"pruned|(early[ _-]?)?stopp?(ed)?|truncated|cancell?ed|interrupted|preempt(ed|ing)|capped|abandoned",
    OK: r"finished|completed?|success|succeeded|successful|done|ok|terminated",
    UNFINISHED: r"running|pending|waiting|queued|scheduled|in[ _-]?progress|created|paused|starting|submitted|new|"
    r"candidate|staged|deleted",
}
"""Code of a status -> pattern of the words for it, in lower case."""

_TRUTH = {"true": True, "false": False, "yes": True, "no": False}
_NUMBER = re.compile(r"[+-]?(\d++\.?\d*|\.\d+)([eE][+-]?\d+)?")
_INT = re.compile(r"[+-]?\d{1,300}")


class Column(NamedTuple):
    """A column of numbers or choices.

    Attributes:
        values: (lines,) float64, NaN where missing: numbers, or indices into the choices.
        choices: The choices, such as texts or truth values; None for a column of numbers.
        none: (lines,) mask of cells that are `none` in a column of numbers; None if there are none or if not recorded.
    """

    values: Floats
    choices: tuple[Any, ...] | None = None
    none: Mask | None = None

    @property
    def whole(self) -> bool:
        """Whether all numbers, or indices, are whole; missing ones are ignored."""
        return bool((self.values == np.floor(self.values))[~np.isnan(self.values)].all())

    def natural(self, value: float) -> Any:
        """The natural value of a stored number: a choice, an int if the whole column is whole, or a float."""
        if self.choices is not None:
            return self.choices[int(value)]
        return int(value) if self.whole else float(value)

    def with_none(self) -> Column:
        """Return the column as choices, one for each number if it has numbers, and `none` for missing values."""
        values, choices = self.values, self.choices
        if choices is None:
            codes, different = pd.factorize(values, sort=True)
            values, choices = np.where(codes < 0, np.nan, codes), tuple(map(self.natural, different.tolist()))
        choices = choices if "none" in choices else (*choices, "none")
        return Column(np.where(np.isnan(values), float(choices.index("none")), values), choices)


def text(values: Iterable[Any], index: Any = None) -> Cells:
    """Return values as cells of stripped text; None, NaN, NA and NaT become empty cells."""
    plain = pd.Series(list(values), index, dtype=object).map(lambda v: str(v).strip(), na_action="ignore")
    return plain.astype("category")


def of_series(values: pd.Series) -> Cells:
    """Convert a pandas Series to cells: float64 for numbers; text for others, and if integers reach +-2**53."""
    kind = pd.api.types.infer_dtype(values, skipna=True)
    whole = kind in ("integer", "mixed-integer-float") and not values.dropna().abs().ge(2**53).any()
    if whole or kind == "floating":
        return pd.Series(values.to_numpy(np.float64, na_value=np.nan), values.index, copy=False)
    return text(values, values.index)


def is_text(cells: Cells) -> TypeGuard[Any]:
    """Return whether cells are text."""
    return isinstance(cells.dtype, pd.CategoricalDtype)


def as_text(cells: Cells) -> Cells:
    """Return the cells as text, whole numbers without a decimal point."""
    return cells if is_text(cells) else text((int(v) if v == v // 1 else v for v in cells.tolist()), cells.index)


def different(cells: Cells) -> list[str]:
    """Return the distinct texts, without those that are `missing`; an empty list if the cells are numbers."""
    texts = cells.cat.remove_unused_categories().cat.categories if is_text(cells) else ()
    return [t for t in texts if not missing(t)]


def each(cells: Cells, value: Callable[[str], Any], without: Any) -> npt.NDArray[Any]:
    """(lines,) value of a function for each text, called once per distinct text; `without` where a cell is empty."""
    return np.asarray(np.array([*map(value, cells.cat.categories), without])[cells.cat.codes])


def number(text: str) -> float | int | None:
    """The number that a text represents, else None; an int stays an int. Infinities are not numbers."""
    if _INT.fullmatch(text.strip()):
        return int(text)
    value = float(text) if _NUMBER.fullmatch(text.strip()) else math.nan
    return value if math.isfinite(value) else None


def missing(text: str) -> bool:
    """Return whether a text stands for a missing value, regardless of its case."""
    return text.lower() in ("", "nan", "na", "n/a", "null")


def meaning(text: str) -> int | None:
    """Return the code of the status that a word represents, perhaps before a colon and details; None if there is none.

    It may be `UNFINISHED`.
    """
    low = re.sub(r"^(trialstate|status|statustype)\.|:.*$", "", text.strip().lower())
    return next((code for code, pattern in OUTCOMES.items() if re.fullmatch(pattern, low)), None)


def absent(cells: Cells) -> Mask:
    """(lines,) mask of cells without a value, see `missing`."""
    return each(cells, missing, True) if is_text(cells) else cells.isna().to_numpy()


def numbers(cells: Cells) -> Floats:
    """(lines,) float64, NaN where a cell is not a finite number."""
    if is_text(cells):
        return each(cells, lambda t: float("nan" if (v := number(t)) is None else v), np.nan)
    values: Floats = cells.to_numpy()
    return np.where(np.isinf(values), np.nan, values) if np.isinf(values).any() else values


def seconds(cells: Cells) -> Floats:
    """(lines,) seconds of numbers and of texts such as `0 days 00:01:02.5`, `1.2min`, `1h 5m`; else NaN."""
    values = numbers(cells)
    if not is_text(cells):
        return values
    texts = pd.Series([*cells.cat.categories, None], dtype=object)
    spans = pd.to_timedelta(texts, errors="coerce").dt.total_seconds().to_numpy()[cells.cat.codes]
    return np.where(np.isnan(values), spans, values)


def numeric(cells: Cells) -> bool:
    """Return whether cells are not text, or most non-empty ones of the first 1,000 are numbers."""
    few = cells[:1000]
    return not is_text(cells) or int((~np.isnan(numbers(few))).sum()) * 2 > int((~absent(few)).sum())


def scorable(cells: Cells) -> bool:
    """Return whether cells are not text, or include a number and otherwise only empty cells and outcomes of runs."""
    known = all(number(t) is not None or meaning(t) is not None for t in different(cells))
    return known and not (is_text(cells) and np.isnan(numbers(cells)).all())


def codes(cells: Cells) -> Index:
    """(lines,) codes, equal for equal cells, including empty ones."""
    return np.asarray(pd.factorize(cells, use_na_sentinel=False)[0])


def one_number(texts: Iterable[str]) -> list[str]:
    """Return texts that are one number but may be different names, such as 3.1 and 3.10 or 01 and 1, else [].

    Signs, exponents, a missing 0 before the point and a missing fraction of 0 are forms of a number.
    """
    forms: dict[float, dict[str, str]] = {}
    for t in texts:
        if re.fullmatch(r"[\d.]+", t) and (value := number(t)) is not None:
            forms.setdefault(float(value), {})[re.sub(r"\.0*$", "", f"0{t}" if t[0] == "." else t)] = t
    return next(([*some.values()] for some in forms.values() if len(some) > 1), [])


def check_whole(name: str, cells: Cells) -> None:
    """Raise a ValueError for whole numbers that float64 cannot distinguish."""
    for v in (v for t in different(cells) if isinstance(v := number(t), int) and abs(v) > 2**53):
        raise ValueError(f"column {name}: whole numbers must be at most 2**53, as float64 merges larger ones, got {v}")


def column(name: str, cells: Cells, categorical: bool = False) -> tuple[Column, Mask]:
    """Return the values of a column's cells, and a mask of the lines with invalid ones.

    Unless `categorical`, a text column is numeric if at least 80 % of its cells that are neither missing nor `none` are
    numbers, and the others are invalid; words for true and false alone are Booleans. `none` is a choice among texts;
    among numbers it is missing, and recorded.

    Raises:
        ValueError: Whole numbers are too large for float64, or a categorical column has too many different texts.
    """
    cells = as_text(cells) if categorical else cells
    values, known = numbers(cells), different(cells)
    if not is_text(cells):
        return Column(values), np.isinf(cells.to_numpy())
    truth = bool(known) and not categorical and all(t.lower() in _TRUTH for t in known)
    none = each(cells, lambda t: t.lower() == "none", False)
    full = ~absent(cells) & ~none
    bad = full & np.isnan(values)
    if truth or categorical or bad.sum() * 5 > full.sum() or not full.any():
        if len(known) > CHOICES:
            raise ValueError(
                f"column {name}: must be numbers or at most {CHOICES} different texts, got {len(known)} such as "
                f"{min(known)[:30]!r}; leave it out with --drop {quote(name)}"
            )
        meaning = {t: _TRUTH[t.lower()] if truth else t for t in known}
        choices = tuple(sorted(set(meaning.values()), key=str))
        at = {t: float(choices.index(choice)) for t, choice in meaning.items()}
        return Column(each(cells, lambda t: at.get(t, np.nan), np.nan), choices), np.zeros(len(cells), bool)
    check_whole(name, cells)
    return Column(values, None, none if none.any() else None), bad


def within(cells: Cells, h: Hyperparameter) -> tuple[Column, Mask, str]:
    """Return a defined hyperparameter's values, the (lines,) mask of cells that violate it, and its rule in words."""
    old = as_text(cells)
    rule = f"one of {', '.join(map(str, h.values))}"
    if h.kind == "categorical":
        exact = {str(v).strip(): float(i) for i, v in enumerate(h.values)}
        if len(exact) < len(h.values):
            raise ValueError(f"choices of {h.name} must differ as texts without outer spaces, got {h.values!r}")
        index: dict[Any, float] = {v.lower(): i for v, i in exact.items()}
        index |= {float(v): float(i) for i, v in enumerate(h.values) if isinstance(v, (int, float))}
        index |= {word: index[str(truth).lower()] for word, truth in _TRUTH.items() if str(truth).lower() in index}
        none = index.get("none", np.nan)

        def at(t: str) -> float:
            return (
                none
                if missing(t) and t not in exact
                else exact.get(t, index.get(t.lower(), index.get(number(t), np.nan)))
            )

        values = each(old, at, none)
        return Column(values, h.values), np.isnan(values) & ~absent(old), rule
    check_whole(h.name, old)
    values = numbers(old)
    good = np.isin(values, h.values)
    if not h.values:
        good = (values >= h.low) & (values <= h.high) & ((h.kind != "int") | (values == np.floor(values)))
        rule = f"{'an int' if h.kind == 'int' else 'a number'} in [{h.low:g}, {h.high:g}]"
    empty = absent(old) | each(old, lambda t: t.lower() == "none", False)
    return Column(np.where(good, values, np.nan)), ~good & ~empty, rule

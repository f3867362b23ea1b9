"""The values of a column: numbers or choices, parsed all at once."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from hpo_envs.tables.table import Hyperparameter
from hpo_envs.tables.user.infer import CHOICES, MISSING, Column, apart, number

Floats = npt.NDArray[np.float64]

_TRUTH = {"true": True, "false": False, "yes": True, "no": False}


def column(name: str, cells: pa.ChunkedArray, categorical: bool = False) -> Column:
    """The values of a column's cells.

    Text is numbers if most of it is: then the rest are slips. `none` is a choice among texts; among numbers it is
    missing, and remembered.

    Raises:
        ValueError: Whole numbers that float64 cannot tell apart.
    """
    kind = cells.type
    if (pa.types.is_integer(kind) or pa.types.is_floating(kind)) and not categorical:
        values = numbers(name, cells)
        known = values[~np.isnan(values)]
        return Column(values, whole=bool((known == np.floor(known)).all()))
    if pa.types.is_boolean(kind):
        return _choices(cells, lambda text: text)
    text = texts(cells)
    if categorical:
        return _choices(text, lambda text: text)
    if not many(text):
        different = [t.lower() for t in text.unique().to_pylist() if t is not None]
        if different and all(t in _TRUTH for t in different):
            return _choices(text, lambda text: _TRUTH[text.lower()])
    return _of_text(name, text)


def trimmed(cells: pa.ChunkedArray) -> pa.ChunkedArray:
    """Cells as text without spaces around it."""
    if pa.types.is_dictionary(cells.type):
        cells = cells.cast(cells.type.value_type)
    if not is_text(cells):
        try:
            cells = cells.cast(pa.string())
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            cells = pa.chunked_array([[None if v is None else str(v) for v in cells.to_pylist()]], pa.string())
    return pc.utf8_trim_whitespace(cells)


def texts(cells: pa.ChunkedArray) -> pa.ChunkedArray:
    """Cells as text without spaces around it, null where missing (see `MISSING`)."""
    cells = trimmed(cells)
    empty = pc.is_in(pc.utf8_lower(cells), pa.array(MISSING, cells.type))
    return pc.if_else(empty, pa.scalar(None, cells.type), cells)


def empty(cells: pa.ChunkedArray) -> npt.NDArray[np.bool_]:
    """(lines,) which cells say nothing."""
    plain = pa.types.is_integer(cells.type) or pa.types.is_floating(cells.type)
    return np.asarray((cells if plain else texts(cells)).is_null(nan_is_null=plain).to_numpy(), bool)


def many(cells: pa.ChunkedArray) -> bool:
    """Whether text has more different values than a choice can have; looks at a part before it looks at all."""
    return any(pc.count_distinct(part).as_py() > CHOICES for part in (cells.slice(0, 1000), cells))


def is_text(cells: pa.ChunkedArray) -> bool:
    """Whether cells are text."""
    return bool(pa.types.is_string(cells.type) or pa.types.is_large_string(cells.type))


def filled(cells: pa.ChunkedArray, value: str) -> tuple[pa.ChunkedArray, int]:
    """Cells with a value where they are empty or say `none`, and how many these were."""
    text = texts(cells)
    hole = pc.fill_null(pc.equal(pc.utf8_lower(text), "none"), True)
    return pc.if_else(hole, pa.scalar(value, text.type), text), int(pc.sum(hole).as_py() or 0)


def within(cells: pa.ChunkedArray, h: Hyperparameter) -> tuple[Column, npt.NDArray[np.intp], str]:
    """The values of a hyperparameter whose definition is known, the lines with others, and the rule they break."""
    text = texts(cells)
    valid = np.asarray(text.is_valid().to_numpy(), bool)
    if h.kind == "categorical":
        index = {str(v).lower(): float(i) for i, v in enumerate(h.values)}
        index |= {float(v): float(i) for i, v in enumerate(h.values) if isinstance(v, (int, float))}  # type: ignore[misc]
        index |= {word: index[str(truth).lower()] for word, truth in _TRUTH.items() if str(truth).lower() in index}
        different, codes = coded(text)
        found = [index.get(t.lower(), index.get(number(t), np.nan)) for t in different]  # type: ignore[call-overload]
        values = np.array([*found, index.get("none", np.nan)])[codes]
        return (
            Column(values, h.values),
            np.flatnonzero(np.isnan(values) & valid),
            f"one of {', '.join(map(str, h.values))}",
        )
    values = parsed(text)
    good = (values >= h.low) & (values <= h.high)
    rule = f"a number in [{h.low:g}, {h.high:g}]"
    if h.values:
        good, rule = np.isin(values, h.values), f"one of {', '.join(map(str, h.values))}"
    elif h.kind == "int":
        good, rule = good & (values == np.floor(values)), rule.replace("a number", "an int")
    none = np.asarray(pc.fill_null(pc.equal(pc.utf8_lower(text), "none"), False).to_numpy(), bool)
    return Column(np.where(good, values, np.nan), whole=h.kind == "int"), np.flatnonzero(valid & ~good & ~none), rule


def respelled(
    cells: pa.ChunkedArray, is_word: Callable[[str], bool] = lambda text: False
) -> tuple[pa.ChunkedArray, str]:
    """Numbers spelled with a decimal comma, a percent sign or an apostrophe, as plain ones, and what was done.

    Args:
        cells: Text.
        is_word: Whether a text may stand among the numbers, such as `OOM`.
    """
    notes = []
    for pattern, old, new, note in _SPELLINGS:
        text = texts(cells)
        some = [t for t in text.slice(0, 100).to_pylist() if t]
        if any(old in t and re.fullmatch(pattern, t) for t in some):
            known = text.drop_null()
            rest = known.filter(pc.invert(pc.match_substring_regex(known, f"^({pattern})$")))
            if not many(rest) and all(map(is_word, rest.unique().to_pylist())):
                cells = pc.utf8_trim_whitespace(pc.replace_substring(text, old, new))
                notes.append(note)
    return cells, ", ".join(notes)


_SPELLINGS = (
    (r"[+-]?\d*[.,]?\d+ ?%", "%", "", "percent signs left out"),
    (r"[+-]?\d+(,\d+)?", ",", ".", "decimal commas read as points"),
    (r"('[+-])?\d*\.?\d+(e[+-]?\d+)?", "'", "", "apostrophes before signs left out"),  # MLflow's, against formulas
)
"""What all numbers must match, what is replaced in them by what, and what is said of it."""


def numbers(name: str, cells: pa.ChunkedArray) -> Floats:
    """(lines,) numbers of a column of numbers, NaN where missing.

    Raises:
        ValueError: Whole numbers beyond 2**53, which float64 cannot tell apart.
    """
    if pa.types.is_integer(cells.type) and len(cells) > cells.null_count:
        apart(name, pc.min_max(cells).as_py().values())
    return np.asarray(cells.cast(pa.float64(), safe=False).to_numpy(), np.float64)


def parsed(cells: pa.ChunkedArray) -> Floats:
    """(lines,) numbers that texts without spaces around them are, else NaN; see `infer.number`."""
    try:
        values = np.asarray(cells.cast(pa.float64()).to_numpy(), np.float64)
        if np.isfinite(values[cells.is_valid().to_numpy()]).all():
            return values
    except pa.ArrowInvalid:
        pass
    different, codes = coded(cells)
    found = [number(text) for text in different]
    return np.array([np.nan if v is None else float(v) for v in found] + [np.nan])[codes]


def coded(cells: pa.ChunkedArray) -> tuple[list[Any], npt.NDArray[np.int64]]:
    """The different values, and (lines,) the index of each cell's among them, or their number where it is missing."""
    encoded = cells.dictionary_encode().combine_chunks()
    if isinstance(encoded, pa.ChunkedArray):
        encoded = encoded.chunk(0)
    different = encoded.dictionary.to_pylist()
    return different, pc.fill_null(encoded.indices.cast(pa.int64()), len(different)).to_numpy()


def _of_text(name: str, cells: pa.ChunkedArray) -> Column:
    values = parsed(cells)
    good = ~np.isnan(values)
    none = np.asarray(pc.fill_null(pc.equal(pc.utf8_lower(cells), "none"), False).to_numpy(), bool)
    full = np.asarray(cells.is_valid().to_numpy(), bool) & ~none
    bad = np.flatnonzero(full & ~good)
    if len(bad) * 5 > full.sum() or len(bad) == full.sum():
        return _choices(cells, lambda text: text)
    large = good & (np.abs(np.where(good, values, 0.0)) >= 2.0**53)
    if large.any():
        apart(name, [number(text) for text in cells.filter(pa.array(large)).to_pylist()])
    known = values[good]
    return Column(values, whole=bool((known == np.floor(known)).all()), none=none if none.any() else None, bad=bad)


def _choices(cells: pa.ChunkedArray, meaning: Any) -> Column:
    if many(cells):
        some = sorted(t for t in cells.unique().slice(0, 100_000).to_pylist() if t is not None)
        return Column(np.full(len(cells), np.nan), tuple(some))
    different, codes = coded(cells)
    choices = tuple(sorted({meaning(d) for d in different}, key=str))
    return Column(np.array([float(choices.index(meaning(d))) for d in different] + [np.nan])[codes], choices)

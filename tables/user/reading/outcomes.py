"""How runs ended: scores, states and costs, in whatever words an export has them."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from hpo_envs.tables.table import STATUSES
from hpo_envs.tables.user import infer
from hpo_envs.tables.user.reading import columns, prepare
from hpo_envs.tables.user.reading.sheet import Sheet

Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.uint8]

OK, FAILED, DIVERGED, TRUNCATED = (STATUSES.index(s) for s in ("ok", "failed", "diverged", "truncated"))
LOST = (FAILED, DIVERGED)
UNFINISHED = 255
"""Code of a run that goes on, and says nothing yet."""

WORDS = {
    DIVERGED: r"[+-]?(nan( .*)?|inf(inity)?)|diverged?|divergence|explod(ed|ing)|overflow",
    FAILED: r"oom|.*out of memory.*|fail(ed|ure)?|.*error(ed)?|.*exception|crash(ed)?|killed|abort(ed)?|time ?d? ?out|"
    r"none|missing|invalid|-+|—|\?",
    TRUNCATED: r"pruned|(early[ _-]?)?stopped|truncated|cancell?ed|interrupted|preempted|preempting",
    OK: r"finished|completed?|success|succeeded|successful|done|ok|terminated",
    UNFINISHED: r"running|pending|waiting|queued|scheduled|in[ _-]?progress|created|paused|starting|submitted|new",
}
"""Status -> what it is called, in lower case."""

STATES = ("state", "status", "trial_state", "run_state", "trial_status", "run_status")
"""Names of columns that may have it."""


def meaning(text: str) -> int | None:
    """The status that a word stands for, None if it is no such word."""
    low = text.strip().lower().removeprefix("trialstate.").removeprefix("status.")
    return next((code for code, pattern in WORDS.items() if re.fullmatch(pattern, low)), None)


def states(sheet: Sheet, column: str, certain: bool) -> Codes | None:
    """(lines,) status that a column says; where it is empty, `ok`.

    Args:
        sheet: The columns.
        column: Which.
        certain: Whether it must have states; else None is returned if it has other words.

    Raises:
        ValueError: A word that is no state, in a column that must have them.
    """
    cells = columns.texts(sheet.columns[column])
    if not certain and columns.many(cells):
        return None
    different, codes = columns.coded(cells)
    found = [meaning(text) for text in different]
    if None in found:
        if not certain:
            return None
        at = found.index(None)
        where = sheet.where(int(np.flatnonzero(codes == at)[0]))
        raise ValueError(
            f"{where}, column {column}: must be a state such as finished, pruned, failed, diverged or running, "
            f"got {different[at]!r}"
        )
    return np.array([*found, OK], np.uint8)[codes] if different else None


def scores(sheet: Sheet, names: Sequence[str], errors: list[str]) -> tuple[Floats, Codes]:
    """(lines, metrics) scores, NaN where there is none, and (lines,) the status which that alone would mean."""
    values = np.full((len(sheet), len(names)), np.nan)
    status = np.zeros(len(sheet), np.uint8)
    for j, name in enumerate(names):
        cells = sheet.columns[name]
        if pa.types.is_integer(cells.type) or pa.types.is_floating(cells.type):
            column = np.asarray(cells.cast(pa.float64(), safe=False).to_numpy(), np.float64)
            lost = ~np.isfinite(column)
            valid = np.asarray(cells.is_valid().to_numpy(), bool)
            code = np.where(lost & valid, DIVERGED, np.where(lost, FAILED, OK))
        else:
            column, code = _of_words(sheet, name, errors)
        values[:, j] = np.where(np.isfinite(column), column, np.nan)
        status = np.maximum(status, code.astype(np.uint8))
    return values, status


def scorable(cells: pa.ChunkedArray) -> bool:
    """Whether cells are numbers, at least one, and words for how a run ended."""
    if not columns.is_text(cells):
        return pa.types.is_integer(cells.type) or pa.types.is_floating(cells.type)
    text = columns.texts(cells)
    number = ~np.isnan(columns.parsed(text))
    rest = text.filter(pa.array(~number & text.is_valid().to_numpy()))
    return (
        bool(number.any()) and not columns.many(rest) and all(meaning(t) is not None for t in rest.unique().to_pylist())
    )


def _of_words(sheet: Sheet, name: str, errors: list[str]) -> tuple[Floats, Codes]:
    text = columns.trimmed(sheet.columns[name])
    values = columns.parsed(text)
    different, codes = columns.coded(text.filter(pa.array(np.isnan(values))))
    found = [FAILED if infer.missing(word) and word.lower() != "nan" else meaning(word) for word in different]
    said = np.array([255 if f is None or f in (OK, TRUNCATED, UNFINISHED) else f for f in found] + [FAILED], np.uint8)
    status = np.zeros(len(values), np.uint8)
    lines = np.flatnonzero(np.isnan(values))
    status[lines] = said[codes]
    for i in np.flatnonzero(status == 255).tolist():
        errors.append(complaint(sheet, i, name, "a number, or empty for a failed run"))
        status[i] = FAILED
    return values, status


def costs(
    sheet: Sheet, name: str, status: Codes, errors: list[str], say: Callable[[str, str, str], None], certain: bool
) -> Floats | None:
    """(lines,) cost of each run; one that failed needs none, and is given the median of those like it.

    Args:
        sheet: The columns.
        name: Which one has costs.
        status: (lines,) how the runs ended.
        errors: Grows by what is wrong.
        say: Told column, role and what was done.
        certain: Whether it must have costs; else None is returned if some runs lack theirs.
    """
    values = prepare.seconds(sheet.columns[name])
    bad = ~(values >= 0) | ~np.isfinite(values)
    lost = np.isin(status, LOST)
    cells = sheet.columns[name]
    empty = columns.empty(cells)
    wrong = bad & ~(lost & empty)
    if wrong.any() and not certain:
        say(name, "left out", f"not taken as the cost, for {sheet.where(int(np.flatnonzero(wrong)[0]))} has none")
        return None
    for i in np.flatnonzero(wrong).tolist():
        errors.append(complaint(sheet, i, name, "a number >= 0"))
    fill = bad & ~wrong
    if fill.any() and not wrong.any():
        like = values[lost & ~bad] if (lost & ~bad).any() else values[~bad]
        middle = float(np.median(like)) if len(like) else 0.0
        kind = "failed runs" if (lost & ~bad).any() else "all runs"
        say(
            name, "note", f"empty for {count(int(fill.sum()), 'failed run')}: taken as {middle:g}, the median of {kind}"
        )
        values = np.where(fill, middle, values)
    return np.where(np.isnan(values), 0.0, values)


def numbers(sheet: Sheet, name: str, errors: list[str], empty: npt.NDArray[np.bool_]) -> Floats:
    """(lines,) numbers of a column that must have one in each line, but for those that may be empty."""
    column = columns.column(name, sheet.columns[name])
    if column.choices is not None:
        column = infer.Column(columns.parsed(columns.texts(sheet.columns[name])))
    for i in np.flatnonzero(np.isnan(column.values) & ~empty).tolist():
        errors.append(complaint(sheet, i, name, "a number"))
    return column.values


def complaint(sheet: Sheet, line: int, name: str, rule: str) -> str:
    """What is wrong with a cell."""
    value: Any = sheet.columns[name][line].as_py()
    shown = "" if value is None else str(value).strip()
    comma = " (decimals take a point)" if re.fullmatch(r"[+-]?\d+,\d+", shown) else ""
    return f"{sheet.where(line)}, column {name}: must be {rule}{comma}, got {shown[:40]!r}"


def count(n: int, what: str) -> str:
    """`1 run`, `2 runs`."""
    return f"{n} {what}{'' if n == 1 else 's'}"

"""Outcomes of runs: scores, states and costs, in the words of any export."""

import re
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from hpo_envs.tables.table import LOST, STATUSES
from hpo_envs.tables.user.cells import (
    Cells,
    Floats,
    absent,
    as_text,
    different,
    each,
    is_text,
    many,
    missing,
    number,
    numbers,
)
from hpo_envs.tables.user.sheet import Sheet

Codes = npt.NDArray[np.uint8]

OK, FAILED, DIVERGED, TRUNCATED = (STATUSES.index(s) for s in ("ok", "failed", "diverged", "truncated"))
UNFINISHED = 255
"""Code of a run that has not ended, or of a text that is no outcome."""

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
    """The status that a word means, or None."""
    low = text.strip().lower().removeprefix("trialstate.").removeprefix("status.")
    return next((code for code, pattern in WORDS.items() if re.fullmatch(pattern, low)), None)


def states(sheet: Sheet, column: str, certain: bool) -> Codes | None:
    """(lines,) status in a column; where it is empty, `ok`.

    Args:
        sheet: The columns.
        column: Which.
        certain: Whether it must have states; else None is returned if it has other words.

    Raises:
        ValueError: A word that is no state, in a column that must have them.
    """
    cells = as_text(sheet.frame[column])
    if absent(cells).all() or (many(cells) and not certain):
        return None
    known = each(cells, lambda t: meaning(t) is not None or missing(t), True)
    if not certain and not known.all():
        return None
    sheet.require(known, column, "a state such as finished, pruned, failed, diverged or running")
    return each(cells, lambda t: OK if missing(t) else meaning(t), OK).astype(np.uint8)


def scores(sheet: Sheet, names: Sequence[str]) -> tuple[Floats, Codes]:
    """(lines, metrics) scores, NaN if there is none, and (lines,) the status which that alone would mean."""
    values = np.column_stack([numbers(sheet.frame[name]) for name in names])
    status = np.where(np.isnan(values), FAILED, OK)
    for j, name in enumerate(names):
        cells = sheet.frame[name]
        if is_text(cells):
            status[:, j] = each(cells, _ended, FAILED)
            sheet.require(status[:, j] != UNFINISHED, name, "a number, or empty for a failed run")
        else:
            status[np.isinf(cells), j] = DIVERGED
        if np.isnan(values[:, j]).all():
            raise ValueError(f"column {name}: must have at least one score, got none")
    return values, status.max(axis=1).astype(np.uint8)


def _ended(text: str) -> int:
    """The status of a run with such a score; `UNFINISHED` if it is neither a number nor a word for a lost run."""
    if number(text) is not None:
        return OK
    if missing(text) and text.lower() != "nan":
        return FAILED
    found = meaning(text)
    return found if found in LOST else UNFINISHED


def scorable(cells: Cells) -> bool:
    """Return whether cells are numbers, at least one, and words for how a run ended."""
    words = [t for t in different(cells) if number(t) is None and not missing(t)]
    if len(words) > 50 or any(meaning(t) is None for t in words):
        return False
    return not is_text(cells) or not np.isnan(numbers(cells)).all()


def costs(cells: Cells, spent: Floats, status: Codes) -> tuple[Floats, npt.NDArray[np.bool_], str]:
    """(lines,) cost of each run, (lines,) those without one, and what was done for the others.

    A run that failed needs no cost, and is given the median of those like it.

    Args:
        cells: The column.
        spent: (lines,) its numbers.
        status: (lines,) how the runs ended.
    """
    bad, lost = ~(spent >= 0), np.isin(status, LOST)
    free = bad & lost & absent(cells)
    if not free.any():
        return spent, bad, ""
    like, kind = (lost & ~bad, "failed runs") if (lost & ~bad).any() else (~bad, "all runs")
    middle = float(np.median(spent[like])) if like.any() else 0.0
    runs = "1 failed run" if free.sum() == 1 else f"{free.sum()} failed runs"
    return np.where(free, middle, spent), bad & ~free, f"empty for {runs}: taken as {middle:g}, the median of {kind}"

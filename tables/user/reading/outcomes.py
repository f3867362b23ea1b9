"""How runs ended: scores, states and costs, in the words of any export."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from hpo_envs.tables.table import LOST, STATUSES
from hpo_envs.tables.user.reading.cells import Floats, Text, absent, many, missing, number, numbers, seconds
from hpo_envs.tables.user.reading.sheet import Sheet, count

Codes = npt.NDArray[np.uint8]

OK, FAILED, DIVERGED, TRUNCATED = (STATUSES.index(s) for s in ("ok", "failed", "diverged", "truncated"))
UNFINISHED = 255
"""Code of a run that has not ended."""

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
    cells = sheet.text(column)
    known = [t for t in cells.different if not missing(t)]
    if not known or (not certain and (many(cells) or any(meaning(t) is None for t in known))):
        return None
    for odd in (t for t in known if meaning(t) is None):
        where = sheet.where(int(np.flatnonzero(cells.each(odd.__eq__, False))[0]))
        raise ValueError(
            f"{where}, column {column}: must be a state such as finished, pruned, failed, diverged or running, "
            f"got {odd!r}"
        )
    return cells.each(lambda t: OK if missing(t) else meaning(t), OK).astype(np.uint8)


def scores(sheet: Sheet, names: Sequence[str], errors: list[str]) -> tuple[Floats, Codes]:
    """(lines, metrics) scores, NaN where there is none, and (lines,) the status which that alone would mean."""
    values = np.full((len(sheet), len(names)), np.nan)
    status = np.zeros(len(sheet), np.uint8)
    for j, name in enumerate(names):
        cells = sheet.columns[name]
        values[:, j] = numbers(cells)
        code = np.where(np.isnan(values[:, j]), FAILED, OK)
        if isinstance(cells, Text):
            said = cells.each(_ended, FAILED)
            for i in np.flatnonzero(said == UNFINISHED).tolist():
                errors.append(sheet.complaint(i, name, "a number, or empty for a failed run"))
            code = np.where(said == UNFINISHED, FAILED, said)
        elif cells.dtype.kind == "f":
            code[np.isinf(cells)] = DIVERGED
        status = np.maximum(status, code.astype(np.uint8))
    return values, status


def _ended(text: str) -> int:
    """The status of a run with such a score; `UNFINISHED` if it is neither a number nor a word for a lost run."""
    if number(text) is not None:
        return OK
    if missing(text) and text.lower() != "nan":
        return FAILED
    found = meaning(text)
    return found if found in LOST else UNFINISHED  # type: ignore[return-value]


def scorable(cells: Text | npt.NDArray[np.generic]) -> bool:
    """Whether cells are numbers, at least one, and words for how a run ended."""
    if not isinstance(cells, Text):
        return cells.dtype.kind in "iuf"
    words = [t for t in cells.different if number(t) is None and not missing(t)]
    return bool((~np.isnan(numbers(cells))).any()) and len(words) <= 50 and all(meaning(t) is not None for t in words)


def costs(
    sheet: Sheet, name: str, status: Codes, errors: list[str], say: Callable[[str, str], None], certain: bool
) -> Floats | None:
    """(lines,) cost of each run; one that failed needs none, and is given the median of those like it.

    Args:
        sheet: The columns.
        name: Which one has costs.
        status: (lines,) how the runs ended.
        errors: Grows by what is wrong.
        say: Called with the column and what was done.
        certain: Whether it must have costs; else None is returned if some runs lack theirs.
    """
    values = seconds(sheet.columns[name])
    bad = ~(values >= 0)
    lost = np.isin(status, LOST)
    wrong = bad & ~(lost & absent(sheet.columns[name]))
    if wrong.any() and not certain:
        say(name, f"not taken as the cost, for {sheet.where(int(np.flatnonzero(wrong)[0]))} has none")
        return None
    errors += [sheet.complaint(i, name, "a number >= 0") for i in np.flatnonzero(wrong).tolist()]
    if bad.any() and not wrong.any():
        like = lost & ~bad if (lost & ~bad).any() else ~bad
        middle = float(np.median(values[like])) if like.any() else 0.0
        kind = "failed runs" if (lost & ~bad).any() else "all runs"
        say(name, f"empty for {count(bad.sum(), 'failed run')}: taken as {middle:g}, the median of {kind}")
        values = np.where(bad, middle, values)
    return np.where(bad & wrong, 0.0, values)

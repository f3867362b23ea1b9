"""Outcomes of runs: scores, states, costs and checkpoints, in the words of any export."""

import re

import numpy as np
import numpy.typing as npt
import pandas as pd

from hpo_envs.tables.table import LOST, STATUSES
from hpo_envs.tables.user import cells as of_cells
from hpo_envs.tables.user.cells import Cells, Floats, absent, different, each, is_text, missing, number, numbers
from hpo_envs.tables.user.sheet import NO_COST, Schema, Sheet, count

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


def states(sheet: Sheet, schema: Schema) -> Codes | None:
    """(lines,) status in the column of states, `ok` where it is empty; None if there is no such column.

    Raises:
        ValueError: A word that is no state, in a column that must have them: the tool's or the one that the user names.
    """
    certain = schema.status or sheet.one(sheet.recipe.state)
    column = certain or next((c for c in sheet.frame if c.lower() in STATES), None)
    if column is None or column in (*schema.score, *schema.drop, *schema.hyperparameters):
        return None
    found = each(of_cells.as_text(sheet.frame[column]), lambda t: OK if missing(t) else meaning(t), OK)
    known = np.asarray(pd.notna(found))
    schema.status = None
    if absent(sheet.frame[column]).all() or not (certain or known.all()):
        return None
    sheet.require(known, column, "a state such as finished, pruned, failed, diverged or running")
    schema.status = column
    return found.astype(np.uint8)


def ended(sheet: Sheet, schema: Schema) -> tuple[Floats, Codes]:
    """(lines, metrics) scores, NaN if there is none, and (lines,) how the runs ended; those that go on are left out.

    Raises:
        ValueError: Cells that are neither scores nor words for a lost run, no score, or no run that ended.
    """
    found = states(sheet, schema)
    if found is not None:
        going = found == UNFINISHED
        if going.all():
            raise ValueError(f"column {schema.status}: must have a run that has ended, got {len(going)} that go on")
        said = f"; {count(int(going.sum()), 'run')} still going on, left out" if going.any() else ""
        sheet.say(f"how a run ended{said}", str(schema.status))
        sheet.frame, found = sheet.frame[~going], found[~going]
    values, status = scores(sheet, schema)
    if found is None:
        return values, status
    # What failed with a score stopped early, what ended without one failed.
    lost = np.isnan(values).all(axis=1)
    early = np.isin(found, LOST) & ~lost
    if early.any():
        runs = count(int(early.sum()), "run")
        sheet.say(f"{runs} failed with a score, which counts: truncated", str(schema.status))
    without = np.where(found == DIVERGED, DIVERGED, np.where(status == OK, FAILED, status))
    return values, np.where(lost, without, np.where(early, TRUNCATED, found)).astype(np.uint8)


def scores(sheet: Sheet, schema: Schema) -> tuple[Floats, Codes]:
    """(lines, metrics) scores, NaN if there is none, and (lines,) the status which that alone would mean."""
    columns = []
    status = np.full(len(sheet.frame), OK)
    for name in schema.score:
        cells = sheet.frame[name]
        values = numbers(cells)
        if is_text(cells):
            of_text = each(cells, _ended, FAILED)
            sheet.require(of_text != UNFINISHED, name, "a number, or empty for a failed run")
        else:
            of_text = np.where(np.isinf(cells), DIVERGED, np.where(np.isnan(values), FAILED, OK))
        if np.isnan(values).all():
            raise ValueError(f"column {name}: must have at least one score, got none")
        columns.append(values)
        status = np.maximum(status, of_text)
    return np.column_stack(columns), status.astype(np.uint8)


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
    known = all(number(t) is not None or meaning(t) is not None for t in different(cells))
    return known and not (is_text(cells) and np.isnan(numbers(cells)).all())


def costs(sheet: Sheet, schema: Schema, status: Codes) -> tuple[Floats | None, str]:
    """(lines,) what the runs cost and its unit, if that is known.

    A run that failed needs no cost, and is given the median of those like it.

    Raises:
        ValueError: Cells of the user's column that are no cost.
    """
    column = schema.cost or sheet.one(sheet.recipe.cost) or NO_COST
    if column == NO_COST or column in schema.score:
        return None, ""
    cost = of_cells.seconds(sheet.frame[column])
    bad, lost = ~(cost >= 0), np.isin(status, LOST)
    free = bad & lost & absent(sheet.frame[column])
    wrong = bad & ~free
    if wrong.any() and not schema.cost:
        sheet.say(f"not taken as the cost, for {sheet.where(int(np.argmax(wrong)))} has none", column)
        return None, ""
    sheet.require(~wrong, column, "a number >= 0")
    if free.any():
        like, kind = (lost & ~bad, "failed runs") if (lost & ~bad).any() else (~bad, "all runs")
        middle = float(np.median(cost[like])) if like.any() else 0.0
        runs = count(int(free.sum()), "failed run")
        sheet.say(f"empty for {runs}: taken as {middle:g}, the median of {kind}", column)
        cost = np.where(free, middle, cost)
    unit = "" if schema.cost else ", in seconds"
    sheet.say(f"what a run cost{unit} (--cost {NO_COST}: each evaluation costs 1)", column)
    unit, schema.cost = schema.cost or "seconds", column
    return cost, unit


def levels(sheet: Sheet, column: str, status: Codes, why: str) -> Floats:
    """(lines,) the checkpoints in a column.

    Raises:
        ValueError: Cells of runs with a score that are no number.
    """
    of_cells.check_whole(column, sheet.frame[column])
    values = numbers(sheet.frame[column])
    sheet.require(~np.isnan(values) | np.isin(status, LOST), column, "a number")
    if np.isnan(values).all():
        raise ValueError(f"column {column}: must have a number, got none")
    sheet.say(f"the checkpoint, {len(np.unique(values[~np.isnan(values)]))} different{why}", column)
    return np.where(np.isnan(values), np.nanmin(values), values)  # a run without one failed before the first

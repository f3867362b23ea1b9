"""Outcomes of runs: scores, states, costs and checkpoints, in the vocabulary of any export."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from hpo_envs.tables.table import LOST
from hpo_envs.tables.user import cells as of_cells
from hpo_envs.tables.user.cells import (
    DIVERGED,
    FAILED,
    OK,
    TRUNCATED,
    UNFINISHED,
    Floats,
    absent,
    each,
    is_text,
    meaning,
    missing,
    number,
    numbers,
)
from hpo_envs.tables.user.frame import Decision, Frame, count
from hpo_envs.tables.user.statement import NO_COST, Statement

Codes = npt.NDArray[np.uint8]

STATES = ("state", "status", "trial_state", "run_state", "trial_status", "run_status")
"""Names of columns that may have it."""


class Ended(NamedTuple):
    """How the runs of a frame ended.

    Attributes:
        frame: The lines of those that ended.
        scores: (lines, metrics) float64, NaN if there is none.
        status: (lines,) index into `STATUSES`.
        column: Of the status.
        said: The decisions.
    """

    frame: Frame
    scores: Floats
    status: Codes
    column: str | None
    said: list[Decision]


def states(frame: Frame, stated: Statement) -> tuple[str, Codes] | None:
    """The column of states and (lines,) the status in it, `ok` where it is empty; None if there is no such column.

    Raises:
        ValueError: A word that is no state, in a column that must have them: the tool's or the one that the user names.
    """
    certain = stated.status or frame.one(frame.recipe.state)
    column = certain or next((c for c in frame.cells if c.lower() in STATES), None)
    if column is None or column in (*stated.score, *stated.drop, *stated.hyperparameters):
        return None
    found = each(of_cells.as_text(frame[column]), lambda t: OK if missing(t) else meaning(t), OK)
    known = np.array([v is not None for v in found])
    if absent(frame[column]).all() or not (certain or known.all()):
        return None
    frame.require(known, column, "a state such as finished, pruned, failed, diverged or running")
    return column, found.astype(np.uint8)


def ended(frame: Frame, stated: Statement) -> Ended:
    """The runs that ended, with their scores; running ones are left out.

    Raises:
        ValueError: Cells that are neither scores nor words for a lost run, no score, or no run that ended.
    """
    state = states(frame, stated)
    if state is None:
        return Ended(frame, *scores(frame, stated.score), None, [])
    column, found = state
    going = found == UNFINISHED
    if going.all():
        raise ValueError(f"column {column}: must have a run that has ended, got {len(going)} still running")
    text = f"; {count(int(going.sum()), 'run')} still going on, left out" if going.any() else ""
    said = [frame.of("status", f"how a run ended{text}", column)]
    frame, found = frame.only(~going), found[~going]
    values, status = scores(frame, stated.score)
    # What failed with a score stopped early, what ended without one failed.
    lost = np.isnan(values).all(axis=1)
    early = np.isin(found, LOST) & ~lost
    if early.any():
        runs = count(int(early.sum()), "run")
        said.append(frame.of("status", f"{runs} failed with a score, which counts: truncated", column))
    without = np.where(found == DIVERGED, DIVERGED, np.where(status == OK, FAILED, status))
    status = np.where(lost, without, np.where(early, TRUNCATED, found)).astype(np.uint8)
    return Ended(frame, values, status, column, said)


def scores(frame: Frame, names: tuple[str, ...]) -> tuple[Floats, Codes]:
    """(lines, metrics) scores, NaN where there is none, and (lines,) the status that each score alone implies."""
    columns = []
    status = np.full(len(frame), OK)
    for name in names:
        cells = frame[name]
        values = numbers(cells)
        if is_text(cells):
            of_text = each(cells, _ended, FAILED)
            frame.require(of_text != UNFINISHED, name, "a number, or empty for a failed run")
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


def costs(frame: Frame, stated: Statement, status: Codes) -> tuple[str | None, Floats | None, list[Decision]]:
    """The column of costs, and (lines,) the costs; None if there is none.

    A run that failed needs no cost, and is given the median of those like it.

    Raises:
        ValueError: Cells of the user's column that are no cost.
    """
    column = stated.cost or frame.one(frame.recipe.cost) or NO_COST
    if column == NO_COST or column in stated.score:
        return None, None, []
    cost = of_cells.seconds(frame[column])
    bad, lost = ~(cost >= 0), np.isin(status, LOST)
    free = bad & lost & absent(frame[column])
    wrong = bad & ~free
    if wrong.any() and not stated.cost:
        text = f"not taken as the cost, for {frame.where(int(np.argmax(wrong)))} has none"
        return None, None, [frame.of("ignored", text, column)]
    frame.require(~wrong, column, "a number >= 0")
    said = []
    if free.any():
        like, kind = (lost & ~bad, "failed runs") if (lost & ~bad).any() else (~bad, "all runs")
        middle = float(np.median(cost[like])) if like.any() else 0.0
        runs = count(int(free.sum()), "failed run")
        said.append(frame.of("cost", f"empty for {runs}: taken as {middle:g}, the median of {kind}", column))
        cost = np.where(free, middle, cost)
    unit = "" if stated.cost else ", in seconds"
    said.append(frame.of("cost", f"what a run cost{unit} (--cost {NO_COST}: each evaluation costs 1)", column))
    return column, cost, said

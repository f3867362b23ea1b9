"""Outcomes of runs: the score, its goal, costs; failed, diverged and unfinished runs."""

import re
from collections.abc import Sequence
from dataclasses import replace
from shlex import quote

import numpy as np
import numpy.typing as npt
import pandas as pd

from hpo_envs.tables.table import DIVERGED, FAILED, LARGEST, LOST, OK, TRUNCATED
from hpo_envs.tables.user import cells as of_cells
from hpo_envs.tables.user.cells import (
    UNFINISHED,
    Floats,
    absent,
    each,
    is_text,
    meaning,
    missing,
    number,
    numbers,
    numeric,
)
from hpo_envs.tables.user.deciding import names
from hpo_envs.tables.user.deciding.names import among, goal_of, is_time
from hpo_envs.tables.user.frame import Decision, Frame, count
from hpo_envs.tables.user.statement import NO_COST, Decisions, Statement

Codes = npt.NDArray[np.uint8]


def scored(found: Decisions) -> Decisions:
    """Decide the scores and goals: the stated ones, the tool's, or guesses from names; else they are questions.

    Raises:
        ValueError: No column can be a score, or the goals are invalid or not one for each score.
    """
    frame, stated, said = found.frame, found.stated, []
    score = stated.score
    if not score:
        guessed, others = _guessed(frame)
        score = (guessed,)
        if others:
            shown = ", ".join(others)
            said.append(Decision("question", (), f"--score must name the score among the columns {shown}, got none"))
    goal = stated.goal or tuple((frame.recipe.goal if c in frame.scores else None) or goal_of(c) for c in score)
    if len(goal) != len(score):
        raise ValueError(f"goal must have one entry per score ({len(score)}), got {len(goal)}")
    for column, g in zip(score, goal, strict=True):
        why = "its values are all negative" if g else "its name does not say which"
        got = repr(g) if stated.goal else f"none: {why} (--goal)"
        text = f"goal of {column} must be max or min, got {got}"
        if g and g not in ("max", "min"):
            raise ValueError(text)
        turned = not stated.goal and not frame.recipe.goal and names.is_positive(column)
        if not said and (not g or (turned and np.nanmax(numbers(frame[column]), initial=-np.inf) < 0)):
            said.append(Decision("question", (), text))
    return found.add(*said, stated={"score": score, "goal": tuple(g or "max" for g in goal)})


def _guessed(frame: Frame) -> tuple[str, Sequence[str]]:
    """Return the score, guessed from the tool, names and values, and the candidates if it is unclear.

    Where only a word in its name suggests it, and values repeat in it, but not in another column, it is unclear.
    """
    free = [n for n in frame.cells if n not in frame.settings and of_cells.scorable(frame[n])]
    rare = [n for n in free if (values := pd.Series(numbers(frame[n]))).nunique() * 2 > values.count()]
    rivals = [n for n in rare if not is_time(n) and not re.fullmatch(names.IDENTIFIERS, n.lower())]
    marked = [n for n in free if n in frame.scores]
    measured = marked or [n for n in free if goal_of(n)]
    measured = [n for n in measured if not is_time(n) and not among(n, names.SPREADS)] or marked
    varied = [n for n in measured if pd.Series(numbers(frame[n])).nunique() > 1]
    checked = [n for n in varied if among(n, names.CHECKED)]
    validated = [n for n in checked if among(n, names.VALIDATED)]
    for some in (varied, checked, validated, [n for n in varied if goal_of(n) == "max"]):
        if len(some) == 1:
            sure = marked or some[0] in rare or names.is_score(some[0]) or not rivals
            return some[0], () if sure else (*some, *rivals)
    shown = measured or free
    if not shown:
        raise ValueError(f"--score must name the score among the columns {', '.join(frame.cells)}, got none")
    return (varied or shown)[0], shown


def without_parents(found: Decisions) -> Decisions:
    """Leave out runs of MLflow that other runs name as their parent: a parent sums up a sweep."""
    frame, run = found.frame, found.frame.one(found.frame.recipe.run)
    parent = next((n for n in frame.cells if n.endswith("mlflow.parentRunId")), None)
    if run is None or parent is None or not is_text(frame[run]):
        return found
    above = each(frame[run], {*of_cells.different(frame[parent])}.__contains__, False)
    said = frame.of("ignored", f"names {count(int(above.sum()), 'parent')} of other runs: left out", parent)
    return found.add(said, frame=replace(frame, cells=frame.cells[~above].drop(columns=parent)))


def without_logs(found: Decisions) -> Decisions:
    """Leave out the lines of a training log without the score, and the columns that only these lines have, if any."""
    frame, stated = found.frame, found.stated
    plain = [n for n, c in frame.cells.items() if numeric(c)]
    steps = [n for n in plain if re.fullmatch(names.LEVELS, n.lower())]
    without = absent(frame[stated.score[0]])
    if not steps or stated.status or without.sum() * 3 < len(frame) or without.all():
        return found
    full = {n: ~absent(frame[n]) for n in plain if n not in steps}
    often = [n for n, f in full.items() if (f & without).sum() * 2 > without.sum()]
    other = [n for n in often if not (full[n] & ~without).any()]
    text = f"{count(int(without.sum()), 'line')} without the score"
    if other:
        said = frame.of("ignored", f"on {text}, which are left out", *other)
        return found.add(said, frame=replace(frame, cells=frame.cells[~without].drop(columns=other)))
    # Or more often than the score, which the same runs have on other lines.
    runs = [c for n, c in frame.cells.items() if re.fullmatch(names.IDENTIFIERS, n.lower()) and c.duplicated().any()]
    same = any({*c[without]} <= {*c[~without]} for c in runs)
    other = [n for n in often if frame[n][without].nunique() * 2 > without.sum()]
    if not same or not other:
        return found
    said = frame.of("ignored", f"{text}, but with {', '.join(other)}: left out")
    return found.add(said, frame=frame.only(~without))


def states(frame: Frame, stated: Statement) -> tuple[str, Codes] | None:
    """Return the column of states and (lines,) statuses, `ok` for empty cells; None if no column is usable.

    Raises:
        ValueError: A word is not a state, in the tool's column, the one stated by the user or one with mostly states.
    """
    certain = stated.status or frame.one(frame.recipe.state)
    column = certain or next((c for c in frame.cells if c.lower() in names.STATES), None)
    if column is None or column in (*stated.score, *stated.drop, *stated.hyperparameters):
        return None
    found = each(of_cells.as_text(frame[column]), lambda t: OK if missing(t) else meaning(t), OK)
    known = np.array([v is not None for v in found])
    full = ~absent(frame[column])
    if not full.any() or not (certain or 2 * known[full].sum() > full.sum()):
        return None
    frame.require(known, column, f"a state such as finished, pruned, failed or running (or --drop {quote(column)})")
    return column, found.astype(np.uint8)


def ended(found: Decisions) -> Decisions:
    """Keep the runs that have ended, with their scores and statuses; running ones are left out.

    Raises:
        ValueError: Cells are neither scores nor words for a lost run, or no run has a score or has ended.
    """
    frame, state, said = found.frame, states(found.frame, found.stated), []
    if state is None:
        values, status = scores(frame, found.stated.score)
        return found.add(scores=values, lines=pd.DataFrame({"status": status}), stated={"status": None})
    column, known = state
    going = known == UNFINISHED
    if going.all():
        raise ValueError(f"column {column}: must have at least one run that has ended, got {len(going)} unfinished")
    text = f"; {count(int(going.sum()), 'run')} still going on, left out" if going.any() else ""
    said.append(frame.of("status", f"how a run ended{text}", column))
    frame, known = frame.only(~going), known[~going]
    values, status = scores(frame, found.stated.score)
    # What failed with a score stopped early, what ended without one failed.
    lost = np.isnan(values).all(axis=1)
    early = np.isin(known, LOST) & ~lost
    if early.any():
        runs = count(int(early.sum()), "run")
        said.append(frame.of("status", f"{runs} failed with a score, which counts: truncated", column))
    without = np.where(known == DIVERGED, DIVERGED, np.where(status == OK, FAILED, status))
    status = np.where(lost, without, np.where(early, TRUNCATED, known)).astype(np.uint8)
    lines = pd.DataFrame({"status": status})
    return found.add(*said, frame=frame, scores=values, lines=lines, stated={"status": column})


def scores(frame: Frame, metrics: tuple[str, ...]) -> tuple[Floats, Codes]:
    """(lines, metrics) scores, NaN where missing, and (lines,) statuses implied by the scores alone."""
    columns = []
    status = np.full(len(frame), OK)
    for name in metrics:
        cells = frame[name]
        values = numbers(cells)
        values = np.where(np.abs(values) > LARGEST, np.nan, values)
        if is_text(cells):
            of_text = each(cells, _ended, FAILED)
            frame.require(of_text != UNFINISHED, name, "a number, or empty for a failed run")
        else:
            of_text = np.where(np.abs(cells) > LARGEST, DIVERGED, np.where(np.isnan(values), FAILED, OK))
        if np.isnan(values).all():
            raise ValueError(f"column {name}: must have at least one score, got none")
        columns.append(values)
        status = np.maximum(status, of_text)
    return np.column_stack(columns), status.astype(np.uint8)


def _ended(text: str) -> int:
    """The status of a run with this score; `UNFINISHED` if it is neither a number nor a word for a lost run."""
    if (value := number(text)) is not None:
        return OK if abs(value) <= LARGEST else DIVERGED
    if missing(text) and text.lower() != "nan":
        return FAILED
    found = meaning(text)
    return found if found in LOST else UNFINISHED


def paid(found: Decisions) -> Decisions:
    """Read the costs from the stated column, or from the tool's if they are valid; there may be none.

    A failed or diverged run without a cost gets the median cost of such runs, else of all runs, else 0.

    Raises:
        ValueError: Cells of the column stated by the user are not costs.
    """
    frame, stated, lost = found.frame, found.stated, found.lost
    column = stated.cost or frame.one(frame.recipe.cost) or NO_COST
    if column == NO_COST or column in stated.score:
        return found
    cost = of_cells.seconds(frame[column])
    bad = ~(cost >= 0)
    free = bad & lost & absent(frame[column])
    wrong = bad & ~free
    if wrong.any() and not stated.cost:
        text = f"not taken as the cost, for {frame.where(int(np.argmax(wrong)))} has none"
        return found.add(frame.of("ignored", text, column))
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
    lines = found.lines.assign(cost=cost)
    return found.add(*said, lines=lines, stated={"cost": column}, cost_unit=stated.cost or "seconds")

"""Decisions on a frame: roles of columns, ends of runs, the search space, and the lines of each run."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from shlex import quote
from typing import Any

import numpy as np
import pandas as pd

from hpo_envs.tables.table import LOST, Hyperparameter, Metric
from hpo_envs.tables.user import cells as of_cells
from hpo_envs.tables.user.cells import Floats, absent, is_text, missing, numeric
from hpo_envs.tables.user.deciding import definitions, formats, names, outcomes, relations, repeats, roles
from hpo_envs.tables.user.frame import Decision, Frame, count
from hpo_envs.tables.user.statement import NO_COST, Statement, statement_of


@dataclass(frozen=True)
class Decisions:
    """Decisions on a frame; `str` prints a line for each.

    Attributes:
        frame: The lines that are runs or their checkpoints.
        stated: The statement, complete.
        said: Each decision, with its reason.
        metrics: The metrics.
        space: The hyperparameters.
        values: Name -> (lines,) their stored numbers, NaN where inactive.
        scores: (lines, metrics) float64, NaN = the run failed before it had one.
        lines: For each line that is kept, its `row`, `repeat`, `level`, `cost` and `status`.
        cost_unit: Unit of the costs.
        names: Columns that name the runs.
    """

    frame: Frame
    stated: Statement
    said: tuple[Decision, ...]
    metrics: tuple[Metric, ...]
    space: tuple[Hyperparameter, ...]
    values: Mapping[str, Floats]
    scores: Floats
    lines: pd.DataFrame
    cost_unit: str
    names: tuple[str, ...]

    def __str__(self) -> str:
        return "\n".join(map(str, self.said))

    @property
    def uncertain(self) -> tuple[Decision, ...]:
        """The decisions that an option settles."""
        return tuple(d for d in self.said if d.option)


def decide(frame: Frame, **options: Any) -> Decisions:
    """Decide what the columns and lines of a frame mean.

    Args:
        frame: What was read.
        **options: Fields of a `Statement`: what is known.

    Raises:
        ValueError: Cells or arguments that are wrong, or with `ask` a decision that is uncertain; lines and columns are
            named.
    """
    try:
        found = _decide(frame, statement_of(options, frame))
        if found.stated.ask and found.uncertain:
            raise ValueError("; ".join(f"{d} (--ask)" for d in found.uncertain))
        return found
    except ValueError as error:
        text = str(error)
        raise ValueError(text if text.startswith(frame.source) else f"{frame.source}: {text}") from None


def _decide(frame: Frame, given: Statement) -> Decisions:
    frame, units, legible = _legible(frame, given)
    scored = names.scored(frame, given)
    frame, filled = _filled(frame, scored)
    frame, logged = _of_runs(frame, scored)
    ended = outcomes.ended(frame, scored)
    frame, lost = ended.frame, np.isin(ended.status, LOST)
    cost_column, cost, costs = outcomes.costs(frame, scored, ended.status)
    known = replace(scored, status=ended.column, cost=cost_column or scored.cost)
    stated, runs, assigned = roles.assign(frame, known, lost, units)
    columns = definitions.columns_of(frame, stated)
    by = runs[:1] or [*stated.hyperparameters]
    first = ~frame.cells.duplicated(by).to_numpy() if stated.level and by else np.ones(len(frame), bool)
    space = definitions.space_of(frame, stated, columns, units, first)
    metrics, scores = _metrics(frame, stated, ended.scores)
    lines = pd.DataFrame({"status": ended.status, "level": 1.0})
    levels = []
    if stated.level:
        lines["level"] = repeats.levels(frame, stated.level, lost)
        how = "" if given.level else "; runs have several lines each"
        of = stated.level
        option = "" if given.level or runs or frame.recipe.level else f"--level {quote(of)} or --hyperparameters"
        levels = [frame.of("level", f"the checkpoint, {lines['level'].nunique()} different{how}", of, option=option)]
    lines["cost"] = lines["level"] if cost is None else cost
    lines, grouped = repeats.runs(frame, stated, runs, lines, space, ended.scores, given.repeat)
    related = [] if given.hyperparameters else _related(frame, space, ended.scores[:, 0])
    tool = [Decision("file", (), f"read as an export of {frame.recipe.tool}")] if frame.recipe.tool else []
    said = (*tool, *frame.decisions, *legible, *filled, *logged, *ended.said, *costs, *assigned, *levels, *scores,
            *space.said, *related, *grouped)  # fmt: skip
    unit = (given.cost or "seconds") if cost_column else stated.level or NO_COST
    return Decisions(
        frame, stated, said, metrics, space.space, space.values, ended.scores, lines, unit, tuple(runs)
    )  # fmt: skip


def _legible(frame: Frame, stated: Statement) -> tuple[Frame, dict[str, str], list[Decision]]:
    """A frame without repeated headers, with numbers as Python writes them; and the units of columns."""
    said = []
    if all(is_text(cells) for _, cells in frame.cells.items()):
        again = np.logical_and.reduce([(cells == name).to_numpy() for name, cells in frame.cells.items()])
        if again.any():
            lines, first = count(int(again.sum()), "line"), frame.where(int(np.argmax(again)))
            said.append(frame.of("ignored", f"{lines} with the header again, the first {first}: left out"))
            frame = frame.only(~again)
    free = {n: c for n, c in frame.cells.items() if n not in stated.categorical}
    found = formats.spellings(free, frame.delimiter, lambda text: of_cells.meaning(text) is not None, stated.decimal)
    said += [frame.of("file", spelling.note, name) for name, spelling in found.items() if spelling.note]
    changed = {name: spelling.cells for name, spelling in found.items() if spelling.note}
    frame = replace(frame, cells=frame.cells.assign(**changed)) if changed else frame
    return frame, {name: spelling.unit for name, spelling in found.items()}, said


def _filled(frame: Frame, stated: Statement) -> tuple[Frame, list[Decision]]:
    """A frame with the values that the user gives for empty cells."""
    said = []
    for name, value in stated.fill.items():
        old = of_cells.as_text(frame[name])
        holes = of_cells.each(old, lambda t: missing(t) or t.lower() == "none", True)
        cells = of_cells.text(np.where(holes, str(value), old.astype(object)), old.index)
        frame = replace(frame, cells=frame.cells.assign(**{name: cells}))
        said.append(frame.of("file", f"{count(int(holes.sum()), 'cell')} without a value filled with {value}", name))
    return frame, said


def _of_runs(frame: Frame, stated: Statement) -> tuple[Frame, list[Decision]]:
    """A frame without the lines of a log that have something else than the score, as loggers of training write them."""
    steps = any(re.fullmatch(names.LEVELS, n.lower()) and numeric(c) for n, c in frame.cells.items())
    without = absent(frame[stated.score[0]])
    if not steps or stated.status or without.sum() * 3 < len(frame) or without.all():
        return frame, []
    other = [
        n
        for n, c in frame.cells.items()
        if numeric(c) and (full := ~absent(c)).any() and not (full & ~without).any() and full.sum() * 2 > without.sum()
    ]
    if not other:
        return frame, []
    lines = count(int(without.sum()), "line")
    cells = frame.cells[~without].drop(columns=other)
    said = frame.of("ignored", f"on {lines} without the score, which are left out", *other)
    return replace(frame, cells=cells), [said]


def _metrics(frame: Frame, stated: Statement, scores: Floats) -> tuple[tuple[Metric, ...], list[Decision]]:
    made, said = [], []
    for column, goal, values in zip(stated.score, stated.goal, scores.T, strict=True):
        metric, text = definitions.metric(column, values[~np.isnan(values)], goal, stated.bounds.get(column))
        made.append(metric)
        said.append(frame.of("score", text, column))
    return tuple(made), said + definitions.degenerate(frame, stated, scores)


def _related(frame: Frame, space: definitions.DecidedSpace, scores: Floats) -> list[Decision]:
    """A decision on each hyperparameter that others, or the score, determine."""
    some = np.flatnonzero(~np.isnan(scores))[:: len(frame) // relations.LINES + 1]
    columns = {n: space.values[n][some] for n in frame.cells if n in space.values}
    numbers = {h.name for h in space.space if h.kind != "categorical"}
    found = relations.functions(columns, numbers, scores[some])
    return [
        frame.of(
            "hyperparameter", f"{by}: taken nevertheless", name, option=f"--drop {quote(name)} or --hyperparameters"
        )
        for name, by in found.items()
    ]

"""What each column of a file is, step by step: states, scores, costs, hyperparameters, checkpoints, repeats."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from shlex import quote
from typing import Any

import numpy as np
import numpy.typing as npt

from hpo_envs.tables.table import LOST, Hyperparameter
from hpo_envs.tables.user import infer, roles
from hpo_envs.tables.user.infer import Column
from hpo_envs.tables.user.reading import cells as cells_module
from hpo_envs.tables.user.reading import outcomes
from hpo_envs.tables.user.reading.cells import Floats, Text, absent, codes, numbers
from hpo_envs.tables.user.reading.outcomes import DIVERGED, FAILED, OK, TRUNCATED, UNFINISHED
from hpo_envs.tables.user.reading.sheet import Sheet, count
from hpo_envs.tables.user.reading.trackers import Reading
from hpo_envs.tables.user.runs import Runs
from hpo_envs.tables.user.schema import NO_COST, Schema, goals, resolved

SHOWN = 5
"""Errors named before the rest are counted."""

Say = Callable[[str | Sequence[str], str], None]


class Reader:
    """Makes runs of the columns of a file.

    Args:
        reading: The columns, and whose export they are.
        given: What the user says of them.
        say: Called with each decision: column or columns, and the reason.

    Attributes:
        schema: What the columns are taken for; complete after `runs`.
    """

    def __init__(self, reading: Reading, given: Schema, say: Say) -> None:
        self.say = say
        self.errors: list[str] = []
        self.reading = reading
        self._without_headers()
        self._respell()
        self.schema = resolved(given, self.reading)
        self._fill()
        states = self._states()
        self.goals = goals(self.schema, self.reading)
        self.scores, self.status = outcomes.scores(self.sheet, self.schema.score, self.errors)
        if states is not None:
            self._end(states)
        self.cost = self._cost()

    @property
    def sheet(self) -> Sheet:
        """The columns."""
        return self.reading.sheet

    def runs(self) -> Runs:
        """The runs that the file lists.

        Raises:
            ValueError: Cells or arguments that are wrong; lines and columns are named.
        """
        s, read = self.schema, self.sheet
        names, settings = self._settings()
        level, levels = self._level(names, settings)
        repeat, codes = self._repeat(names, settings, level is not None)
        for why, columns_aside in self.aside.items():
            rest = [c for c in columns_aside if c not in (level, repeat)]
            if rest:
                self.say(rest, why)
        self._complain()
        metrics = self._metrics()
        if names:
            self.say(names, "names the runs, no hyperparameter")
        self.schema = dataclasses.replace(s, goal=self.goals, cost=s.cost or NO_COST, level=level, repeat=repeat)
        once = s.duplicates if s.duplicates is not None else True if names or repeat else None
        return Runs(
            where=read.where,
            columns=settings,
            scores=self.scores,
            metrics=metrics,
            cost=self.cost,
            cost_unit=self.unit if self.cost is not None else level or NO_COST,
            level=levels,
            level_unit=level or "full training",
            repeat=codes,
            status=self.status,
            keys=read.text(names[0]).each(str, "").tolist() if names else None,
            fixed={h.name: h for h in s.space},
            log=dict(s.log),
            twice=dataclasses.replace(read, columns={**read.columns}).twice,
            duplicates=once,
        )

    def _states(self) -> npt.NDArray[np.uint8] | None:
        """(lines,) what the column of states says, if there is one; runs that go on are left out."""
        certain = self.schema.status or self.reading.one(self.reading.recipe.state)
        column = certain or next((c for c in self.sheet.columns if c.lower() in outcomes.STATES), None)
        others = (*self.schema.score, *self.schema.drop, *(self.schema.hyperparameters or ()))
        states = None if column is None or column in others else outcomes.states(self.sheet, column, bool(certain))
        self.schema = dataclasses.replace(self.schema, status=None if states is None else column)
        if states is None:
            return None
        going = states == UNFINISHED
        said = f"; {count(int(going.sum()), 'run')} still going on, left out" if going.any() else ""
        self.say(str(column), f"how a run ended{said}")
        if going.all():
            raise ValueError(f"column {column}: must have a run that has ended, got {len(going)} that go on")
        if going.any():
            self.reading = dataclasses.replace(self.reading, sheet=self.sheet.only(~going))
        return states[~going]

    def _without_headers(self) -> None:
        """Leaves out lines that repeat the header, as in files that were put together of several."""
        again = np.ones(len(self.sheet), bool)
        for name, cells in self.sheet.columns.items():
            if not isinstance(cells, Text) or name not in cells.different:
                return
            again &= cells.codes == cells.different.index(name)
        if again.any():
            lines, first = count(int(again.sum()), "line"), self.sheet.where(int(np.flatnonzero(again)[0]))
            self.say("", f"{lines} with the header again, the first {first}: left out")
            self.reading = dataclasses.replace(self.reading, sheet=self.sheet.only(~again))

    def _respell(self) -> None:
        """Reads decimal commas, percent signs and uncertainties where all numbers of a column have them."""
        for name, cells in self.sheet.columns.items():
            if isinstance(cells, Text):
                plain, note = cells_module.respelled(cells, lambda text: outcomes.meaning(text) is not None)
                if note:
                    self.sheet.columns[name] = plain
                    self.say(name, note)

    def _fill(self) -> None:
        """Puts in empty cells what the user says they mean."""
        for name, value in self.schema.fill.items():
            self.sheet.columns[name], holes = cells_module.filled(self.sheet.columns[name], str(value))
            self.say(name, f"{count(holes, 'cell')} without a value filled with {value}")

    def _end(self, states: npt.NDArray[np.uint8]) -> None:
        """Joins what states and scores say: what failed with a score stopped early, what ended without one failed."""
        lost = np.isnan(self.scores).all(axis=1)
        early = np.isin(states, LOST) & ~lost
        if early.any():
            runs = count(int(early.sum()), "run")
            self.say(str(self.schema.status), f"{runs} failed with a score, which counts: truncated")
        ended = np.where(states == DIVERGED, DIVERGED, np.where(self.status == OK, FAILED, self.status))
        self.status = np.where(lost, ended, np.where(early, TRUNCATED, states)).astype(np.uint8)

    def _cost(self) -> Floats | None:
        s = self.schema
        used = [*s.score, *(c for c in (s.cost, s.level, s.repeat) if c is not None and c != NO_COST)]
        if len(set(used)) < len(used):
            raise ValueError(f"score, cost, level and repeat must be different columns, got {', '.join(used)}")
        column = s.cost or self.reading.one(self.reading.recipe.cost)
        self.unit = str(column) if s.cost else "seconds"
        if column is None or column == NO_COST or column in s.score:
            return None
        cost = outcomes.costs(self.sheet, column, self.status, self.errors, self.say, bool(s.cost))
        if cost is not None:
            self.schema = dataclasses.replace(s, cost=column)
            unit = "" if s.cost else ", in seconds"
            self.say(column, f"what a run cost{unit} (--cost {NO_COST}: each evaluation costs 1)")
        return cost

    def _settings(self) -> tuple[list[str], dict[str, Column]]:
        """Columns that name the runs, and the hyperparameters with their values."""
        s = self.schema
        taken = {*s.score, s.cost, s.level, s.repeat, s.status, *s.drop}
        lost = np.isin(self.status, LOST)
        left: dict[str, list[str]] = {"left out, as asked": list(s.drop)}
        chosen, names = roles.hyperparameters(
            self.reading, taken, lost, set(s.categorical), lambda column, why: left.setdefault(why, []).append(column)
        )
        if s.hyperparameters is not None:
            chosen, kept = list(s.hyperparameters), set(s.hyperparameters)
            names = [n for n in names if n not in kept]
            rest = [c for c in self.sheet.columns if c not in {*taken, *kept, *names}]
            left = {"no hyperparameter, as asked": rest}
        self.aside = left
        fixed = {h.name: h for h in s.space}
        return names, {c: self._column(c, fixed.get(c)) for c in chosen}

    def _column(self, name: str, fixed: Hyperparameter | None) -> Column:
        cells = self.sheet.columns[name]
        if fixed is not None:
            made, wrong, rule = cells_module.within(cells, fixed)
        else:
            made = cells_module.column(name, cells, name in self.schema.categorical)
            wrong = made.bad
            rule = f"a number like {len(cells) - len(wrong)} others (or --categorical {quote(name)})"
        self.errors += [self.sheet.complaint(i, name, rule) for i in wrong.tolist()]
        return made

    def _level(self, names: Sequence[str], settings: dict[str, Column]) -> tuple[str | None, Floats | None]:
        s = self.schema
        free = [c for c in self.sheet.columns if c not in {*s.score, s.cost, s.repeat, s.status, *s.drop}]
        level = s.level
        if level is None and s.hyperparameters is None:
            level = roles.level_of(self.reading, names, settings, free)
        if level is None:
            return None, None
        settings.pop(level, None)
        moving = roles.moving(self.reading, names, settings) if s.hyperparameters is None else []
        if moving:
            self.aside["changes from one checkpoint of a run to the next: left out (--cost takes one in)"] = moving
            for column in moving:
                del settings[column]
        made = cells_module.column(level, self.sheet.columns[level])
        values = made.values if made.choices is None else numbers(self.sheet.columns[level])
        wrong = np.isnan(values) & ~np.isin(self.status, LOST)
        self.errors += [self.sheet.complaint(i, level, "a number") for i in np.flatnonzero(wrong).tolist()]
        if np.isnan(values).all():
            raise ValueError(f"column {level}: must have a number, got none")
        said = "" if s.level else "; runs have several lines each"
        self.say(level, f"the checkpoint, {len(np.unique(values[~np.isnan(values)]))} different{said}")
        return level, np.where(np.isnan(values), np.nanmin(values), values)  # a run without one failed before the first

    def _repeat(
        self, names: Sequence[str], settings: dict[str, Column], several: bool
    ) -> tuple[str | None, npt.NDArray[np.intp] | None]:
        """The column that tells runs of one configuration apart, and (lines,) codes of it."""
        s = self.schema
        column = s.repeat
        if column is None and s.hyperparameters is None and self.reading.settings is None:
            column = roles.repeat_of(settings)
        if column is not None:
            settings.pop(column, None)
            hint = "" if s.repeat else " (--hyperparameters takes it in)"
            self.say(column, f"tells runs of one configuration apart{hint}")
        label = s.repeat or (column if several and not names else None)
        groups = [label] if label else list(names[:1]) if several else []
        for name in groups:
            code, empty = codes(self.sheet.columns[name]).copy(), absent(self.sheet.columns[name])
            code[empty] = len(code) + np.arange(empty.sum())  # each without a name is a run of its own
            return column, code
        return column, None

    def _metrics(self) -> tuple[Any, ...]:
        made = []
        for j, (column, goal) in enumerate(zip(self.schema.score, self.goals, strict=True)):
            known = self.scores[~np.isnan(self.scores[:, j]), j]
            if not len(known):
                raise ValueError(f"column {column}: must have at least one score, got none")
            bounds = self.schema.bounds.get(column)
            metric, text = infer.metric(column, known, goal, bounds)
            self.say(column, text)
            made.append(metric)
        return tuple(made)

    def _complain(self) -> None:
        if self.errors:
            more = f"; and {len(self.errors) - SHOWN} more" if len(self.errors) > SHOWN else ""
            raise ValueError(f"{'; '.join(self.errors[:SHOWN])}{more}")

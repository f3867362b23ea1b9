"""A file or frame of configurations and scores as a Table: what is guessed is explained, errors name the line."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from shlex import quote
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from hpo_envs.tables.table import LOST, Provenance, Table
from hpo_envs.tables.user import assemble, files, outcomes, roles, trackers
from hpo_envs.tables.user import cells as of_cells
from hpo_envs.tables.user import schema as schemas
from hpo_envs.tables.user.assemble import Runs
from hpo_envs.tables.user.cells import Column, Floats, Index, Mask, is_text
from hpo_envs.tables.user.outcomes import DIVERGED, FAILED, OK, TRUNCATED, UNFINISHED, Codes
from hpo_envs.tables.user.schema import NO_COST, Schema
from hpo_envs.tables.user.sheet import Sheet, of_frame

Goal = Literal["max", "min"]

SHOWN = 5
"""Errors named before the rest are counted."""


def count(n: int, what: str) -> str:
    """`1 run`, `2 runs`."""
    return f"{n} {what}{'' if n == 1 else 's'}"


def from_csv(
    path: str | Path,
    score: str | Sequence[str] | None = None,
    goal: Goal | Sequence[Goal] | None = None,
    *,
    max_bytes: int | None = None,
    **options: Any,
) -> Table:
    """Build a table from a file of runs: CSV, TSV, Parquet, Arrow, JSON, JSON lines, or a folder of JSON.

    Exports of Optuna, MLflow, Weights & Biases, Ray Tune, Syne Tune and scikit-learn are recognised by their columns.
    In others, what is not a score, cost, level or repeat is a hyperparameter, unless it names the runs, is a time, a
    note or a measurement; its kind, range, scale and condition are guessed from its values. A column of mappings
    becomes a column for each key. An empty score, `OOM` or `failed` is a failed run, `nan`, `inf` or `diverged` a
    diverged one; of `86.7 ± 0.3` the value counts. Lines with the same configuration are repeats, lines that are equal
    in every cell one run. The table is known by its name until the process ends; `hpo_envs.tables.user.save` keeps it.

    Args:
        path: The file or folder.
        score: Column(s) of the metric(s), the first is rewarded; default: the tool's, or the only one called so that
            varies.
        goal: `max` or `min`, for each; guessed from the name where it is telling.
        max_bytes: Largest size of a file, unpacked; default: 2 GB, 100 MB of compressed ones.
        **options: What `Schema` has, `schema` (one, or the path of a TOML file; options go before it), `name` (of the
            table; default: the file's), `licence` and `citation` of the data, `explain` (called with each decision, in
            words).

    Raises:
        ValueError: Something is wrong with the arguments or with the file; lines and columns are named.
        OSError: The file cannot be read.
    """
    path = Path(path)
    results, known = trackers.metadata(path)
    sheet = trackers.read(files.of_path(results, max_bytes))
    known = {k: v for k, v in known.items() if k != "level" or v in sheet.frame}
    if options.get("name") is None:
        options["name"] = re.sub(r"[^A-Za-z0-9]+", "-", path.name.partition(".")[0]).strip("-") or "mine"
    return table_of(sheet, score=score, goal=goal, known=known, **options)


def from_frame(
    frame: Any, score: str | Sequence[str] | None = None, goal: Goal | Sequence[Goal] | None = None, **options: Any
) -> Table:
    """Build a table from a pandas DataFrame or an Arrow table, one run per row, see `from_csv`."""
    sheet = trackers.read(of_frame(frame, options.pop("source", "DataFrame")))
    return table_of(sheet, score=score, goal=goal, **options)


def table_of(
    sheet: Sheet,
    *,
    known: Mapping[str, Any] | None = None,
    schema: Schema | str | Path | None = None,
    name: str = "mine",
    licence: str = "not stated",
    citation: str = "",
    explain: Callable[[str], None] = lambda text: None,
    settle: Callable[[Schema], None] = lambda schema: None,
    **options: Any,
) -> Table:
    """Build a table from an export.

    Args:
        sheet: Its columns.
        known: What stands next to the file, as fields of a `Schema`.
        schema: See `from_csv`, as all that follow but `settle`.
        name: Of the table.
        licence: Of the data.
        citation: Of the data.
        explain: Called with each decision, in words.
        settle: Called with what the columns are taken for in the end.
        **options: Fields of a `Schema`, which go before `schema`, and that before `known`.
    """
    notes: list[str] = []

    def say(columns: str | Sequence[str], text: str) -> None:
        listed = ([columns] if columns else []) if isinstance(columns, str) else columns
        notes.append(": ".join(filter(None, [", ".join(sheet.names.get(c, c) for c in listed), text])))
        explain(notes[-1])

    source, file = sheet.source, Path(sheet.source).name
    given = schemas.from_file(schema) if isinstance(schema, (str, Path)) else schema or Schema()
    both = {**(known or {}), **_stated(vars(given)), **_stated(options)}
    if options.get("score") and not options.get("goal"):
        both.pop("goal", None)
    if sheet.recipe.tool:
        say("", f"read as an export of {sheet.recipe.tool}")

    def provenance() -> Provenance:
        cited = citation or f"{file}, the user's own measurements"
        return Provenance("measured", file, sheet.digest[:40], licence, cited, notes=tuple(notes))

    try:
        runs = _Reader(sheet, schemas.schema_of(both), say).runs()
        made = assemble.table_of(runs, name, say, provenance)
    except ValueError as error:
        text = str(error)
        raise ValueError(text if text.startswith(source) else f"{source}: {text}") from None
    settle(runs.schema)
    return made


def _stated(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments that are neither None nor empty."""
    return {k: v for k, v in fields.items() if v is not None and (isinstance(v, bool) or len(v))}


class _Reader:
    """Inference of each column's role; `sheet` and `schema` change on the way."""

    def __init__(self, sheet: Sheet, given: Schema, say: Callable[[str | Sequence[str], str], None]) -> None:
        self.sheet, self.schema, self.say = sheet, given, say
        self.errors: list[str] = []

    def runs(self) -> Runs:
        """The runs that the file lists.

        Raises:
            ValueError: Cells or arguments that are wrong; lines and columns are named.
        """
        self._clean()
        self.schema = self.schema.resolved(self.sheet)
        for name, value in self.schema.fill.items():
            cells, holes = of_cells.filled(self.sheet.frame[name], str(value))
            self._keep(self.sheet.frame.assign(**{name: cells}))
            self.say(name, f"{count(holes, 'cell')} without a value filled with {value}")
        states = self._states()
        scores, status = outcomes.scores(self.sheet, self.schema.score, self.errors)
        if states is not None:
            status = self._ended(states, status, np.asarray(np.isnan(scores).all(axis=1)))
        cost, unit = self._cost(status)
        why, settings = self._settings(status)
        run = self.sheet.one(self.sheet.recipe.run)
        names = sorted((c for c in why if why[c] == roles.NAMES), key=lambda c: c != run)
        level, levels = self._level(names, why, settings, status)
        repeat, labels = self._repeat(names, settings, level is not None)
        for reason in dict.fromkeys(filter(None, why.values())):
            if columns := [c for c in why if why[c] == reason and c not in (level, repeat)]:
                self.say(columns, reason)
        if self.errors:
            more = f"; and {len(self.errors) - SHOWN} more" if len(self.errors) > SHOWN else ""
            raise ValueError(f"{'; '.join(self.errors[:SHOWN])}{more}")
        s = dataclasses.replace(self.schema, cost=self.schema.cost or NO_COST, level=level, repeat=repeat)
        metrics = []
        for column, goal, values in zip(s.score, s.goal, scores.T, strict=True):
            metric, text = roles.metric(column, values[~np.isnan(values)], goal, s.bounds.get(column))
            self.say(column, text)
            metrics.append(metric)
        unit = unit or level or NO_COST
        return Runs(self.sheet, s, settings, scores, tuple(metrics), status, cost, unit, levels, labels, names)

    def _keep(self, frame: Any) -> None:
        self.sheet = dataclasses.replace(self.sheet, frame=frame)

    def _clean(self) -> None:
        """Leave out repeated headers; read decimal commas, percent signs and uncertainties of whole columns."""
        frame = self.sheet.frame
        if all(is_text(cells) for _, cells in frame.items()):
            again = np.logical_and.reduce([(cells == name).to_numpy() for name, cells in frame.items()])
            if again.any():
                lines, first = count(int(again.sum()), "line"), self.sheet.where(int(np.argmax(again)))
                self.say("", f"{lines} with the header again, the first {first}: left out")
                frame = frame[~again]
        changed = {}
        for name, cells in frame.items():
            plain, note = of_cells.respelled(cells, lambda text: outcomes.meaning(text) is not None)
            if note:
                changed[str(name)] = plain
                self.say(str(name), note)
        self._keep(frame.assign(**changed) if changed else frame)

    def _states(self) -> npt.NDArray[np.uint8] | None:
        """(lines,) what the column of states says, if there is one; runs that continue are left out."""
        s = self.schema
        certain = s.status or self.sheet.one(self.sheet.recipe.state)
        column = certain or next((c for c in self.sheet.frame if c.lower() in outcomes.STATES), None)
        if column is None or column in (*s.score, *s.drop, *(s.hyperparameters or ())):
            return None
        states = outcomes.states(self.sheet, column, bool(certain))
        self.schema = dataclasses.replace(s, status=None if states is None else column)
        if states is None:
            return None
        going = states == UNFINISHED
        if going.all():
            raise ValueError(f"column {column}: must have a run that has ended, got {len(going)} that go on")
        said = f"; {count(int(going.sum()), 'run')} still going on, left out" if going.any() else ""
        self.say(column, f"how a run ended{said}")
        if going.any():
            self._keep(self.sheet.frame[~going])
        return np.asarray(states[~going])

    def _ended(self, states: Codes, status: Codes, lost: Mask) -> Codes:
        """Join what states and scores say: what failed with a score stopped early, what ended without one failed."""
        early = np.isin(states, LOST) & ~lost
        if early.any():
            runs = count(int(early.sum()), "run")
            self.say(str(self.schema.status), f"{runs} failed with a score, which counts: truncated")
        ended = np.where(states == DIVERGED, DIVERGED, np.where(status == OK, FAILED, status))
        return np.where(lost, ended, np.where(early, TRUNCATED, states)).astype(np.uint8)

    def _cost(self, status: Codes) -> tuple[Floats | None, str]:
        """(lines,) what the runs cost and its unit, if that is known."""
        s = self.schema
        used = [*s.score, *(c for c in (s.cost, s.level, s.repeat) if c is not None and c != NO_COST)]
        if len(set(used)) < len(used):
            raise ValueError(f"score, cost, level and repeat must be different columns, got {', '.join(used)}")
        column = s.cost or self.sheet.one(self.sheet.recipe.cost) or NO_COST
        if column == NO_COST or column in s.score:
            return None, ""
        cells = self.sheet.frame[column]
        cost, wrong, note = outcomes.costs(cells, of_cells.seconds(cells), status)
        if wrong.any() and not s.cost:
            self.say(column, f"not taken as the cost, for {self.sheet.where(int(np.argmax(wrong)))} has none")
            return None, ""
        self.errors += self.sheet.complaints(wrong, column, "a number >= 0")
        self.schema = dataclasses.replace(s, cost=column)
        unit = "" if s.cost else ", in seconds"
        for text in filter(None, (note, f"what a run cost{unit} (--cost {NO_COST}: each evaluation costs 1)")):
            self.say(column, text)
        return cost, s.cost or "seconds"

    def _settings(self, status: Codes) -> tuple[dict[str, str], dict[str, Column]]:
        """Column -> why it is no hyperparameter, and the hyperparameters with their values."""
        s, frame = self.schema, self.sheet.frame
        taken = {*s.score, s.cost, s.level, s.repeat, s.status, *s.drop}
        why = roles.reasons(self.sheet, taken, np.isin(status, LOST), s.categorical)
        if s.hyperparameters is not None:
            why = {c: r if r == roles.NAMES else "no hyperparameter, as asked" for c, r in why.items()}
            why |= dict.fromkeys(s.hyperparameters, "")
        why |= dict.fromkeys(s.drop, "left out, as asked")
        fixed, settings = {h.name: h for h in s.space}, {}
        for name in (c for c in s.hyperparameters or frame if why.get(c) == ""):
            if name in fixed:
                settings[name], bad, rule = of_cells.within(frame[name], fixed[name])
            else:
                settings[name], bad = of_cells.column(name, frame[name], name in s.categorical)
                others = len(frame) - int(bad.sum())
                rule = f"a number like {others} others (or --categorical {quote(name)})"
            self.errors += self.sheet.complaints(bad, name, rule)
        return why, settings

    def _level(
        self, names: Sequence[str], why: dict[str, str], settings: dict[str, Column], status: Codes
    ) -> tuple[str | None, Floats | None]:
        """The column of the checkpoint, and (lines,) its values."""
        s, frame, level = self.schema, self.sheet.frame, self.schema.level
        if level is None and s.hyperparameters is None:
            free = [c for c in frame if c not in {*s.score, s.cost, s.repeat, s.status, *s.drop}]
            level = roles.level_of(self.sheet, names, settings, free)
        if level is None:
            return None, None
        settings.pop(level, None)
        for column in roles.moving(self.sheet, names, settings) if s.hyperparameters is None else ():
            why[column] = "changes from one checkpoint of a run to the next: left out (--cost takes one in)"
            del settings[column]
        of_cells.check_whole(level, frame[level])
        values = of_cells.numbers(frame[level])
        self.errors += self.sheet.complaints(np.isnan(values) & ~np.isin(status, LOST), level, "a number")
        if np.isnan(values).all():
            raise ValueError(f"column {level}: must have a number, got none")
        said = "" if s.level else "; runs have several lines each"
        self.say(level, f"the checkpoint, {len(np.unique(values[~np.isnan(values)]))} different{said}")
        return level, np.where(np.isnan(values), np.nanmin(values), values)  # a run without one failed before the first

    def _repeat(
        self, names: Sequence[str], settings: dict[str, Column], several: bool
    ) -> tuple[str | None, Index | None]:
        """The column that tells runs of one configuration apart, and (lines,) codes of it."""
        s, frame = self.schema, self.sheet.frame
        column = s.repeat
        if column is None and s.hyperparameters is None and self.sheet.settings is None:
            column = next((c for c in settings if re.fullmatch(roles.REPEATS, c.lower())), None)
        if column is not None:
            settings.pop(column, None)
            hint = "" if s.repeat else " (--hyperparameters takes it in)"
            self.say(column, f"tells runs of one configuration apart{hint}")
        label = s.repeat or (names[0] if several and names else column if several else None)
        if label is None:
            return column, None
        code, empty = of_cells.codes(frame[label]).copy(), of_cells.absent(frame[label])
        code[empty] = len(code) + np.arange(empty.sum())  # each without a name is a run of its own
        return column, code

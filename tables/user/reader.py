"""A file or frame of configurations and scores as a Table: what is guessed is explained, errors name the line."""

import dataclasses
import re
from collections.abc import Callable, Mapping, Sequence, Sized
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
        max_bytes: Largest size of a file, unpacked; default: 2 GB, compressed ones 50 times theirs or 10 MB.
        **options: What `Schema` has, `name` (of the table; default: the file's), `licence` and `citation` of the data,
            `explain` (called with each decision, in words).

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
    name: str = "mine",
    licence: str = "not stated",
    citation: str = "",
    explain: Callable[[str], None] = lambda text: None,
    **options: Any,
) -> Table:
    """Build a table from an export.

    Args:
        sheet: Its columns.
        known: What stands next to the file, as fields of a `Schema`.
        name: Of the table; see `from_csv`, as all that follow.
        licence: Of the data.
        citation: Of the data.
        explain: Called with each decision, in words.
        **options: Fields of a `Schema`, which go before `known`.
    """
    notes: list[str] = []

    def say(columns: str | Sequence[str], text: str) -> None:
        listed = ([columns] if columns else []) if isinstance(columns, str) else columns
        notes.append(": ".join(filter(None, [", ".join(sheet.names.get(c, c) for c in listed), text])))
        explain(notes[-1])

    source, file = sheet.source, Path(sheet.source).name
    stated = {k: v for k, v in options.items() if v is not None and not (isinstance(v, Sized) and not len(v))}
    both = {**(known or {}), **stated}
    if options.get("score") and not options.get("goal"):
        both.pop("goal", None)
    if sheet.recipe.tool:
        say("", f"read as an export of {sheet.recipe.tool}")

    def provenance() -> Provenance:
        cited = citation or f"{file}, the user's own measurements"
        return Provenance("measured", file, sheet.digest[:40], licence, cited, notes=tuple(notes))

    try:
        runs = _Reader(sheet, schemas.schema_of(both), say).runs()
        return assemble.table_of(runs, name, say, provenance)
    except ValueError as error:
        text = str(error)
        raise ValueError(text if text.startswith(source) else f"{source}: {text}") from None


class _Reader:
    """Inference of each column's role; `sheet` and `schema` change on the way."""

    def __init__(self, sheet: Sheet, given: Schema, say: Callable[[str | Sequence[str], str], None]) -> None:
        self.sheet, self.schema, self.say = sheet, given, say

    def runs(self) -> Runs:
        """The runs that the file lists.

        Raises:
            ValueError: Cells or arguments that are wrong; lines and columns are named.
        """
        self._clean()
        self.schema = roles.resolved(self.schema, self.sheet)
        for name, value in self.schema.fill.items():
            cells, holes = of_cells.filled(self.sheet.frame[name], str(value))
            self._keep(self.sheet.frame.assign(**{name: cells}))
            self.say(name, f"{count(holes, 'cell')} without a value filled with {value}")
        states = self._states()
        scores, status = outcomes.scores(self.sheet, self.schema.score)
        if states is not None:
            status = self._ended(states, status, np.asarray(np.isnan(scores).all(axis=1)))
        cost, unit = self._cost(status)
        lost, given = np.isin(status, LOST), self.schema
        s, why, names = roles.assign(self.sheet, given, lost)
        for reason in dict.fromkeys(why.values()):
            self.say([c for c in why if why[c] == reason], reason)
        columns = self._columns(s)
        said = "" if given.level else "; runs have several lines each"
        levels = self._levels(s.level, lost, said) if s.level else None
        if s.repeat is not None:
            hint = "" if given.repeat else " (--hyperparameters takes it in)"
            self.say(s.repeat, f"tells runs of one configuration apart{hint}")
        label = given.repeat or (next(iter(names), s.repeat) if s.level else None)
        metrics = []
        for column, goal, values in zip(s.score, s.goal, scores.T, strict=True):
            metric, text = roles.metric(column, values[~np.isnan(values)], goal, s.bounds.get(column))
            self.say(column, text)
            metrics.append(metric)
        s = dataclasses.replace(s, cost=s.cost or NO_COST)
        unit, labels = unit or s.level or NO_COST, None if label is None else self._labels(label)
        return Runs(self.sheet, s, columns, scores, tuple(metrics), status, cost, unit, levels, labels, names)

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
        column = s.cost or self.sheet.one(self.sheet.recipe.cost) or NO_COST
        if column == NO_COST or column in s.score:
            return None, ""
        cells = self.sheet.frame[column]
        cost, wrong, note = outcomes.costs(cells, of_cells.seconds(cells), status)
        if wrong.any() and not s.cost:
            self.say(column, f"not taken as the cost, for {self.sheet.where(int(np.argmax(wrong)))} has none")
            return None, ""
        self.sheet.require(~wrong, column, "a number >= 0")
        self.schema = dataclasses.replace(s, cost=column)
        unit = "" if s.cost else ", in seconds"
        for text in filter(None, (note, f"what a run cost{unit} (--cost {NO_COST}: each evaluation costs 1)")):
            self.say(column, text)
        return cost, s.cost or "seconds"

    def _columns(self, s: Schema) -> dict[str, Column]:
        """The hyperparameters with their values."""
        frame, fixed, columns = self.sheet.frame, {h.name: h for h in s.space}, {}
        for name in s.hyperparameters or ():
            if name in fixed:
                columns[name], bad, rule = of_cells.within(frame[name], fixed[name])
            else:
                columns[name], bad = of_cells.column(name, frame[name], name in s.categorical)
                rule = f"a number like {len(frame) - int(bad.sum())} others (or --categorical {quote(name)})"
            self.sheet.require(~bad, name, rule)
        return columns

    def _levels(self, column: str, lost: Mask, why: str) -> Floats:
        """(lines,) the checkpoints in a column."""
        cells = self.sheet.frame[column]
        of_cells.check_whole(column, cells)
        values = of_cells.numbers(cells)
        self.sheet.require(~np.isnan(values) | lost, column, "a number")
        if np.isnan(values).all():
            raise ValueError(f"column {column}: must have a number, got none")
        self.say(column, f"the checkpoint, {len(np.unique(values[~np.isnan(values)]))} different{why}")
        return np.where(np.isnan(values), np.nanmin(values), values)  # a run without one failed before the first

    def _labels(self, column: str) -> Index:
        """(lines,) codes of a column that tells the runs of one configuration apart."""
        code, empty = of_cells.codes(self.sheet.frame[column]).copy(), of_cells.absent(self.sheet.frame[column])
        code[empty] = len(code) + np.arange(empty.sum())  # each without a name is a run of its own
        return code

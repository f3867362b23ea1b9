"""Which columns are hyperparameters, and what the others are: guessed from names and values, each with a reason."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from shlex import quote
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from hpo_envs.checks import nearest
from hpo_envs.tables.user import infer
from hpo_envs.tables.user.reading import columns, outcomes
from hpo_envs.tables.user.reading.exports import Reading
from hpo_envs.tables.user.reading.sheet import UNNAMED

IDENTIFIERS = r"(run|trial|exp|experiment|job)?[_ ]?(id|name|number|key|index|idx)|run|trial|exp|experiment|job|uuid"
"""Names of columns that name the runs, if hardly a value comes twice."""

STAMPS = r"(.*[ _.])?(date|time|timestamp|datetime|created|started|finished|updated|completed|" \
         r"(start|end)[ _]?(time|date))(_(start|complete|at|utc))?"  # fmt: skip
"""Names of columns that say when."""

DATE = r"\d{4}-\d\d-\d\d([ T_]\d\d[:-].*)?|\d\d?[/.]\d\d?[/.]\d{4}.*"
"""Dates, as cells have them."""

NOTES = r"notes?|comments?|remarks?|description|memo|tags?|user(name)?|author|owner|host(name)?|machine|node|" \
        r"gpu_name|url|path|(log|work|out|output|run)_?(dir|path)|artifact_uri|(git[._ ]?)?(commit|sha|hash|branch)|" \
        r"message|error(_message)?|traceback"  # fmt: skip
"""Names of columns of text that is for people."""

REPEATS = r"(.*[._/ ])?(random_?)?seed|random_state|repeats?|rep|replicates?|replication|fold|cv_fold|run_seed"
"""Names of columns that tell runs of one configuration apart."""

LEVELS = r"_?(epochs?|steps?|iterations?|iter|global_step|updates?|training_iteration|checkpoint|rungs?|resource|" \
         r"n_resources|budget)"  # fmt: skip
"""Names of columns that may be the checkpoint of a run with several lines."""

TIMES = r"(.*[_ ])?(seconds|secs?|minutes|mins?|hours|hrs|runtime|duration|elapsed|wall_?(clock|time)|" \
        r"time_taken|took)([_ ].*)?|.*\((s|secs?|min|h)\)"  # fmt: skip
"""Names of columns of how long something took."""

CHECKED = ("val", "valid", "validation", "dev", "test", "eval")
"""Words of the name of a score that was measured on other data than a model was trained on."""

Aside = Callable[[str, str], None]
"""Called with a column and why it is no hyperparameter."""


def resolve(word: str, reading: Reading) -> str:
    """The column that somebody means: by its name, its name in the file, or the only one that ends in it.

    Raises:
        ValueError: There is none.
    """
    names = list(reading.sheet.columns)
    if word in names:
        return word
    for new, old in reading.names.items():
        if word == old:
            return new
    ending = [n for n in names if re.fullmatch(rf".*[./_ ]{re.escape(word)}", n)]
    if len(ending) == 1:
        return ending[0]
    raise ValueError(f"column must be one of {', '.join(names)}, got {word!r}{nearest(word, names)}")


def score_of(reading: Reading) -> str:
    """The score of a file whose user has not said which: the tool's, or the only one whose name tells.

    Raises:
        ValueError: None, or several.
    """
    measured = reading.scores or tuple(
        name
        for name, cells in reading.sheet.columns.items()
        if infer.goal_of(name) and name not in (reading.settings or ()) and outcomes.scorable(cells)
    )
    if reading.export.first in reading.sheet.columns:
        return reading.export.first
    for some in (measured, [m for m in measured if set(re.split(r"[^a-z0-9]+", m.lower())) & set(CHECKED)],
                 [m for m in measured if infer.goal_of(m) == "max"]):  # fmt: skip
        if len(some) == 1:
            return str(some[0])
    names = measured or tuple(reading.sheet.columns)
    raise ValueError(f"--score must say which of these columns is the score: {', '.join(names)}")


def _numeric(cells: pa.ChunkedArray) -> bool:
    if pa.types.is_integer(cells.type) or pa.types.is_floating(cells.type):
        return True
    some = columns.texts(cells.slice(0, 1000))
    full = len(some) - some.null_count
    return full > 0 and int((~np.isnan(columns.parsed(some))).sum()) * 2 > full


def hyperparameters(
    reading: Reading, taken: Iterable[str | None], lost: npt.NDArray[np.bool_], categorical: Iterable[str], aside: Aside
) -> tuple[list[str], list[str]]:
    """Columns that are hyperparameters, and those that name the runs.

    Args:
        reading: The columns.
        taken: Those that are something else already.
        lost: (lines,) which runs have no score.
        categorical: Those that the user calls a choice.
        aside: Told of each other column.
    """
    sheet, export = reading.sheet, reading.export
    run = reading.one(export.run)
    chosen: list[str] = []
    names: list[str] = []
    for column in (c for c in sheet.columns if c not in set(taken)):
        cells = sheet.columns[column]
        if column == run:
            names.insert(0, column)
        elif column in categorical or column in (reading.settings or ()):
            chosen.append(column)
        elif reading.settings is not None:
            whose = f"bookkeeping of {export.tool}" if export.tool else "not among the settings"
            aside(column, "measured, not set" if column in reading.scores else f"{whose}, no hyperparameter")
        elif export.noted and re.fullmatch(export.noted, column):
            aside(column, f"bookkeeping of {export.tool}, no hyperparameter")
        elif _names_runs(reading, column):
            names.append(column)
        elif reason := _reason(column, cells, lost):
            aside(column, reason)
        else:
            chosen.append(column)
    first = next(iter(sheet.columns))
    others = any(len(sheet.columns[column].unique()) > 1 for column in chosen[1:])
    if not names and others and chosen[0] == first not in categorical and _counts(first, sheet.columns[first]):
        names.append(chosen.pop(0))
    return chosen, names


def _counts(name: str, cells: pa.ChunkedArray) -> bool:
    """Whether a column numbers the lines, whatever it is called."""
    values = columns.column(name, cells).values
    return len(values) > 5 and bool((np.diff(values) == 1.0).all()) and values[0] in (0.0, 1.0)


def _names_runs(reading: Reading, column: str) -> bool:
    """Whether a column is called a name and hardly repeats, or only from one checkpoint to the next."""
    cells = reading.sheet.columns[column]
    if not re.fullmatch(IDENTIFIERS, column.lower().strip()):
        return False
    if len(cells.unique()) * 2 > len(cells):
        return True
    code = columns.coded(columns.texts(cells))[1]
    steps = (c for c in reading.sheet.columns if re.fullmatch(LEVELS, c.lower()) and _numeric(reading.sheet.columns[c]))
    return any(_count([code, columns.coded(columns.texts(reading.sheet.columns[c]))[1]]) == len(code) for c in steps)


def _reason(column: str, cells: pa.ChunkedArray, lost: npt.NDArray[np.bool_]) -> str:
    """Why a column is no hyperparameter; empty if it is one."""
    low = column.lower().strip()
    number = pa.types.is_integer(cells.type) or pa.types.is_floating(cells.type)
    text = None if number else columns.texts(cells)
    first = [] if text is None else [t for t in text.slice(0, 50).to_pylist() if t is not None]
    takes = "(--hyperparameters takes it in)"
    if column.startswith(UNNAMED):
        return "has no name: left out"
    if (
        pa.types.is_temporal(cells.type)
        or re.fullmatch(STAMPS, low)
        or (first and all(re.fullmatch(DATE, t) for t in first))
    ):
        return f"when, not what: left out {takes}"
    if pa.types.is_boolean(cells.type):
        return ""
    if text is not None and not _numeric(cells):
        if re.fullmatch(NOTES, low):
            return f"a note: left out {takes}"
        if columns.many(text):
            return f"more than {infer.CHOICES} different texts, no choice: left out {takes}"
        long = sum(len(t) > 40 or "\n" in t for t in first) * 2 > len(first)
        remarks = (full := len(text) - text.null_count) * 2 < len(text) and len(text.unique()) > full
        if first and remarks and all(" " in t for t in first):
            return f"a remark on a few lines: left out {takes}"
        if first and (long or (len(set(first)) == len(first) and len(first) == len(cells) > 5)):
            return f"another text for each run: left out {takes}"
        return ""
    return _measured(column, cells, lost, takes)


def _measured(column: str, cells: pa.ChunkedArray, lost: npt.NDArray[np.bool_], takes: str) -> str:
    """Why numbers are an outcome: by their name, or because only failed runs have none."""
    goal = infer.goal_of(column)
    if re.fullmatch(TIMES, column.lower()) or (goal and len(cells.unique()) * 2 > len(cells)):
        role = "--score" if goal == "max" else "--cost"
        return f"measured, not set: left out ({role} {quote(column)} uses it, --hyperparameters takes it in)"
    empty = columns.empty(cells)
    if empty.any() and not empty.all() and (empty <= lost).all():
        return f"empty only where a run failed, so measured, not set: left out {takes}"
    return ""


def repeat_of(columns_left: Iterable[str]) -> str | None:
    """A column whose name says that it tells runs of one configuration apart."""
    return next((c for c in columns_left if re.fullmatch(REPEATS, c.lower())), None)


def level_of(
    reading: Reading, names: Iterable[str], settings: Mapping[str, infer.Column], left: Iterable[str]
) -> str | None:
    """The column of the checkpoint, if runs have several lines each: by the name of the run, else by configuration.

    Args:
        reading: The columns.
        names: Columns that name the runs.
        settings: Hyperparameters -> values.
        left: Columns that are neither score nor cost.
    """
    sheet = reading.sheet
    left = [c for c in left if re.fullmatch(LEVELS, c.lower())]
    for column in [*filter(None, [reading.one(reading.export.level)]), *left]:
        if not _numeric(sheet.columns[column]):
            continue
        groups: list[npt.NDArray[Any]] = [columns.coded(columns.texts(sheet.columns[name]))[1] for name in names]
        if not groups:
            groups = [c.values for name, c in settings.items() if name != column]
        value = columns.column(column, sheet.columns[column]).values
        known = ~np.isnan(value)  # a run that failed before the first checkpoint has none
        groups, value, n = [g[known] for g in groups], value[known], int(known.sum())
        if groups and _count(groups) * 3 <= n * 2 and _count([*groups, value]) == n and len(np.unique(value)) > 1:
            return column
    return None


def moving(reading: Reading, names: Sequence[str], settings: Mapping[str, infer.Column]) -> list[str]:
    """Columns that have several values in one run, by the column that names the runs."""
    if not names:
        return []
    run = columns.coded(columns.texts(reading.sheet.columns[names[0]]))[1]
    runs = _count([run])
    return [name for name, column in settings.items() if _count([run, column.values]) > runs]


def _count(keys: Sequence[npt.NDArray[Any]]) -> int:
    """How many different tuples there are, NaN being equal to itself."""
    code = np.zeros(len(keys[0]) if keys else 0, np.int64)
    for key in keys:
        inner = np.unique(key, return_inverse=True)[1].reshape(-1)
        code = np.unique(code * (int(inner.max()) + 1) + inner, return_inverse=True)[1].reshape(-1)
    return int(code.max()) + 1 if len(code) else 0

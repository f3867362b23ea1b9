"""Roles of columns (hyperparameter, score, checkpoint, repeat, other), guessed from names and values, with a reason."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from shlex import quote

import numpy as np
import pandas as pd

from hpo_envs.checks import nearest
from hpo_envs.tables.user.infer import CHOICES, Column, goal_of
from hpo_envs.tables.user.reading.cells import (
    Cells,
    Index,
    Mask,
    Text,
    absent,
    codes,
    distinct,
    many,
    missing,
    numbers,
    numeric,
)
from hpo_envs.tables.user.reading.outcomes import scorable
from hpo_envs.tables.user.reading.sheet import UNNAMED
from hpo_envs.tables.user.reading.trackers import Reading

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
    ending = [new for new, old in reading.names.items() if word == old]
    ending = ending or [n for n in names if re.fullmatch(rf".*[./_ ]{re.escape(word)}", n)]
    if len(ending) == 1:
        return ending[0]
    raise ValueError(f"column must be one of {', '.join(names)}, got {word!r}{nearest(word, names)}")


def score_of(reading: Reading) -> str:
    """The score of a file whose user has not said which: the tool's, or the only one whose name tells.

    Raises:
        ValueError: None, or several; one that is the same in all runs is none.
    """
    columns = reading.sheet.columns
    if reading.recipe.first in columns:
        return reading.recipe.first
    guessed = (n for n in columns if goal_of(n) and n not in (reading.settings or ()))
    measured = [n for n in reading.scores or guessed if scorable(columns[n])]
    varied = [n for n in measured if len(np.unique(numbers(columns[n])[~np.isnan(numbers(columns[n]))])) > 1]
    checked = [n for n in varied if set(re.split(r"[^a-z0-9]+", n.lower())) & set(CHECKED)]
    for some in (varied, checked, [n for n in varied if goal_of(n) == "max"]):
        if len(some) == 1:
            return some[0]
    raise ValueError(f"--score must say which of these columns is the score: {', '.join(measured or columns)}")


def hyperparameters(
    reading: Reading, taken: Iterable[str | None], lost: Mask, categorical: Iterable[str], aside: Aside
) -> tuple[list[str], list[str]]:
    """Columns that are hyperparameters, and those that name the runs.

    Args:
        reading: The columns.
        taken: Those that are something else already.
        lost: (lines,) which runs have no score.
        categorical: Those that the user calls a choice.
        aside: Called for each other column.
    """
    sheet, recipe = reading.sheet, reading.recipe
    run = reading.one(recipe.run)
    chosen: list[str] = []
    names: list[str] = []
    for column in (c for c in sheet.columns if c not in set(taken)):
        cells = sheet.columns[column]
        if column == run:
            names.insert(0, column)
        elif column in categorical or column in (reading.settings or ()):
            chosen.append(column)
        elif reading.settings is not None:
            whose = f"bookkeeping of {recipe.tool}" if recipe.tool else "not among the settings"
            aside(column, "measured, not set" if column in reading.scores else f"{whose}, no hyperparameter")
        elif recipe.noted and re.fullmatch(recipe.noted, column):
            aside(column, f"bookkeeping of {recipe.tool}, no hyperparameter")
        elif _names_runs(reading, column):
            names.append(column)
        elif reason := _reason(column, cells, lost):
            aside(column, reason)
        else:
            chosen.append(column)
    first = next(iter(sheet.columns))
    others = any(distinct(sheet.columns[column]) > 1 for column in chosen[1:])
    if not names and others and chosen[0] == first not in categorical and _counts(sheet.columns[first]):
        names.append(chosen.pop(0))
    return chosen, names


def _counts(cells: Cells) -> bool:
    """Whether a column numbers the lines, whatever it is called."""
    values = numbers(cells)
    return len(values) > 5 and bool((np.diff(values) == 1.0).all()) and values[0] in (0.0, 1.0)


def _names_runs(reading: Reading, column: str) -> bool:
    """Whether a column is called a name and hardly repeats, or only from one checkpoint to the next."""
    columns = reading.sheet.columns
    if not re.fullmatch(IDENTIFIERS, column.lower().strip()):
        return False
    if distinct(columns[column]) * 2 > len(reading.sheet):
        return True
    steps = (c for n, c in columns.items() if re.fullmatch(LEVELS, n.lower()) and numeric(c))
    return any(_count([codes(columns[column]), codes(c)]) == len(reading.sheet) for c in steps)


def _reason(column: str, cells: Cells, lost: Mask) -> str:
    """Why a column is no hyperparameter; empty if it is one."""
    low = column.lower().strip()
    takes = "(--hyperparameters takes it in)"
    first = [t for t in cells[:50].each(str, "") if not missing(t)] if isinstance(cells, Text) else []
    if column.startswith(UNNAMED):
        return "has no name: left out"
    dates = bool(first) and all(re.fullmatch(DATE, t) for t in first)
    if (not isinstance(cells, Text) and cells.dtype.kind in "mM") or re.fullmatch(STAMPS, low) or dates:
        return f"when, not what: left out {takes}"
    if numeric(cells):
        return _measured(column, cells, lost, takes)
    if not isinstance(cells, Text):
        return ""
    if re.fullmatch(NOTES, low):
        return f"a note: left out {takes}"
    if many(cells):
        return f"more than {CHOICES} different texts, no choice: left out {takes}"
    full = int((~absent(cells)).sum())
    remarks = full * 2 < len(cells) and sum(not missing(t) for t in cells.different) == full
    if first and remarks and all(" " in t for t in first):
        return f"a remark on a few lines: left out {takes}"
    long = sum(len(t) > 40 or "\n" in t for t in first) * 2 > len(first)
    if first and (long or len(set(first)) == len(first) == len(cells) > 5):
        return f"another text for each run: left out {takes}"
    return ""


def _measured(column: str, cells: Cells, lost: Mask, takes: str) -> str:
    """Why numbers are an outcome: by their name, or because only failed runs have none."""
    goal = goal_of(column)
    if re.fullmatch(TIMES, column.lower()) or (goal and distinct(cells) * 2 > len(cells)):
        role = "--score" if goal == "max" else "--cost"
        return f"measured, not set: left out ({role} {quote(column)} uses it, --hyperparameters takes it in)"
    empty = absent(cells)
    if empty.any() and not empty.all() and (empty <= lost).all():
        return f"empty only where a run failed, so measured, not set: left out {takes}"
    return ""


def repeat_of(columns_left: Iterable[str]) -> str | None:
    """A column whose name says that it distinguishes runs of one configuration."""
    return next((c for c in columns_left if re.fullmatch(REPEATS, c.lower())), None)


def level_of(reading: Reading, names: Iterable[str], settings: Mapping[str, Column], left: Iterable[str]) -> str | None:
    """The column of the checkpoint, if runs have several lines each: by the name of the run, else by configuration.

    Args:
        reading: The columns.
        names: Columns that name the runs.
        settings: Hyperparameters -> values.
        left: Columns that are neither score nor cost.
    """
    columns = reading.sheet.columns
    certain = reading.one(reading.recipe.level)
    for column in [*filter(None, [certain]), *(c for c in left if re.fullmatch(LEVELS, c.lower()))]:
        if not numeric(columns[column]):
            continue
        groups = [codes(columns[name]) for name in names]
        groups = groups or [pd.factorize(c.values)[0] for name, c in settings.items() if name != column]
        value = numbers(columns[column])
        known = ~np.isnan(value)  # a run that failed before the first checkpoint has none
        groups, value, n = [g[known] for g in groups], value[known], int(known.sum())
        each = [*groups, pd.factorize(value)[0]]
        if groups and _count(groups) * 3 <= n * 2 and _count(each) == n and len(np.unique(value)) > 1:
            return column
    return None


def moving(reading: Reading, names: Sequence[str], settings: Mapping[str, Column]) -> list[str]:
    """Columns that have several values in one run, by the column that names the runs."""
    if not names:
        return []
    known = ~absent(reading.sheet.columns[names[0]])
    run = codes(reading.sheet.columns[names[0]])[known]
    return [n for n, c in settings.items() if _count([run, pd.factorize(c.values)[0][known]]) > _count([run])]


def _count(keys: Sequence[Index]) -> int:
    """How many different tuples of codes there are."""
    return len(pd.DataFrame(dict(enumerate(keys))).drop_duplicates()) if keys else 0

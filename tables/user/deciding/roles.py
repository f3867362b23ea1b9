"""Roles of columns (hyperparameter, score, fidelity, repeat, other), with the reason and whether it is certain.

Values decide. Where only a name or only values say that a column was measured, it is a question.
"""

import re
from collections.abc import Collection, Sequence
from dataclasses import replace
from shlex import quote
from typing import NamedTuple

import numpy as np
import pandas as pd

from hpo_envs.tables.user.cells import CHOICES, UNNAMED, Mask, absent, codes, different, numbers, numeric
from hpo_envs.tables.user.deciding import names, relations
from hpo_envs.tables.user.deciding.formats import TIME_UNITS
from hpo_envs.tables.user.frame import Decision, Frame
from hpo_envs.tables.user.statement import Statement

DATE = r"\d{4}-\d\d-\d\d([ T_]\d\d[:-].*)?|\d\d?[/.]\d\d?[/.]\d{4}.*"
"""Dates, as cells have them."""

GAPS = 0.1
"""Largest part of runs with a checkpoint missing before their last, of which the first is an error."""

NAMES = "names the runs, no hyperparameter"

TAKE = "--hyperparameters"

OUT = f"left out ({TAKE} takes it in)"


class Roles(NamedTuple):
    """Roles of the columns of a frame.

    Attributes:
        stated: The statement, with the hyperparameters, the level and the repeat.
        names: Columns that name the runs.
        said: The decisions.
    """

    stated: Statement
    names: list[str]
    said: list[Decision]


class Why(NamedTuple):
    """Reason why a column is not a hyperparameter; with an option if that is uncertain."""

    text: str
    option: str = ""


def assign(frame: Frame, stated: Statement, lost: Mask, units: dict[str, str]) -> Roles:
    """Decide the role of every column.

    Args:
        frame: The columns.
        stated: What is known of them; with a score, and the columns of cost and status.
        lost: (lines,) which runs have none.
        units: Column -> unit of its numbers.
    """
    s, recipe = stated, frame.recipe
    taken = {*s.score, s.cost, s.level, s.repeat, s.status, *s.drop}
    why = _reasons(frame, taken, lost, s.categorical, units)
    runs = [c for c in why if why[c].text == NAMES and c not in s.hyperparameters]
    runs.sort(key=lambda c: c != frame.one(recipe.run))
    level, repeat = s.level, s.repeat or frame.one(recipe.repeat)
    chosen, doubts = list(s.hyperparameters), dict[str, Why]()
    if chosen:
        why = {c: Why(NAMES if c in runs else "no hyperparameter, as asked") for c in why if c not in chosen}
    else:
        chosen = [c for c in frame.cells if c in why and not why[c].text and c not in (level, repeat)]
        level, more = _fidelity(frame, level, runs, chosen, [c for c in frame.cells if c not in taken])
        why |= more
        chosen = [c for c in frame.cells if c != level and (c in chosen or c in more) and not why[c].text]
        if not frame.settings:
            repeat = repeat or next((c for c in chosen if re.fullmatch(names.REPEATS, c.lower())), None)
            free = [c for c in chosen if c != repeat and c not in s.categorical]
            more, doubts = _seemingly_measured(frame, free, s.score[0], runs[0] if level and runs else None)
            why |= more
    why |= dict.fromkeys(s.drop, Why("left out, as asked"))
    why = {c: reason for c, reason in why.items() if reason.text and c not in (level, repeat)}
    said = []
    for role, reasons in (("hyperparameter", doubts), ("ignored", why)):
        for reason in dict.fromkeys(reasons.values()):
            of = "name" if reason.text == NAMES else role
            said.append(frame.of(of, reason.text, *(c for c in reasons if reasons[c] == reason), option=reason.option))
    if repeat is not None:
        how = "" if s.repeat else f" ({TAKE} takes it in)"
        said.append(frame.of("repeat", f"tells runs of one configuration apart{how}", repeat))
    chosen = [c for c in chosen if c != repeat and c not in why]
    return Roles(replace(s, hyperparameters=tuple(chosen), level=level, repeat=repeat), runs, said)


def _reasons(
    frame: Frame, taken: Collection[str | None], lost: Mask, chosen: Collection[str], units: dict[str, str]
) -> dict[str, Why]:
    """Column that is nothing else -> why it is no hyperparameter; empty if it is one, as those the user chose."""
    run = frame.one(frame.recipe.run)
    found = {c: _reason(frame, c, lost, chosen, units.get(c, "")) for c in frame.cells if c not in taken}
    found |= {run: Why(NAMES)} if run in found else {}
    # A first column that numbers the lines, whatever it is called.
    first, values = frame.cells.columns[0], numbers(frame.cells.iloc[:, 0])
    counts = len(values) > 5 and bool((np.diff(values) == 1.0).all()) and values[0] in (0.0, 1.0)
    free = [c for c, why in found.items() if not why.text and frame[c].nunique() > 1]
    if counts and {*free} > {first} and first not in chosen and Why(NAMES) not in found.values():
        found[first] = Why(NAMES)
    return found


def _names_runs(frame: Frame, column: str) -> bool:
    """Return whether a column is called a name and hardly repeats, or only from one checkpoint to the next."""
    if not re.fullmatch(names.IDENTIFIERS, column.lower().strip()):
        return False
    cells = frame.cells
    steps = (n for n, c in cells.items() if re.fullmatch(names.LEVELS, str(n).lower()) and numeric(c))
    return cells[column].nunique() * 2 > len(cells) or any(not cells.duplicated([column, n]).any() for n in steps)


def _reason(frame: Frame, column: str, lost: Mask, chosen: Collection[str], unit: str) -> Why:
    """See `_reasons`: of the rules that hold, the first."""
    recipe, cells, low = frame.recipe, frame[column], column.lower().strip()
    if column in chosen or column in frame.settings:
        return Why("")
    if frame.settings and column in frame.scores:
        return Why("measured, not set")
    if frame.settings or (recipe.noted and re.fullmatch(recipe.noted, column)):
        return Why(f"{f'bookkeeping of {recipe.tool}' if recipe.tool else 'not among the settings'}, no hyperparameter")
    texts, number, full = set(different(cells)), numeric(cells), int((~absent(cells)).sum())
    some = [t for t in cells[:50].dropna() if t in texts]
    asked = "" if cells.nunique() * 2 > full else f"--drop {quote(column)} or {TAKE}"
    when = re.fullmatch(names.STAMPS, low) and not (number and np.nanmax(numbers(cells), initial=0) < 1e8)
    dated = some and all(re.fullmatch(DATE, t) for t in some)
    long = sum(len(t) > 40 or "\n" in t for t in some) * 2 > len(some)
    short = len(texts) > 1 and max(map(len, texts)) <= 20
    each = full == len(texts)
    rules = (
        (_names_runs(frame, column), NAMES, ""),
        (column.startswith(UNNAMED), "has no name: left out", ""),
        (dated or when, f"when, not what: {OUT}", "" if dated else asked),
        (number, *_measured(frame, column, lost, unit)),
        (re.fullmatch(names.NOTES, low), f"a note: {OUT}", asked if short else ""),
        (len(texts) > CHOICES, f"more than {CHOICES} different texts, no choice: {OUT}", ""),
        (
            some and each and full < len(cells) / 2 and all(" " in t for t in some),
            f"a remark on a few lines: {OUT}",
            "",
        ),
        (some and (long or (each and full > max(5, len(cells) / 2))), f"another text for each run: {OUT}", ""),
    )
    return next((Why(text, option) for true, text, option in rules if true), Why(""))


def _measured(frame: Frame, column: str, lost: Mask, unit: str) -> Why:
    """Why a column of numbers was measured: it is called so, and its values are no grid; else a question, or set."""
    cells, empty = frame[column], absent(frame[column])
    distinct, full = cells.nunique(), int((~empty).sum())
    took = names.is_time(column)
    called = took or names.among(re.split(r"[./]", column)[-1], names.MEASURED)
    quantity = unit in TIME_UNITS or unit.endswith("B") or unit in ("%", "bytes")
    many = distinct > relations.GRID
    # A score of many runs may repeat, but is no grid.
    rare = distinct * 2 > full or (called and many and bool((numbers(cells) % 1 > 0).any()))
    if distinct * 2 > full > 5 and re.fullmatch(names.LEVELS, column.rpartition("/")[2].lower()):
        return Why("where a run ended, so it seems to be measured, not set: left out", f"--drop or {TAKE}")
    if (called or quantity) and (rare or took or many):
        role = f"{'--score' if names.goal_of(column) == 'max' else '--cost'} {quote(column)}"
        text = f"measured, not set: left out ({role} uses it, {TAKE} takes it in)"
        return Why(text, "" if rare else f"{role}, --drop or {TAKE}")
    failed = 0 < full < len(cells) and (empty <= lost).all()
    return Why(f"empty only where a run failed, so measured, not set: {OUT}" if failed else "")


def _seemingly_measured(
    frame: Frame, columns: Sequence[str], score: str, run: str | None
) -> tuple[dict[str, Why], dict[str, Why]]:
    """Columns that look measured, and those as which they look; of runs with several lines, by the first."""
    cells = frame.cells if run is None else frame.cells.drop_duplicates(run)
    cells = cells.iloc[:: len(cells) // relations.LINES + 1]
    values = {c: numbers(cells[c]) if numeric(cells[c]) else codes(cells[c]).astype(float) for c in columns}
    found = relations.dependent(values, [c for c in columns if numeric(cells[c])], numbers(cells[score]))
    out = {c for c, (_, rather) in found.items() if rather}
    out = out if any(frame[c].nunique() > 1 for c in columns if c not in out) else set()
    texts = (", so it seems to be measured, not set: left out", ": taken nevertheless")
    measured, doubts = (
        {c: Why(by + text, f"--drop {quote(c)} or {TAKE}") for c, (by, _) in found.items() if (c in out) == wanted}
        for text, wanted in zip(texts, (True, False), strict=True)
    )
    return measured, doubts


def _fidelity(
    frame: Frame, level: str | None, runs: Sequence[str], chosen: Sequence[str], free: Sequence[str]
) -> tuple[str | None, dict[str, Why]]:
    """The column of the checkpoint, if runs have several lines; why columns that change with it are no hyperparameters.

    An empty reason is that of a checkpoint that is a hyperparameter.
    """
    found = None if level else _level(frame, runs, chosen, free)
    if found and not found[1]:
        return None, {found[0]: Why("")}
    level = found[0] if found else level
    if not level or not runs:
        return level, {}
    known = frame.cells[~absent(frame[runs[0]])]
    count = known[runs[0]].nunique()
    changing = [c for c in chosen if c != level and len(known.drop_duplicates([runs[0], c])) > count]
    text = "changes from one checkpoint of a run to the next: left out (--cost takes one in)"
    return level, dict.fromkeys(changing, Why(text))


def _level(frame: Frame, runs: Sequence[str], chosen: Sequence[str], free: Sequence[str]) -> tuple[str, bool] | None:
    """The column of the checkpoint, if runs have several lines each: by the name of the run, else by configuration.

    With it, whether runs have all checkpoints before their last: where a tenth has not, as with Hyperband, each line is
    an evaluation of its own.
    """
    for column in (frame.one(frame.recipe.level), *(c for c in free if re.fullmatch(names.LEVELS, c.lower()))):
        if column is None or not numeric(frame[column]):
            continue
        # A run that failed before the first checkpoint has none.
        known = frame.cells[~np.isnan(numbers(frame[column]))]
        run = runs or [c for c in chosen if c != column]
        if not run or known[column].nunique() < 2 or known.duplicated([*run, column]).any():
            continue
        place = pd.factorize(numbers(known[column]), sort=True)[0]
        seen = known.assign(place=place).groupby([*run], dropna=False, observed=True)["place"]
        whole = float((seen.max() + 1 > seen.nunique()).mean()) <= GAPS
        if len(seen) <= len(known) * (0.67 if whole else 0.9):
            return column, whole
    return None

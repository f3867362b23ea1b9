"""Roles of columns (hyperparameter, level, repeat, name of a run, ignored), with the reason and whether it is certain.

Values decide. If only a name or only values suggest that a column was measured, the decision is uncertain.
"""

import re
from collections.abc import Mapping, Sequence
from shlex import quote

import numpy as np
import pandas as pd

from hpo_envs.tables.user.cells import CHOICES, UNNAMED, absent, codes, different, numbers, numeric
from hpo_envs.tables.user.deciding import names, relations
from hpo_envs.tables.user.deciding.formats import TIME_UNITS
from hpo_envs.tables.user.frame import Decision, Frame
from hpo_envs.tables.user.statement import Decisions

DATE = r"\d{4}-\d\d-\d\d([ T_]\d\d[:-].*)?|\d\d?[/.]\d\d?[/.]\d{4}.*"
"""Pattern of dates in cells."""

TAKE = "--hyperparameters"
OUT = f"left out ({TAKE} takes it in)"

NAMES = Decision("name", (), "names the runs, no hyperparameter")

Why = dict[str, Decision | None]
"""Column -> reason why it is not a hyperparameter; None if it is one."""


def assign(found: Decisions) -> Decisions:
    """Decide which columns are hyperparameters, checkpoints, repeats or names of runs, and leave out the others."""
    frame, s, recipe = found.frame, found.stated, found.frame.recipe
    why = _reasons(found)
    runs = [c for c in why if why[c] == NAMES and c not in s.hyperparameters]
    runs.sort(key=lambda c: c != frame.one(recipe.run))
    level, repeat = s.level, s.repeat or frame.one(recipe.repeat)
    doubts: Why = {}

    def chosen() -> list[str]:
        return [c for c in why if not why[c] and c not in (level, repeat)]

    if s.hyperparameters:
        asked = Decision("ignored", (), "no hyperparameter, as asked")
        why = {c: None if c in s.hyperparameters else NAMES if c in runs else asked for c in why}
        why |= dict.fromkeys(s.hyperparameters)
    else:
        found_level = _level(frame, runs, chosen(), [*why]) if level is None else None
        if found_level and not found_level[1]:
            why[found_level[0]] = None  # each line is an evaluation of its own
        elif found_level:
            level = found_level[0]
        why |= _changing(frame, level, runs, chosen())
        if not frame.settings:
            repeat = repeat or next((c for c in chosen() if re.fullmatch(names.REPEATS, c.lower())), None)
        if len(chosen()) <= relations.MOST:
            doubts = _doubts(found, chosen(), runs[0] if level and runs else None)
        else:
            text = f"more than {relations.MOST} columns: functions of others are not looked for"
            found = found.add(frame.of("file", text, option=TAKE))
        why |= {c: doubt for c, doubt in doubts.items() if doubt and doubt.role == "ignored"}
        doubts = {c: doubt for c, doubt in doubts.items() if c in chosen()} | _named(frame, chosen())
    why |= dict.fromkeys(s.drop, Decision("ignored", (), "left out, as asked"))
    said = _grouped(frame, doubts) + _grouped(frame, {c: d for c, d in why.items() if c not in (level, repeat)})
    if repeat is not None:
        how = "" if s.repeat else f" ({TAKE} takes it in)"
        said.append(frame.of("repeat", f"tells runs of one configuration apart{how}", repeat))
    if level:
        how = "" if s.level else "; runs have several lines each"
        option = "" if s.level or runs or recipe.level else f"--level {quote(level)} or {TAKE}"
        several = pd.Series(numbers(frame[level])).nunique()
        said.append(frame.of("level", f"the checkpoint, {several} different{how}", level, option=option))
    kept = s.hyperparameters or chosen()
    chosen_names = tuple(c for c in kept if c != repeat and c not in s.drop)
    stated = {"hyperparameters": chosen_names, "level": level, "repeat": repeat}
    return found.add(*said, names=tuple(runs), stated=stated)


def _grouped(frame: Frame, why: Mapping[str, Decision | None]) -> list[Decision]:
    """Return the decisions, one for all columns with the same reason; columns without one are skipped."""
    kinds = dict.fromkeys(d for d in why.values() if d)
    return [frame.of(d.role, d.text, *(c for c in why if why[c] == d), option=d.option) for d in kinds]


def _reasons(found: Decisions) -> Why:
    """Return the reason why each column without a stated role is not a hyperparameter; None if it is one."""
    frame, s, run = found.frame, found.stated, found.frame.one(found.frame.recipe.run)
    taken = {*s.score, s.cost, s.level, s.repeat, s.status, *s.drop}
    why = {c: NAMES if c == run else _reason(found, c) for c in frame.cells if c not in taken}
    alike: dict[str, str] = {}
    for c in (c for c in frame.cells if c in why and not why[c]):
        first = alike.setdefault(re.split("[./]", c)[-1], c)
        if c != first and frame[c].equals(frame[first]):
            why[c] = Decision("ignored", (), f"the same as {first}: {OUT}")
    # A first column that numbers the lines, whatever it is called.
    first, values = frame.cells.columns[0], numbers(frame.cells.iloc[:, 0])
    counts = len(values) > 5 and bool((np.diff(values) == 1.0).all()) and values[0] in (0.0, 1.0)
    free = {c for c, reason in why.items() if not reason and frame[c].nunique() > 1}
    if counts and free > {first} and first not in s.categorical and NAMES not in why.values():
        why[first] = NAMES
    return why


def _names_runs(frame: Frame, column: str) -> bool:
    """Return whether a column has an identifying name and values that rarely repeat, except between checkpoints."""
    if not re.fullmatch(names.IDENTIFIERS, column.lower().strip()):
        return False
    cells = frame.cells
    steps = (n for n, c in cells.items() if re.fullmatch(names.LEVELS, n.lower()) and numeric(c))
    return cells[column].nunique() * 2 > len(cells) or any(cells.duplicated([column, n]).mean() <= 0.3 for n in steps)


def _reason(found: Decisions, column: str) -> Decision | None:
    """The first reason why a column is not a hyperparameter, see `_reasons`; None if there is none."""
    frame, recipe = found.frame, found.frame.recipe
    cells, low = frame[column], column.lower().strip()
    if column in found.stated.categorical or column in frame.settings:
        return None
    if frame.settings and column in frame.scores:
        return Decision("ignored", (), "measured, not set")
    if frame.settings or (recipe.noted and re.fullmatch(recipe.noted, column)):
        of = f"bookkeeping of {recipe.tool}" if recipe.tool else "not among the settings"
        return Decision("ignored", (), f"{of}, no hyperparameter")
    if _names_runs(frame, column):
        return NAMES
    texts, number, full = {*different(cells)}, numeric(cells), int((~absent(cells)).sum())
    some = [t for t in cells[:50].dropna() if t in texts]
    asked = "" if cells.nunique() * 2 > full else f"--drop {quote(column)} or {TAKE}"
    when = re.fullmatch(names.STAMPS, low) and not (number and np.nanmax(numbers(cells), initial=0) < 1e8)
    dated = some and all(re.fullmatch(DATE, t) for t in some)
    long = sum(len(t) > 40 or "\n" in t for t in some) * 2 > len(some)
    short = len(texts) > 1 and max(map(len, texts)) <= 20
    each = some and full == len(texts)
    measured = _measured(found, column) if number else ("", "")
    rules = (
        (column.startswith(UNNAMED), "has no name: left out", ""),
        (dated or when, f"when, not what: {OUT}", "" if dated else asked),
        (number, *measured),
        (re.fullmatch(names.NOTES, low), f"a note: {OUT}", asked if short else ""),
        (len(texts) > CHOICES, f"more than {CHOICES} different texts, no choice: {OUT}", ""),
        (each and full < len(cells) / 2 and all(" " in t for t in some), f"a remark on a few lines: {OUT}", ""),
        (some and long, f"long texts: {OUT}", ""),
        (each and full > max(5, len(cells) / 2), f"another text for each run: {OUT}", ""),
    )
    text, option = next(((text, option) for true, text, option in rules if true), ("", ""))
    return Decision("ignored", (), text, option) if text else None


def _measured(found: Decisions, column: str) -> tuple[str, str]:
    """Why a numeric column seems to be measured, not set, and the options that settle it; both empty if it does not."""
    cells, unit = found.frame[column], found.frame.units.get(column, "")
    empty = absent(cells)
    distinct, full = cells.nunique(), int((~empty).sum())
    if distinct * 2 > full > 5 and re.fullmatch(names.LEVELS, column.rpartition("/")[2].lower()):
        return "where a run ended, so it seems to be measured, not set: left out", f"--drop or {TAKE}"
    took = names.is_time(column)
    called = took or names.among(re.split(r"[./]", column)[-1], names.MEASURED)
    quantity = unit in TIME_UNITS or unit.endswith("B") or unit in ("%", "bytes")
    many = distinct > relations.GRID
    # A score of many runs may repeat, but is no grid.
    rare = distinct * 2 > full or (called and many and bool((numbers(cells) % 1 > 0).any()))
    if (called or quantity) and (rare or took or many):
        score = not took and names.among(column, names.LOWER | names.HIGHER)
        role = f"{'--score' if score else '--cost'} {quote(column)}"
        text = f"measured, not set: left out ({role} uses it, {TAKE} takes it in)"
        return text, "" if rare else f"{role}, --drop or {TAKE}"
    failed = 0 < full < len(cells) and (empty <= found.lost).all()
    return f"empty only where a run failed, so measured, not set: {OUT}" if failed else "", ""


def _doubts(found: Decisions, columns: Sequence[str], run: str | None) -> Why:
    """Decide, by the last line of a run, on columns that seem measured or that the score or other columns determine."""
    frame, score, fixed = found.frame, found.scores[:, 0], found.stated.categorical
    lines = frame.cells.assign(**{"": np.arange(len(frame))}).drop_duplicates(run, keep="last") if run else frame.cells
    lines = lines.iloc[:: len(lines) // relations.LINES + 1]
    score = score[lines[""]] if run else score[:: len(frame) // relations.LINES + 1]
    number = [c for c in columns if c not in fixed and numeric(lines[c])]
    values = {c: numbers(lines[c]) if c in number else codes(lines[c]).astype(float) for c in columns}
    counts = [c for c in frame.cells if c not in (*columns, *found.stated.score) and numeric(lines[c])]
    counts = [c for c in counts if not (numbers(lines[c]) % 1).any()]
    some = pd.DataFrame(values | {c: numbers(lines[c]) for c in counts}, lines.index)
    known = ~np.isnan(score)
    functions = relations.functions(some[known], number, score[known], counts)
    computed = {c: text for c, (text, sure) in functions.items() if sure and not frame.settings}
    free = [c for c in columns if c not in (*computed, *fixed)]
    seems = {} if frame.settings else relations.dependent(some[free], number)
    out = {c for c, (_, rather) in seems.items() if rather}
    out = out if any(frame[c].nunique() > 1 for c in columns if c not in out) else set()
    goals = {c: {names.goal_of(t) for t in different(lines[c])} for c in columns if c not in number}
    mixed = {c: "names scores, some to be high, some low" for c in goals if goals[c] == {"max", "min"}}
    texts = mixed | {c: text for c, (text, _) in (functions | seems).items() if c not in computed}
    why: Why = {c: Decision("ignored", (), f"{text}: {OUT}") for c, text in computed.items()}
    for c, text in texts.items():
        then = ", so it seems to be measured, not set: left out" if c in out else ": taken nevertheless"
        why[c] = Decision("ignored" if c in out else "hyperparameter", (), text + then, f"--drop {quote(c)} or {TAKE}")
    return why


def _named(frame: Frame, columns: Sequence[str]) -> Why:
    """The doubts about hyperparameters that are named like a checkpoint or the outcome of a run."""
    doubts: Why = {}
    states = "|".join(names.STATES) + "|success|succeeded|(exit|return)_?code"
    for option, role, pattern in (("level", "checkpoint", names.CHECKPOINTS), ("status", "outcome", states)):
        for c in (c for c in columns if re.fullmatch(pattern, c.lower()) and c not in frame.settings):
            either = f"--{option} {quote(c)}, --drop {quote(c)} or {TAKE}"
            doubts[c] = Decision("hyperparameter", (), f"named like the {role} of a run: taken nevertheless", either)
    return doubts


def _level(frame: Frame, runs: Sequence[str], chosen: Sequence[str], free: Sequence[str]) -> tuple[str, bool] | None:
    """The column of checkpoints if runs have several lines: by the name of the run, else by configuration.

    Also returns whether runs have all checkpoints before their last; if more than a tenth of them do not, as with
    Hyperband, each line is a separate evaluation. None if there is no such column.
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
        whole = float((seen.max() + 1 > seen.nunique()).mean()) <= 0.1
        if len(seen) <= len(known) * (0.67 if whole else 0.9):
            return column, whole
    return None


def _changing(frame: Frame, level: str | None, runs: Sequence[str], chosen: Sequence[str]) -> Why:
    """Return the reasons to leave out columns that vary within a run; empty without checkpoints or names of runs."""
    if not level or not runs:
        return {}
    known = frame.cells[~absent(frame[runs[0]])]
    count = known[runs[0]].nunique()
    changing = [c for c in chosen if c != level and len(known.drop_duplicates([runs[0], c])) > count]
    text = "changes from one checkpoint of a run to the next: left out (--cost takes one in)"
    return dict.fromkeys(changing, Decision("ignored", (), text))

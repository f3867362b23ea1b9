"""Definitions of hyperparameters (kind, range, condition, empty cells) and of metrics (goal, bounds), from values."""

import dataclasses
import math
from collections.abc import Mapping
from shlex import quote
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pandas as pd

from hpo_envs.tables.checks import shown
from hpo_envs.tables.table import Hyperparameter, Metric, numbers
from hpo_envs.tables.user import cells as of_cells
from hpo_envs.tables.user.cells import CHOICES, Column, Floats, Mask, absent
from hpo_envs.tables.user.deciding import scales
from hpo_envs.tables.user.deciding.names import goal_of, is_time
from hpo_envs.tables.user.frame import Decision, Frame, count
from hpo_envs.tables.user.statement import Decisions, Statement

FEW = 12
"""Largest number of different values that count as a grid."""


def spanned(found: Decisions) -> Decisions:
    """Define the hyperparameters; leave out empty columns and, unless the stated `space` defines them, constant ones.

    If at most a fifth of the lines lack a number without explanation, these are left out; else it is a question.

    Raises:
        ValueError: Cells violate the rule of their column, a stated scale does not fit, or no column varies.
    """
    frame, stated, said = found.frame, found.stated, []
    fixed = {h.name: h for h in stated.space}
    columns = {name: _column(frame, stated, name, fixed.get(name)) for name in stated.hyperparameters}
    by = found.names[:1] or stated.hyperparameters
    first = ~frame.cells.duplicated([*by]).to_numpy() if stated.level and by else np.ones(len(frame), bool)
    space: dict[str, Hyperparameter] = {}
    values: dict[str, Floats] = {}
    kept = np.ones(len(frame), bool)
    for name, column in [*columns.items()]:
        h, option, holes = fixed.get(name), "", np.isnan(column.values)
        condition = (h and h.condition) or condition_of(holes, columns)
        known = column.values[~holes]
        pairs = zip(*[iter(condition or ())] * 2, strict=True)
        when = " and ".join(f"{parent} is {' or '.join(map(str, choices))}" for parent, choices in pairs)
        left_out = "empty" if holes.all() and not column.choices else ""
        if not h and len(known) and (known == known[0]).all() and (condition or not holes.any()):
            left_out = f"always {column.natural(known[0])}" + (when and f" while {when}")
        if left_out:
            said.append(frame.of("ignored", f"{left_out}, left out", name))
            continue
        note = ""
        if holes.any() and condition is None:
            column, note, lost, question = _without_holes(frame, name, column, h is None or "none" in h.values)
            columns = {**columns, name: column}
            kept &= ~lost
            said += [Decision("question", (), question)] if question else []
        if h:
            text = f"as defined, {described(h)}"
        else:
            h, text, option = hyperparameter(name, column, first, stated.log.get(name), frame.units.get(name, ""))
        space[name] = dataclasses.replace(h, condition=condition)
        values[name] = 1 - column.values if h.complement else column.values
        said.append(frame.of("hyperparameter", text + note, name, option=option))
        same = [] if column.choices or name in stated.log else of_cells.one_number(of_cells.different(frame[name]))
        if same:
            either = f"--categorical {quote(name)}, --log {quote(name)} or --linear {quote(name)}"
            said.append(frame.of("hyperparameter", f"{', '.join(same)} are one number", name, option=either))
        if condition:
            none = "" if column.none is None else "; `none` is a missing value (--categorical makes it a choice)"
            said.append(frame.of("hyperparameter", f"active only while {when}; else stored as 0{none}", name))
    if not space:
        raise ValueError("hyperparameters must be at least one that varies, got none")
    names = [*space]
    late = {n for n, h in space.items() if any(names.index(p) > names.index(n) for p in h.conditions)}
    ordered = tuple(space[n] for n in sorted(names, key=late.__contains__))
    return found.add(*said, space=ordered, values=values, lines=found.lines[kept])


def _column(frame: Frame, stated: Statement, name: str, h: Hyperparameter | None) -> Column:
    """The values of a hyperparameter's column; ValueError if cells break its rule."""
    if h:
        column, bad, rule = of_cells.within(frame[name], h)
    else:
        column, bad = of_cells.column(name, frame[name], name in stated.categorical)
        rule = f"a number like {len(frame) - int(bad.sum())} others (or --categorical {quote(name)})"
    frame.require(~bad, name, rule)
    return column


def condition_of(holes: Mask, columns: Mapping[str, Column]) -> tuple[str, tuple[Any, ...]] | None:
    """The condition (parent, values) that explains empty cells: choices, or numbers beyond a threshold; else None."""
    for parent, column in sorted(columns.items(), key=lambda c: c[1].choices is None) if holes.any() else ():
        unknown = np.isnan(column.values)
        if (unknown & ~holes).any() or (unknown == holes).all():
            continue
        empty, filled = (np.unique(column.values[mask & ~unknown]) for mask in (holes, ~holes))
        if column.choices is None:
            few = len(empty) + len(filled) <= FEW and 2 * (len(empty) + len(filled)) <= len(holes) and column.whole
            apart = few and len(empty) and (empty.max() < filled.min() or filled.max() < empty.min())
        else:
            apart = not np.isin(empty, filled).any()
        if apart:
            return parent, tuple(map(column.natural, filled.tolist()))
    return None


def _without_holes(frame: Frame, name: str, column: Column, none: bool) -> tuple[Column, str, Mask, str]:
    """Return the column, perhaps with a choice `none`; a note; the (lines,) mask of omitted lines; a question or "".

    `none`: whether it may have this choice.
    """
    holes, fill = np.isnan(column.values), f"--fill {quote(f'{name}=VALUE')}"
    if column.choices is not None and none:
        return column.with_none(), f"; where it is empty the choice is none ({fill} says better)", holes & False, ""
    if column.none is not None and none and len(pd.unique(column.values[~holes])) < CHOICES:
        note = f"; `none` is one of the choices ({fill} makes it a number)"
        return column.with_none(), note, holes & ~column.none, ""
    empty = np.flatnonzero(holes)
    if len(empty) * 5 > len(holes):  # a fifth of the lines may lack a number
        more = f" (and {len(empty) - 3} more)" if len(empty) > 3 else ""
        text = (
            f"{', '.join(map(frame.where, empty[:3]))}{more}, column {name}: must have a value: no choice in "
            f"another column explains the empty cells; set their value with {fill}, or leave the column out "
            f"with --drop {quote(name)}"
        )
        return column, "", holes & False, text
    word = "empty" if column.none is None else "`none`"
    lines = "1 line, which is" if len(empty) == 1 else f"{len(empty)} lines, which are"
    return column, f"; {word} in {lines} left out as nobody knows it ({fill} tells)", holes, ""


def hyperparameter(
    name: str, column: Column, first: Mask, log: bool | Literal["decay"] | None = None, unit: str = ""
) -> tuple[Hyperparameter, str, str]:
    """Define a hyperparameter by a column's values; range and scale by those on the (lines,) first lines of runs.

    Return the definition, its description with the reason, and the option that settles its scale, "" if it is certain.

    Raises:
        ValueError: `log` is True for numbers that are not positive (a grid may have 0), `decay` for numbers outside
            [0, 1), or neither of these nor False or None.
    """
    if column.choices is not None:
        if log:
            raise ValueError(f"column {name}: must be numbers to be logarithmic, got choices")
        choices = column.choices
        h = Hyperparameter(name, "categorical", 0.0, float(len(choices) - 1), values=choices)
        alike = len({str(c).lower() for c in choices}) < len(choices)
        return h, described(h) + ("; some differ in upper and lower case only" if alike else ""), ""
    if log not in (None, True, False, "decay"):
        raise ValueError(f"log of {name} must be true, false or decay, got {shown(log)}")
    full = ~np.isnan(column.values)
    known = column.values[full & first if (full & first).any() else full]
    low, high = float(known.min()), float(known.max())
    kind: Literal["int", "float"] = "int" if column.whole else "float"
    grid = np.sort(pd.unique(known)).tolist()
    listed = tuple(map(column.natural, grid)) if len(grid) <= FEW and len(grid) < len(known) else ()
    if log is True and low <= 0 and not (low == 0 and len(listed) > 2):
        raise ValueError(f"column {name}: must be positive to be logarithmic, got {low:g}")
    if log == "decay" and not 0 <= low <= high < 1:
        raise ValueError(f"column {name}: must be in [0, 1) to be a decay rate, got {low:g} to {high:g}")
    scale = scales.scale_of(known, column.whole) if log is None else scales.DecidedScale(_STATED[log], "")
    if scale.kind == "log" and low == 0 and not listed:
        scale = scales.DecidedScale("linear", f"{scale.reason}, but for 0", certain=False)
    if scale.kind == "decay":
        h = Hyperparameter(name, kind, 1 - high, 1 - low, True, (), complement=True)
    else:
        h = Hyperparameter(name, kind, low, high, scale.kind == "log", listed)
    reason = f" ({scale.reason})" if scale.reason else ""
    option = "" if scale.certain else f"--log {quote(name)} or --linear {quote(name)}"
    return h, described(h, unit) + reason, option


_STATED: dict[Any, scales.Kind] = {True: "log", False: "linear", "decay": "decay"}


def described(h: Hyperparameter, unit: str = "") -> str:
    """Describe a hyperparameter in words: its kind, its range or first choices, its unit and its scale."""
    if h.kind == "categorical":
        first = ", ".join(str(c) for c in h.values[:5]) + (", ..." if len(h.values) > 5 else "")
        return f"choice of {len(h.values)}: {first}"
    listed = f", {len(h.values)} values" if h.values else ""
    scale = ", logarithmic in 1 - x" if h.complement else ", logarithmic" if h.log else ""
    low, high = h.bounds
    return f"{h.kind}, {low:g} to {high:g}{f' {unit}' if unit else ''}{listed}" + scale


def measured(found: Decisions) -> Decisions:
    """Define the metrics; a score is uncertain if half of its values are the best, or lines without it have another."""
    frame, stated, metrics, said, tied = found.frame, found.stated, [], [], []
    others = [c for c in frame.cells if c not in stated.score and goal_of(c) and not is_time(c)]
    for name, goal, scores in zip(stated.score, stated.goal, found.scores.T, strict=True):
        known, empty = scores[~np.isnan(scores)], absent(frame[name])
        made, text = metric(name, known, goal, stated.bounds.get(name))
        metrics.append(made)
        said.append(frame.of("score", text, name))
        if empty.any():
            text = f"{count(int(np.isnan(scores).sum()), 'line')} without it: failed runs"
            option = "another --score or a file without them" * any((empty & ~absent(frame[c])).any() for c in others)
            said.append(frame.of("score", text, name, option=option))
        ties = int((known == (known.max() if goal == "max" else known.min())).sum())
        if ties * 2 >= len(known) > 1:
            text = f"degenerate: {count(ties, 'line')} of {len(known)} have the best score, so no agent can be better"
            tied.append(frame.of("score", text, name, option="another --score"))
    return found.add(*said, *tied, metrics=tuple(metrics))


def metric(
    name: str, values: npt.ArrayLike, goal: Literal["max", "min"], bounds: tuple[float, float] | None
) -> tuple[Metric, str]:
    """Make a metric and its text; default bounds: 0 to 1 or 100 if these contain the values, else 0 or -10^k to 10^k.

    Raises:
        ValueError: Bounds are not finite and increasing, or values are outside them.
    """
    low, high = float(np.min(values)), float(np.max(values))
    if bounds is None:
        b = 1.0 if low >= 0.0 and high <= 1.0 else 100.0
        if low < 0.0 or high > b:
            b = 10.0 ** math.ceil(math.log10(max(-low, high)))
        a = 0.0 if low >= 0.0 else -b
        why = f"bounds {a:g} to {b:g} guessed from its values (--bounds {quote(f'{name}=LOW:HIGH')} says better)"
    else:
        ends, why = numbers(bounds), "bounds as given"
        a, b = ends.tolist() if ends.shape == (2,) else (math.nan, math.nan)
        if not (math.isfinite(b - a) and a < b):
            raise ValueError(f"bounds of {name} must be two finite numbers, low < high, got {shown(bounds)}")
    if low < a or high > b:
        raise ValueError(f"bounds of {name} must contain its values, {low:g} to {high:g}, got {a:g} to {b:g}")
    return Metric(name, "", goal, a, b), f"score, {goal}, {low:g} to {high:g}; {why}"

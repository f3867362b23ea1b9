"""Definitions of hyperparameters and metrics: kinds, ranges, scales, conditions, decided from their values."""

import dataclasses
import math
from collections.abc import Mapping
from shlex import quote
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from hpo_envs.tables.table import Hyperparameter, Metric
from hpo_envs.tables.user import cells as of_cells
from hpo_envs.tables.user.cells import CHOICES, Column, Floats, Mask
from hpo_envs.tables.user.deciding import scales
from hpo_envs.tables.user.frame import Decision, Frame, count
from hpo_envs.tables.user.statement import Statement

FEW = 12
"""Up to so many different numbers count as a grid."""

HOLES = 5
"""At most one line in so many is left out because it lacks a number that nothing explains."""


class DecidedSpace(NamedTuple):
    """A search space.

    Attributes:
        space: The hyperparameters, parents before their children.
        values: Name -> (lines,) stored numbers, NaN where there is none.
        kept: (lines,) which lines say what they were.
        said: The decisions.
    """

    space: tuple[Hyperparameter, ...]
    values: dict[str, Floats]
    kept: Mask
    said: list[Decision]


def columns_of(frame: Frame, stated: Statement) -> dict[str, Column]:
    """The hyperparameters with their values.

    Raises:
        ValueError: Cells that break the rule of their column; the lines are named.
    """
    fixed, columns = {h.name: h for h in stated.space}, {}
    for name in stated.hyperparameters:
        if name in fixed:
            columns[name], bad, rule = of_cells.within(frame[name], fixed[name])
        else:
            columns[name], bad = of_cells.column(name, frame[name], name in stated.categorical)
            rule = f"a number like {len(frame) - int(bad.sum())} others (or --categorical {quote(name)})"
        frame.require(~bad, name, rule)
    return columns


def space_of(
    frame: Frame, stated: Statement, columns: Mapping[str, Column], units: Mapping[str, str], first: Mask
) -> DecidedSpace:
    """Define the hyperparameters.

    Args:
        frame: The lines.
        stated: The complete statement.
        columns: The hyperparameters.
        units: Column -> unit of its numbers.
        first: (lines,) the first line of each run, by which scales are decided.

    Raises:
        ValueError: None varies, or one is empty for no visible reason.
    """
    kept, fixed, said = np.ones(len(frame), bool), {h.name: h for h in stated.space}, []
    found: dict[str, Hyperparameter] = {}
    values: dict[str, Floats] = {}
    for name, column in [*columns.items()]:
        holes, note = np.isnan(column.values), ""
        if holes.all() and not column.choices:
            said.append(frame.of("ignored", "empty, left out", name))
            continue
        if name not in fixed and column.none is None and (column.values == column.values[0]).all():
            said.append(frame.of("ignored", f"always {column.natural(column.values[0])}, left out", name))
            continue
        condition = condition_of(holes, columns)
        if name not in fixed and condition is not None and len(pd.unique(column.values[~holes])) == 1:
            parent = f"{condition[0]} is {' or '.join(map(str, condition[1]))}"
            only = column.natural(column.values[~holes][0])
            said.append(frame.of("ignored", f"always {only} while {parent}, left out", name))
            continue
        if holes.any() and condition is None:
            column, note, lost = _without_holes(frame, name, column)
            columns = {**columns, name: column}
            kept &= ~lost
        if name in fixed:
            h, text, option = fixed[name], f"as defined, {described(fixed[name])}", ""
            condition = h.condition or condition
        else:
            h, text, option = hyperparameter(name, column, first, stated.log.get(name), units.get(name, ""))
        found[name] = dataclasses.replace(h, condition=condition)
        values[name] = 1 - column.values if h.complement else column.values
        said.append(frame.of("hyperparameter", text + note, name, option=option))
        if condition is not None:
            none = "; `none` is a missing value (--categorical makes it a choice)" if column.none is not None else ""
            parent, choices = condition
            when = f"active only while {parent} is {' or '.join(map(str, choices))}; else stored as 0{none}"
            said.append(frame.of("hyperparameter", when, name))
    if not found:
        raise ValueError("hyperparameters must be at least one that varies, got none")
    names = list(found)
    late = {n for n, h in found.items() if h.condition and names.index(h.condition[0]) > names.index(n)}
    return DecidedSpace(tuple(found[n] for n in sorted(names, key=lambda n: n in late)), values, kept, said)


def _without_holes(frame: Frame, name: str, column: Column) -> tuple[Column, str, Mask]:
    """A column that nothing explains when it is empty: with a choice `none`, or with (lines,) those to leave out."""
    holes, fill = np.isnan(column.values), f"--fill {quote(f'{name}=VALUE')}"
    if column.choices is not None:
        return column.with_none(), f"; where it is empty the choice is none ({fill} says better)", holes & False
    if column.none is not None and len(pd.unique(column.values[~holes])) < CHOICES:
        return column.with_none(), f"; `none` is one of the choices ({fill} makes it a number)", holes & ~column.none
    empty = np.flatnonzero(holes)
    if len(empty) * HOLES > len(holes):
        more = f" (and {len(empty) - 3} more)" if len(empty) > 3 else ""
        raise ValueError(
            f"{', '.join(map(frame.where, empty[:3]))}{more}, column {name}: must have a value: no choice among "
            f"the other columns explains when it is empty; say what it was there with {fill}, or leave the column out "
            f"with --drop {quote(name)}"
        )
    word = "empty" if column.none is None else "`none`"
    lines = "1 line, which is" if len(empty) == 1 else f"{len(empty)} lines, which are"
    return column, f"; {word} in {lines} left out as nobody knows it ({fill} tells)", holes


def hyperparameter(
    name: str, column: Column, first: Mask, log: bool | Literal["decay"] | None = None, unit: str = ""
) -> tuple[Hyperparameter, str, str]:
    """Define a hyperparameter by a column's values.

    Args:
        name: Its name.
        column: Its values.
        first: (lines,) the first line of each run.
        log: Whether its scale is logarithmic, or `decay`; default: decided.
        unit: Of its numbers.

    Returns:
        The definition, its description with the reason, and the option that settles its scale if it is uncertain.

    Raises:
        ValueError: `log` for numbers that are not all positive, `decay` for others than those in [0, 1).
    """
    if column.choices is not None:
        choices = column.choices
        h = Hyperparameter(name, "categorical", 0.0, float(len(choices) - 1), values=choices)
        alike = len({str(c).lower() for c in choices}) < len(choices)
        return h, described(h) + ("; some differ in upper and lower case only" if alike else ""), ""
    known = column.values[~np.isnan(column.values) & first]
    known = known if len(known) else column.values[~np.isnan(column.values)]
    low, high, whole = float(known.min()), float(known.max()), column.whole
    grid = np.sort(pd.unique(known)).tolist()
    listed = tuple(map(int, grid) if whole else grid) if len(grid) <= FEW and len(grid) < len(known) else ()
    if log is True and low <= 0 and not (low == 0 and len(listed) > 2):
        raise ValueError(f"column {name}: must be positive to be logarithmic, got {low:g}")
    if log == "decay" and not 0 <= low <= high < 1:
        raise ValueError(f"column {name}: must be in [0, 1) to be a decay rate, got {low:g} to {high:g}")
    scale = scales.scale_of(known, whole) if log is None else scales.DecidedScale(_STATED[log], "")
    if scale.kind == "log" and low == 0 and not listed:
        scale = scales.DecidedScale("linear", f"{scale.reason}, but for 0", certain=False)
    kind: Any = "int" if whole else "float"
    if scale.kind == "decay":
        h = Hyperparameter(name, kind, 1 - high, 1 - low, True, (), complement=True)
    else:
        h = Hyperparameter(name, kind, low, high, scale.kind == "log", listed)
    reason = f" ({scale.reason})" if scale.reason else ""
    shown = quote(name)
    option = "" if scale.certain else f"--log {shown} or --linear {shown}"
    return h, described(h, unit) + reason, option


_STATED: dict[Any, scales.Kind] = {True: "log", False: "linear", "decay": "decay"}


def described(h: Hyperparameter, unit: str = "") -> str:
    """A hyperparameter in words."""
    if h.kind == "categorical":
        shown = ", ".join(str(c) for c in h.values[:5]) + (", ..." if len(h.values) > 5 else "")
        return f"choice of {len(h.values)}: {shown}"
    listed = f", {len(h.values)} values" if h.values else ""
    scale = ", logarithmic in 1 - x" if h.complement else ", logarithmic" if h.log else ""
    low, high = h.bounds
    return f"{h.kind}, {low:g} to {high:g}{f' {unit}' if unit else ''}{listed}" + scale


def metric(
    name: str, values: npt.ArrayLike, goal: Literal["max", "min"], bounds: tuple[float, float] | None
) -> tuple[Metric, str]:
    """Make a metric; bounds are 0 to 1 or 0 to 100 where values fit, else round numbers around them.

    Raises:
        ValueError: Bounds that are not finite and increasing, or values outside them.
    """
    low, high = float(np.min(values)), float(np.max(values))
    if bounds is None:
        b = 1.0 if low >= 0.0 and high <= 1.0 else 100.0
        if low < 0.0 or high > b:
            b = 10.0 ** math.ceil(math.log10(max(-low, high)))
        a = 0.0 if low >= 0.0 else -b
        why = f"bounds {a:g} to {b:g} guessed from its values (--bounds {quote(f'{name}=LOW:HIGH')} says better)"
    else:
        (a, b), why = bounds, "bounds as given"
        if not (math.isfinite(a) and math.isfinite(b) and a < b):
            raise ValueError(f"bounds of {name} must be two finite numbers, low < high, got {a:g} and {b:g}")
        if low < a or high > b:
            raise ValueError(f"bounds of {name} must contain its values, {low:g} to {high:g}, got {a:g} to {b:g}")
    return Metric(name, "", goal, a, b), f"score, {goal}, {low:g} to {high:g}; {why}"


def condition_of(holes: Mask, columns: Mapping[str, Column]) -> tuple[str, tuple[Any, ...]] | None:
    """The condition (parent, choices) that explains where a column is empty, if one does."""
    for parent, column in columns.items() if holes.any() else ():
        unknown = np.isnan(column.values)
        if column.choices is None or (unknown & ~holes).any() or (unknown == holes).all():
            continue
        empty, filled = (set(np.unique(column.values[mask & ~unknown]).tolist()) for mask in (holes, ~holes))
        if not empty & filled:
            return parent, tuple(column.choices[int(i)] for i in sorted(filled))
    return None


def degenerate(frame: Frame, stated: Statement, scores: Floats) -> list[Decision]:
    """The decision on scores whose best is the median, so that no search is better than another."""
    said = []
    for name, goal, values in zip(stated.score, stated.goal, scores.T, strict=True):
        known = values[~np.isnan(values)]
        best = known.max() if goal == "max" else known.min()
        ties = int((known == best).sum())
        if ties * 2 >= len(known) and len(known) > 1:
            text = f"degenerate: {count(ties, 'line')} of {len(known)} have the best score, so no agent can be better"
            said.append(frame.of("score", text, name, option="another --score"))
    return said

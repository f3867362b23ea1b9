"""Runs, one after the other, as a Table: equal configurations become repeats, checkpoints become levels."""

import dataclasses
import hashlib
from dataclasses import dataclass
from pathlib import Path
from shlex import quote
from typing import Any

import numpy as np
import pandas as pd

from hpo_envs.tables import draws, user
from hpo_envs.tables.table import Hyperparameter, Metric, Provenance, Table, searched
from hpo_envs.tables.user import cells, roles
from hpo_envs.tables.user.cells import CHOICES, Column, Floats, Index, Mask
from hpo_envs.tables.user.sheet import Schema, Sheet

CELLS = 50_000_000
"""Largest rows x repeats x levels x metrics."""

HOLES = 5
"""At most one line in so many is left out because it lacks a number that nothing explains."""


@dataclass
class Runs:
    """Measurements, one entry per line of a sheet.

    Attributes:
        sheet: The lines.
        schema: What its columns are.
        columns: Hyperparameter -> its values.
        metrics: The metrics.
        scores: (lines, metrics) float64, NaN = the run failed before it had one.
        lines: For each line its `status`, an index into `STATUSES`; its `level`, 1 where each is a whole run; its
            `cost`, cumulative within a run; and a `label` that distinguishes runs of one configuration, if one does.
        cost_unit: Unit of the costs.
        names: Columns that name the runs; used where every configuration has one line.
    """

    sheet: Sheet
    schema: Schema
    columns: dict[str, Column]
    metrics: tuple[Metric, ...]
    scores: Floats
    lines: pd.DataFrame
    cost_unit: str
    names: list[str]


def table_of(runs: Runs, name: str, licence: str, citation: str) -> Table:
    """Make the table.

    Args:
        runs: Its measurements; columns and lines are dropped on the way, to save memory.
        name: Of the table.
        licence: Of the data.
        citation: Of the data; default: the user's own.

    Raises:
        ValueError: Lines that contradict each other, or hyperparameters that are empty for no visible reason.
    """
    space, kept = _space(runs)
    lines = runs.lines[kept]
    row = np.zeros(len(lines), np.intp)
    for h in space:
        code = cells.codes(runs.columns[h.name].values[lines.index])
        row = pd.factorize(row * (int(code.max(initial=0)) + 1) + code)[0]
    lines = _alone(runs, lines.assign(row=row))
    lines["repeat"] = _repeats(runs, lines)
    first, levels = lines.index[~lines["row"].duplicated()].to_numpy(), np.unique(lines["level"])
    shape = (len(first), int(lines["repeat"].max()) + 1, len(levels))
    unit = runs.schema.level or "full training"
    if np.prod(shape, dtype=float) * len(runs.metrics) > CELLS:
        raise ValueError(
            f"rows x repeats x {unit} x scores must be at most {CELLS}, got {shape[0]} x {shape[1]} x "
            f"{shape[2]} x {len(runs.metrics)}"
        )
    runs.sheet.say(f"{shape[0]} configurations, up to {shape[1]} run(s) each, {shape[2]} level(s), {len(lines)} lines")
    order, configs = _hashed(name, [runs.columns.pop(h.name).values[first] for h in space])
    keys = [f"row-{r}" for r in order.tolist()]
    if runs.names and len(lines) == len(first):
        labels = cells.each(cells.as_text(runs.sheet.frame[runs.names[0]].iloc[first[order]]), str, "").tolist()
        keys = labels if len(set(labels)) == len(keys) else keys
    lines["row"] = np.argsort(order)[lines["row"]]
    arrays = _arrays(runs, lines, levels, shape) | {"levels": levels, "source_index": first[order]}
    del lines, row, code, first, kept, runs.lines
    arrays |= searched(space, configs)
    for array in (a for a in arrays.values() if isinstance(a, np.ndarray)):
        array.setflags(write=False)  # then the table does not copy it
    file = Path(runs.sheet.source).name
    cited, notes = citation or f"{file}, the user's own measurements", tuple(runs.sheet.notes)
    return user.remember(
        Table(
            name=user.PREFIX + user.check_name(name),
            keys=tuple(keys),
            metrics=runs.metrics,
            provenance=Provenance("measured", file, runs.sheet.digest[:40], licence, cited, notes=notes),
            cost_unit=runs.cost_unit,
            level_unit=unit,
            **arrays,
        )
    )


def _hashed(name: str, columns: list[Floats]) -> tuple[Index, Floats]:
    """The order of rows, and (rows, d) stored numbers of the columns in that order: 0 where there is none, and no -0.

    Lines come in the order in which someone tried them, or sorted by score: configurations are hashed, not lines.
    """
    hashes = np.zeros(len(columns[0]), np.uint64)
    for holes in map(np.isnan, columns):
        hashes = draws.mix_many(hashes, holes.astype(np.uint64))
    stored = np.column_stack([np.where(np.isnan(values), 0.0, values) + 0.0 for values in columns])
    for j in range(len(columns)):
        hashes = draws.mix_many(hashes, stored[:, j].copy().view(np.uint64))
    key = np.array([int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "big")], np.uint64)
    order = np.argsort(draws.mix_many(key, hashes), kind="stable")
    return order, stored[order]


def _space(runs: Runs) -> tuple[tuple[Hyperparameter, ...], Mask]:
    """The hyperparameters, and (lines,) which lines say what they were."""
    kept, fixed = np.ones(len(runs.scores), bool), {h.name: h for h in runs.schema.space}
    found: dict[str, Hyperparameter] = {}
    for name, column in list(runs.columns.items()):
        holes, note = np.isnan(column.values), ""
        if holes.all() and not column.choices:
            runs.sheet.say("empty, left out", name)
            continue
        if name not in fixed and column.none is None and (column.values == column.values[0]).all():
            runs.sheet.say(f"always {column.natural(column.values[0])}, left out", name)
            continue
        condition = roles.condition_of(holes, runs.columns)
        if holes.any() and condition is None:
            runs.columns[name], note, lost = _without_holes(runs.sheet, name, column)
            kept &= ~lost
        if name in fixed:
            h, text = fixed[name], f"as defined, {roles.described(fixed[name])}"
            condition = h.condition or condition
        else:
            h, text = roles.hyperparameter(name, runs.columns[name], runs.schema.log.get(name))
        found[name] = dataclasses.replace(h, condition=condition)
        runs.sheet.say(text + note, name)
        if condition is not None:
            none = "; `none` is a missing value (--categorical makes it a choice)" if column.none is not None else ""
            parent, choices = condition
            runs.sheet.say(
                f"active only while {parent} is {' or '.join(map(str, choices))}; else stored as 0{none}", name
            )
    if not found:
        raise ValueError("hyperparameters must be at least one that varies, got none")
    names = list(found)
    late = {n for n, h in found.items() if h.condition and names.index(h.condition[0]) > names.index(n)}
    return tuple(found[n] for n in sorted(names, key=lambda n: n in late)), kept


def _without_holes(sheet: Sheet, name: str, column: Column) -> tuple[Column, str, Mask]:
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
            f"{', '.join(map(sheet.where, empty[:3]))}{more}, column {name}: must have a value: no choice among "
            f"the other columns explains when it is empty; say what it was there with {fill}, or leave the column out "
            f"with --drop {quote(name)}"
        )
    word = "empty" if column.none is None else "`none`"
    lines = "1 line, which is" if len(empty) == 1 else f"{len(empty)} lines, which are"
    return column, f"; {word} in {lines} left out as nobody knows it ({fill} tells)", holes


def _alone(runs: Runs, lines: pd.DataFrame) -> pd.DataFrame:
    """The lines without those that repeat an earlier one in every cell and are no runs of their own."""
    some = lines.index[lines.duplicated(["row", "level"], keep=False)]
    twice = some[runs.sheet.frame.iloc[some].duplicated()]
    if not len(twice):
        return lines
    what = f"{len(twice)} line(s), the first {runs.sheet.where(twice[0])}, say what another says in every cell"
    outcomes = lines[["row", "level", "cost"]].join(pd.DataFrame(runs.scores).rename(columns=str))
    one = runs.schema.duplicates
    if one is None:
        same = len(outcomes.drop_duplicates()) == len(lines.drop_duplicates(["row", "level"]))
        one = bool(runs.names or runs.schema.repeat) or same
    if one:
        runs.sheet.say(f"{what}: one run each, not repeats (a column that tells runs apart says otherwise: --repeat)")
        return lines.drop(twice)
    runs.sheet.say(f"{what}: kept as repeats, like the others of one configuration")
    return lines


def _repeats(runs: Runs, lines: pd.DataFrame) -> Index:
    """(lines,) which run of its configuration each line is."""
    if "label" not in lines:
        repeat: Index = lines.groupby("row").cumcount().to_numpy()
        if doubles := int((repeat > 0).sum()):
            runs.sheet.say(
                f"{doubles} lines repeat a configuration: kept as repeats, evaluating it again draws one of them"
            )
        return repeat
    place = lines[["row", "level", "label"]]
    for again in place.index[place.duplicated()][:1]:
        before = place.index[(place == place.loc[again]).all(axis=1)][0]
        raise ValueError(
            f"{runs.sheet.where(again)}: must be another configuration than {runs.sheet.where(before)}, or a run of "
            "its own: name the column that tells the runs of one configuration apart with --repeat"
        )
    heads = lines[~lines.duplicated(["row", "label"])]
    run = lines.groupby(["row", "label"], sort=False).ngroup()
    return np.asarray(heads.groupby("row").cumcount().to_numpy()[run])


def _arrays(runs: Runs, lines: pd.DataFrame, levels: Floats, shape: tuple[int, int, int]) -> dict[str, Any]:
    """The arrays of a table with so many (rows, repeats, levels), from lines with their `row` and `repeat`."""
    values, cost = np.full((*shape, len(runs.metrics)), np.nan), np.full(shape, np.nan)
    status = np.zeros(shape[:2], np.uint8)
    row, repeat = lines["row"].to_numpy(), lines["repeat"].to_numpy()
    level, scores = np.searchsorted(levels, lines["level"]), runs.scores[lines.index]
    lost = np.isnan(scores).all(axis=1)
    if runs.schema.level is None:
        # A failure among several runs is an outcome like theirs: drawn as often, with the worst score.
        scores[lost & (np.bincount(row)[row] > 1)] = [m.worst for m in runs.metrics]
    else:
        _check_curves(runs, lines.assign(level=level, lost=lost.astype(np.float64)), levels)
    values[row, repeat, level] = scores
    cost[row, repeat, level] = lines["cost"]
    np.maximum.at(status, (row, repeat), lines["status"])
    return {"values": values, "cost": cost, "status": status}


def _check_curves(runs: Runs, lines: pd.DataFrame, levels: Floats) -> None:
    """Name the line that breaks a law of a table: gaps inside a run, costs that fall, a score after a hole."""
    now = lines.assign(line=lines.index).sort_values(["row", "repeat", "level"])
    before = now.groupby(["row", "repeat"]).shift().fillna({"level": -1, "lost": 0, "line": 0})
    laws = (
        (now.level != before.level + 1, "{0}: the run must have every {unit} before it, {missing:g} is missing"),
        (now.cost < before.cost, "{0}, column {cost}: must be the cost since the start of the run, not below {2:g}, "
         "got {3:g}"),
        (before.lost > now.lost, "{1}: must have a score, for the run goes on after it"),
    )  # fmt: skip
    for broken, text in laws:
        if broken.any():
            at = now.line[broken].idxmin()
            places = (runs.sheet.where(int(frame.line[at])) for frame in (now, before))
            names = {"unit": runs.schema.level, "cost": runs.cost_unit, "missing": levels[int(before.level[at]) + 1]}
            raise ValueError(text.format(*places, before.cost[at], now.cost[at], **names))

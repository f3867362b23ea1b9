"""Runs, one after the other, as a Table: equal configurations become repeats, checkpoints become levels."""

from __future__ import annotations

import dataclasses
import hashlib
from shlex import quote
from typing import Any

import numpy as np
import numpy.typing as npt

from hpo_envs.tables import draws
from hpo_envs.tables.table import BLOCK, Hyperparameter, Provenance, Table, searched
from hpo_envs.tables.user import infer, saved
from hpo_envs.tables.user.infer import Column
from hpo_envs.tables.user.runs import Runs, Say, repeats, rows, stored

Floats = npt.NDArray[np.float64]
Index = npt.NDArray[np.intp]

CELLS = 50_000_000
"""Largest rows x repeats x levels x metrics."""

HOLES = 5
"""At most one line in so many is left out because it lacks a number that nothing explains."""


def table_of(runs: Runs, name: str, provenance: Provenance, explain: Say) -> Table:
    """Makes the table; each decision is explained, and kept with the notes of the provenance.

    Raises:
        ValueError: Lines that contradict each other, or hyperparameters that are empty for no visible reason.
    """
    notes: list[str] = []

    def say(column: str, text: str) -> None:
        notes.append(f"{column}: {text}" if column else text)
        explain(column, text)

    space, kept = _space(runs, say)
    lines, row, first, hashes = rows(runs, np.flatnonzero(kept), [h.name for h in space], say)
    runs.twice = None  # which held all cells
    repeat = repeats(runs, lines, row, say)
    # Lines come in the order in which somebody tried them, or sorted by score: configurations are hashed, not lines.
    key = np.array([int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "big")], np.uint64)
    order = np.argsort(draws.mix_many(key, hashes), kind="stable")
    rank = np.empty(len(order), np.intp)
    rank[order] = np.arange(len(order))
    levels = np.unique(runs.level[lines]) if runs.level is not None else np.ones(1)
    shape = (len(order), int(repeat.max()) + 1, len(levels))
    if np.prod(shape, dtype=float) * len(runs.metrics) > CELLS:
        raise ValueError(
            f"rows x repeats x {runs.level_unit} x scores must be at most {CELLS}, got {shape[0]} x {shape[1]} x "
            f"{shape[2]} x {len(runs.metrics)}"
        )
    arrays, source, count = _arrays(runs, lines, rank[row], repeat, levels, shape), first[order], len(lines)
    del lines, row, first, hashes, repeat, kept, rank  # what follows is as large as the file
    unique = runs.keys is not None and shape[0] == count
    raw = np.empty((shape[0], len(space)))
    for j, h in enumerate(space):
        raw[:, j] = stored(runs, h.name, source)
        del runs.columns[h.name]
    fields = searched(space, raw)
    for array in (source, raw, fields["features"], *arrays.values()):  # a table copies what could still be written to
        array.setflags(write=False)
    keys = tuple(str(runs.keys[i]) for i in source) if unique and runs.keys else ()
    if len(set(keys)) < shape[0]:
        blocks = (order[at : at + BLOCK].tolist() for at in range(0, len(order), BLOCK))
        keys = tuple(f"row-{r}" for block in blocks for r in block)
    say("", f"{shape[0]} configurations, up to {shape[1]} run(s) each, {shape[2]} level(s), {count} lines")
    table = Table(
        name=saved.PREFIX + saved.check_name(name),
        keys=keys,
        metrics=runs.metrics,
        provenance=dataclasses.replace(provenance, notes=(*provenance.notes, *notes)),
        cost_unit=runs.cost_unit,
        levels=levels,
        level_unit=runs.level_unit,
        source_index=source,
        **fields,
        **arrays,
    )
    return saved.remember(table)


def _space(runs: Runs, say: Say) -> tuple[tuple[Hyperparameter, ...], npt.NDArray[np.bool_]]:
    """The hyperparameters, and (lines,) which lines say what they were."""
    kept = np.ones(len(runs.scores), bool)
    for name, column in list(runs.columns.items()):
        holes = np.isnan(column.values)
        different = infer.few(column.values[~holes], 1)
        if holes.all() and not column.choices:
            say(name, "empty, left out")
            del runs.columns[name]
        elif different is not None and name not in runs.fixed and (column.none is None and not holes.any()):
            say(name, f"always {column.natural(different[0])}, left out")
            del runs.columns[name]
    found: dict[str, Hyperparameter] = {}
    for name, column in list(runs.columns.items()):
        holes = np.isnan(column.values)
        others = {n: c for n, c in runs.columns.items() if n != name}
        condition = infer.condition_of(holes, others) if holes.any() else None
        note = ""
        if holes.any() and condition is None:
            column, note = _without_holes(runs, name, column, kept)
            runs.columns[name] = column
        if name in runs.fixed:
            h = runs.fixed[name]
            text = f"as defined, {infer.described(h)}"
            condition = h.condition or condition
        else:
            h, text = infer.hyperparameter(name, column, runs.log.get(name))
        found[name] = dataclasses.replace(h, condition=condition)
        say(name, text + note)
        if condition is not None:
            none = "; `none` is a missing value (--categorical makes it a choice)" if column.none is not None else ""
            say(
                name,
                f"active only while {condition[0]} is {' or '.join(map(str, condition[1]))}; else stored as 0{none}",
            )
    if not found:
        raise ValueError("hyperparameters must be at least one that varies, got none")
    names = list(found)
    late = {n for n, h in found.items() if h.condition and names.index(h.condition[0]) > names.index(n)}
    return tuple(found[n] for n in sorted(names, key=lambda n: n in late)), kept


def _without_holes(runs: Runs, name: str, column: Column, kept: npt.NDArray[np.bool_]) -> tuple[Column, str]:
    """A column that nothing explains when it is empty, and what was done: a choice `none`, or lines are left out."""
    holes, fill = np.isnan(column.values), f"--fill {quote(f'{name}=VALUE')}"
    if column.choices is not None:
        return column.with_none(), f"; where it is empty the choice is none ({fill} says better)"
    said = column.none if column.none is not None else np.zeros(len(holes), bool)
    if said.any() and infer.few(column.values[~holes], infer.CHOICES - 1) is not None:
        kept &= ~(holes & ~said)
        return column.with_none(), f"; `none` is one of the choices ({fill} makes it a number)"
    empty = np.flatnonzero(holes)
    if len(empty) * HOLES > len(holes):
        more = f" (and {len(empty) - 3} more)" if len(empty) > 3 else ""
        raise ValueError(
            f"{', '.join(runs.where(i) for i in empty[:3])}{more}, column {name}: must have a value: no choice among "
            f"the other columns explains when it is empty; say what it was there with {fill}, or leave the column out "
            f"with --drop {quote(name)}"
        )
    kept &= ~holes
    word = "`none`" if said.any() else "empty"
    lines = "1 line, which is" if len(empty) == 1 else f"{len(empty)} lines, which are"
    return column, f"; {word} in {lines} left out as nobody knows it ({fill} tells)"


def _arrays(
    runs: Runs, lines: Index, row: Index, repeat: Index, levels: Floats, shape: tuple[int, int, int]
) -> dict[str, Any]:
    values = np.full((*shape, len(runs.metrics)), np.nan)
    cost = np.full(shape, np.nan)
    status = np.zeros(shape[:2], np.uint8)
    level = np.zeros(len(lines), np.intp) if runs.level is None else np.searchsorted(levels, runs.level[lines])
    scores = runs.scores[lines]
    if runs.level is None:
        # A failure among several runs is an outcome like theirs: drawn as often, with the worst score.
        lost = np.isnan(scores).all(axis=1)
        if lost.any():
            scores[lost & (np.bincount(row)[row] > 1)] = [m.worst for m in runs.metrics]
    values[row, repeat, level] = scores
    spent = runs.cost if runs.cost is not None else runs.level
    cost[row, repeat, level] = 1.0 if spent is None else spent[lines]
    np.maximum.at(status, (row, repeat), runs.status[lines])
    if runs.level is not None:
        _check_curves(runs, lines, (row, repeat, level), levels)
    return {"values": values, "cost": cost, "status": status}


def _check_curves(runs: Runs, lines: Index, cell: tuple[Index, Index, Index], levels: Floats) -> None:
    """Names the lines that break the laws of a table: gaps inside a run, and costs that fall."""
    order = np.lexsort(cell[::-1])
    row, repeat, level = (index[order] for index in cell)
    i = lines[order]
    new = np.ones(len(i), bool)
    new[1:] = (np.diff(row) != 0) | (np.diff(repeat) != 0)
    before = np.where(new, -1, np.roll(level, 1))
    for at in _first(level != before + 1, i):
        raise ValueError(
            f"{runs.where(i[at])}: the run must have every {runs.level_unit} before it, "
            f"{levels[before[at] + 1]:g} is missing"
        )
    if runs.cost is not None:
        spent = runs.cost[i]
        for at in _first(~new & (spent < np.roll(spent, 1)), i):
            raise ValueError(
                f"{runs.where(i[at])}, column {runs.cost_unit}: must be the cost since the start of the "
                f"run, not below {spent[at - 1]:g}, got {spent[at]:g}"
            )
    scored = ~np.isnan(runs.scores[i]).all(axis=1)
    for at in _first(~new & scored & ~np.roll(scored, 1), i):
        raise ValueError(f"{runs.where(i[at - 1])}: must have a score, for the run goes on after it")


def _first(wrong: npt.NDArray[np.bool_], lines: Index) -> list[int]:
    """The index of the first line of the file that is wrong, if one is."""
    at = np.flatnonzero(wrong)
    return [int(at[np.argmin(lines[at])])] if len(at) else []

"""Runs, one after the other, as a Table: equal configurations become repeats, checkpoints become levels."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from hpo_envs.tables import draws
from hpo_envs.tables.table import Hyperparameter, Metric, Provenance, Table, searched
from hpo_envs.tables.user import infer, saved
from hpo_envs.tables.user.infer import Column

Floats = npt.NDArray[np.float64]
Index = npt.NDArray[np.intp]

CELLS = 50_000_000
"""Largest rows x repeats x levels x metrics."""

HOLES = 5
"""At most one line in so many is left out because it lacks a number that nothing explains."""


@dataclass
class Runs:
    """What was measured, one entry a line.

    Attributes:
        where: What to call a line in an error ("line 7", "trial 12").
        columns: Hyperparameter -> its values.
        scores: (lines, metrics) float64, NaN = the run failed before it had one.
        metrics: The metrics, in that order.
        cost: (lines,) what each line cost, cumulative within a run; None if nothing was recorded.
        cost_unit: Its unit.
        level: (lines,) checkpoint of each line, None if each is a whole run.
        level_unit: Its unit.
        repeat: (lines,) codes that tell runs of one configuration apart, None if nothing does.
        status: (lines,) uint8, index into `STATUSES`.
        keys: Name of each line; used where every configuration has one line.
        fixed: Hyperparameters whose definition is known; others are guessed.
        log: Hyperparameter -> whether it is logarithmic, where the user said so.
        line: All that the file says in a line; None: unknown, and equal lines count as several runs.
        duplicates: Whether lines that agree are one run; None: unless configurations are seen to be repeated.
    """

    where: Callable[[int], str]
    columns: dict[str, Column]
    scores: Floats
    metrics: tuple[Metric, ...]
    cost: Floats | None
    cost_unit: str
    level: Floats | None
    level_unit: str
    repeat: Index | None
    status: npt.NDArray[np.uint8]
    keys: Sequence[str] | None
    fixed: dict[str, Hyperparameter]
    log: dict[str, bool]
    line: Callable[[int], tuple[Any, ...]] | None = None
    duplicates: bool | None = None


Say = Callable[[str, str], None]
"""Called with a column ("" for the whole) and what was decided of it."""


def table_of(runs: Runs, name: str, provenance: Provenance, explain: Say) -> Table:
    """Makes the table; each decision is explained, and kept with the notes of the provenance.

    Raises:
        ValueError: Lines that contradict each other, or hyperparameters that are empty for no visible reason.
    """
    notes: list[str] = []

    def say(column: str, text: str) -> None:
        notes.append(f"{column}: {text}" if column else text)
        explain(column, text)

    lines = np.arange(len(runs.scores))
    space, kept = _space(runs, say)
    lines = lines[kept]
    raw = np.empty((len(lines), len(space)))
    holes = np.zeros(len(lines), np.uint64)
    for j, h in enumerate(space):
        values = runs.columns.pop(h.name).values[kept]
        empty = np.isnan(values)
        holes = draws.mix_many(holes, empty.astype(np.uint64))
        raw[:, j] = np.where(empty, 0.0, values) + 0.0
    lines, row, raw, first, hashes = _rows(runs, lines, raw, holes, say)
    repeat = _repeats(runs, lines, row, say)
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
    arrays = _arrays(runs, lines, rank[row], repeat, levels, shape)
    unique = runs.keys is not None and shape[0] == len(lines)
    source, raw = lines[first[order]], raw[first[order]]
    fields = searched(space, raw)
    for array in (raw, fields["features"]):  # a table copies what somebody could still write to
        array.setflags(write=False)
    keys = tuple(str(runs.keys[i]) for i in source) if unique and runs.keys else ()
    if len(set(keys)) < shape[0]:
        keys = tuple(f"row-{r}" for r in order.tolist())
    say("", f"{shape[0]} configurations, up to {shape[1]} run(s) each, {shape[2]} level(s), {len(lines)} lines")
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
    holes = np.isnan(column.values)
    if column.choices is not None:
        return column.with_none(), f"; where it is empty the choice is none (--fill {name}=VALUE says better)"
    said = column.none if column.none is not None else np.zeros(len(holes), bool)
    if said.any() and infer.few(column.values[~holes], infer.CHOICES - 1) is not None:
        kept &= ~(holes & ~said)
        return column.with_none(), f"; `none` is one of the choices (--fill {name}=NUMBER makes it a number)"
    empty = np.flatnonzero(holes)
    if len(empty) * HOLES > len(holes):
        more = f" (and {len(empty) - 3} more)" if len(empty) > 3 else ""
        raise ValueError(
            f"{', '.join(runs.where(i) for i in empty[:3])}{more}, column {name}: must have a value: no choice among "
            f"the other columns explains when it is empty; say what it was there with --fill {name}=VALUE, or leave "
            f"the column out with --drop {name}"
        )
    kept &= ~holes
    word = "`none`" if said.any() else "empty"
    lines = "1 line, which is" if len(empty) == 1 else f"{len(empty)} lines, which are"
    return column, f"; {word} in {lines} left out as nobody knows it (--fill {name}=VALUE tells)"


def _rows(
    runs: Runs, lines: Index, raw: Floats, holes: npt.NDArray[np.uint64], say: Say
) -> tuple[Index, Index, Floats, Index, npt.NDArray[np.uint64]]:
    """Lines without exact duplicates, the row and numbers of each, and of each row the first line and the hash."""
    hashes = holes
    for j in range(raw.shape[1]):
        hashes = draws.mix_many(hashes, raw[:, j].view(np.uint64))
    row, first = _codes(hashes)
    if any((values != values[first[row]]).any() for values in raw.T):  # two with one hash
        row, first = _codes(np.unique(raw, axis=0, return_inverse=True)[1])
    if len(first) < len(lines) and runs.line is not None:
        twice = _duplicates(runs, lines, row, say)
        if twice.any():
            lines, raw, hashes = lines[~twice], raw[~twice], hashes[~twice]
            row, first = _codes(row[~twice])
    return lines, row, raw, first, hashes[first]


def _codes(values: npt.NDArray[Any]) -> tuple[Index, Index]:
    """(n,) codes of values in the order of their first appearance, and the index of that of each code."""
    _, first, inverse = np.unique(values, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty(len(order), np.intp)
    rank[order] = np.arange(len(order))
    return rank[inverse.reshape(-1)], first[order]


def _duplicates(runs: Runs, lines: Index, row: Index, say: Say) -> npt.NDArray[np.bool_]:
    """(lines,) which repeat an earlier line in every cell and are no runs of their own."""
    assert runs.line is not None
    level = np.zeros(len(row)) if runs.level is None else runs.level[lines]
    place = draws.mix_many(row.astype(np.uint64), (level + 0.0).view(np.uint64))
    outcome = place
    for values in (*runs.scores[lines].T, *([runs.cost[lines]] if runs.cost is not None else [])):
        outcome = draws.mix_many(outcome, np.ascontiguousarray(values + 0.0).view(np.uint64))
    code, first = _codes(outcome)
    twice = np.zeros(len(lines), bool)
    seen: set[Any] = set()
    for at in np.flatnonzero(np.bincount(code)[code] > 1).tolist():
        line = runs.line(int(lines[at]))
        twice[at] = line in seen
        seen.add(line)
    differ = len(first) > len(np.unique(place))
    if not twice.any():
        return twice
    at = int(np.flatnonzero(twice)[0])
    what = f"{int(twice.sum())} line(s), the first {runs.where(lines[at])}, say what another says in every cell"
    one = not differ if runs.duplicates is None else runs.duplicates
    if not one:
        say("", f"{what}: kept as repeats, like the others of one configuration")
        return np.zeros(len(lines), bool)
    say("", f"{what}: one run each, not repeats (a column that tells runs apart says otherwise: --repeat)")
    return twice


def _repeats(runs: Runs, lines: Index, row: Index, say: Say) -> Index:
    """(lines,) which run of its configuration each line is."""
    if runs.repeat is None and runs.level is None:
        order = np.argsort(row, kind="stable")
        starts = np.flatnonzero(np.diff(row[order], prepend=-1))
        repeat = np.empty(len(row), np.intp)
        repeat[order] = np.arange(len(row)) - np.repeat(starts, np.diff(starts, append=len(row)))
        if repeat.any():
            doubles = int((repeat > 0).sum())
            say("", f"{doubles} lines repeat a configuration: kept as repeats, evaluating it again draws one of them")
        return repeat
    label = runs.repeat[lines] if runs.repeat is not None else np.zeros(len(row), np.intp)
    pair, first = _codes(row * (int(label.max()) + 1) + label)
    owner = row[first]
    order = np.argsort(owner, kind="stable")
    starts = np.flatnonzero(np.diff(owner[order], prepend=-1))
    number = np.empty(len(owner), np.intp)
    number[order] = np.arange(len(owner)) - np.repeat(starts, np.diff(starts, append=len(owner)))
    level = np.unique(runs.level[lines], return_inverse=True)[1] if runs.level is not None else np.zeros(len(row), int)
    once, at = _codes(pair * (int(level.max()) + 1) + level)
    if len(at) < len(row):
        again = int(np.setdiff1d(np.arange(len(row)), at)[0])
        raise ValueError(
            f"{runs.where(lines[again])}: must be another configuration than {runs.where(lines[at[once[again]]])}, or "
            "a run of its own: name the column that tells the runs of one configuration apart with --repeat"
        )
    return number[pair]


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
        several = np.bincount(row)[row] > 1
        scores[np.isnan(scores).all(axis=1) & several] = [m.worst for m in runs.metrics]
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

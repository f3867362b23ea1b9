"""Runs, one after the other, as a Table: equal configurations become repeats, checkpoints become levels."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hpo_envs.tables import row_order
from hpo_envs.tables.table import STATUSES, Hyperparameter, Metric, Provenance, Table, searched
from hpo_envs.tables.user import infer, saved

CELLS = 50_000_000
"""Largest rows x repeats x levels x metrics."""


@dataclass(frozen=True)
class Runs:
    """What was measured, one entry a line.

    Attributes:
        where: What to call each line in an error ("line 7", "trial 12").
        columns: Hyperparameter -> its values, None = missing.
        scores: (lines, metrics), None = the run failed before it had one.
        metrics: The metrics, in that order.
        cost: What each line cost, cumulative within a run; None if nothing was recorded.
        cost_unit: Its unit.
        level: Checkpoint of each line, None if each is a whole run.
        level_unit: Its unit.
        repeat: What tells runs of one configuration apart, None if nothing does.
        status: Index into `STATUSES` of each line.
        keys: Name of each line; used where every configuration has one line.
        fixed: Hyperparameters whose definition is known; others are guessed.
        log: Hyperparameter -> whether it is logarithmic, where the user said so.
    """

    where: list[str]
    columns: dict[str, list[Any]]
    scores: list[list[float | None]]
    metrics: tuple[Metric, ...]
    cost: list[float] | None
    cost_unit: str
    level: list[float] | None
    level_unit: str
    repeat: list[Any] | None
    status: list[int]
    keys: list[str] | None
    fixed: dict[str, Hyperparameter]
    log: dict[str, bool]


def table_of(runs: Runs, name: str, provenance: Provenance, explain: Callable[[str], None]) -> Table:
    """Makes the table; each decision is explained, and kept with the notes of the provenance.

    Raises:
        ValueError: Lines that contradict each other, or hyperparameters that are empty for no visible reason.
    """
    notes: list[str] = []

    def say(text: str) -> None:
        notes.append(text)
        explain(text)

    space = _space(runs, say)
    raw = np.array([[_raw(h, runs.columns[h.name][i]) for h in space] for i in range(len(runs.where))])
    raw = raw.reshape(len(runs.where), len(space))
    place = _places(runs, raw, say)
    rows, repeats = max(p[0] for p in place) + 1, max(p[1] for p in place) + 1
    levels = np.array(sorted(set(runs.level))) if runs.level else np.ones(1)
    if rows * repeats * len(levels) * len(runs.metrics) > CELLS:
        raise ValueError(
            f"rows x repeats x {runs.level_unit} x scores must be at most {CELLS}, got {rows} x {repeats} x "
            f"{len(levels)} x {len(runs.metrics)}"
        )
    arrays = _arrays(runs, place, (rows, repeats), levels)
    first = {p[0]: i for i, p in reversed(list(enumerate(place)))}
    order = [first[r] for r in range(rows)]
    unique = runs.keys is not None and rows == len(runs.where)
    keys = tuple(runs.keys[i] for i in order) if unique and runs.keys else tuple(f"row-{r}" for r in range(rows))
    say(f"{rows} configurations, up to {repeats} run(s) each, {len(levels)} level(s), {len(runs.where)} lines")
    table = Table(
        name=saved.PREFIX + saved.check_name(name),
        keys=keys,
        metrics=runs.metrics,
        provenance=dataclasses.replace(provenance, notes=(*provenance.notes, *notes)),
        cost_unit=runs.cost_unit,
        levels=levels,
        level_unit=runs.level_unit,
        source_index=np.array(order),
        **searched(space, raw[order]),
        **arrays,
    )
    # Lines come in the order in which somebody tried them, or sorted by score: configurations are hashed, not lines.
    return saved.remember(row_order.hashed(table, [repr(table.config(row)) for row in range(rows)]))


def _space(runs: Runs, say: Callable[[str], None]) -> tuple[Hyperparameter, ...]:
    found: dict[str, tuple[Hyperparameter, Sequence[Any]]] = {}
    for name, values in runs.columns.items():
        there = {v for v in values if v is not None}
        holes = [v is None for v in values]
        if not there:
            say(f"{name}: empty, left out")
            continue
        if len(there) == 1 and not any(holes):
            say(f"{name}: always {next(iter(there))}, left out")
            continue
        if name in runs.fixed:
            h, text = runs.fixed[name], "as the study defines it"
        else:
            h, text = infer.hyperparameter(name, values, runs.log.get(name))
        if h.kind != "categorical":
            infer.apart(name, there)
        found[name] = (h, values)
        say(f"{name}: {text}")
    for name, (h, column) in list(found.items()):
        holes = [v is None for v in column]
        if not any(holes):
            continue
        others = {n: c for n, c in found.items() if n != name}
        condition = infer.condition_of(holes, others)
        if condition is None:
            empty = [runs.where[i] for i, hole in enumerate(holes) if hole]
            more = f" (and {len(empty) - 3} more)" if len(empty) > 3 else ""
            raise ValueError(
                f"{', '.join(empty[:3])}{more}, column {name}: must have a value: no choice among the other columns "
                f"explains when it is empty; fill it in, or leave the column out with --drop {name}"
            )
        found[name] = (dataclasses.replace(h, condition=condition), column)
        say(f"{name}: active only while {condition[0]} is {' or '.join(map(str, condition[1]))}; else stored as 0")
    if not found:
        raise ValueError("hyperparameters must be at least one that varies, got none")
    return tuple(h for h, _ in found.values())


def _raw(h: Hyperparameter, value: Any) -> float:
    if value is None:
        return 0.0
    return float(h.values.index(value)) if h.kind == "categorical" else float(value)


def _places(runs: Runs, raw: Any, say: Callable[[str], None]) -> list[tuple[int, int]]:
    """(row, repeat) of each line."""
    rows: dict[Any, int] = {}
    seen: dict[Any, int] = {}
    repeats: dict[int, dict[Any, int]] = {}
    place, doubles = [], 0
    filled = [tuple(v is None for v in values) for values in zip(*runs.columns.values(), strict=True)]
    for i, where in enumerate(runs.where):
        config = (*raw[i].tolist(), filled[i])
        row = rows.setdefault(config, len(rows))
        own = repeats.setdefault(row, {})
        level = runs.level[i] if runs.level else None
        label = runs.repeat[i] if runs.repeat is not None else len(own) if runs.level is None else 0
        if (row, label, level) in seen:
            raise ValueError(
                f"{where}: must be another configuration than {runs.where[seen[row, label, level]]}, or a run of its "
                "own: name the column that tells the runs of one configuration apart with --repeat"
            )
        seen[row, label, level] = i
        doubles += runs.repeat is None and label != 0
        place.append((row, own.setdefault(label, len(own))))
    if doubles:
        say(f"{doubles} lines repeat a configuration: kept as repeats, evaluating it again draws one of them")
    return place


def _arrays(runs: Runs, place: list[tuple[int, int]], shape: tuple[int, int], levels: Any) -> dict[str, Any]:
    values = np.full((*shape, len(levels), len(runs.metrics)), np.nan)
    cost = np.full((*shape, len(levels)), np.nan)
    status = np.zeros(shape, np.uint8)
    line = np.full((*shape, len(levels)), -1)
    worst = [m.worst for m in runs.metrics]
    several = {r for r, k in place if k > 0}
    for i, (r, k) in enumerate(place):
        at = int(np.searchsorted(levels, runs.level[i])) if runs.level else 0
        scores = runs.scores[i]
        none = all(s is None for s in scores)
        # A failure among several runs is an outcome like theirs: drawn as often, with the worst score.
        fill = worst if none and (r in several) and runs.level is None else [np.nan] * len(worst)
        values[r, k, at] = [f if s is None else s for s, f in zip(scores, fill, strict=True)]
        cost[r, k, at] = 1.0 if runs.cost is None else runs.cost[i]
        if runs.cost is None and runs.level:
            cost[r, k, at] = runs.level[i]
        status[r, k] = max(status[r, k], runs.status[i])
        line[r, k, at] = i
    _check_curves(runs, line, values, cost, levels)
    return {"values": values, "cost": cost, "status": status}


def _check_curves(runs: Runs, line: Any, values: Any, cost: Any, levels: Any) -> None:
    """Names the lines that break the laws of a table: gaps inside a run, and costs that fall."""
    for r, k in zip(*np.nonzero((line >= 0).any(axis=2)), strict=True):
        there = np.flatnonzero(line[r, k] >= 0)
        gaps = np.setdiff1d(np.arange(there[-1]), there)
        if len(gaps):
            raise ValueError(
                f"{runs.where[line[r, k, there[-1]]]}: the run must have every {runs.level_unit} before it, "
                f"{levels[gaps[0]]:g} is missing"
            )
        scored = ~np.isnan(values[r, k]).all(axis=1)
        for at in there[1:]:
            if cost[r, k, at] < cost[r, k, at - 1]:
                raise ValueError(
                    f"{runs.where[line[r, k, at]]}, column {runs.cost_unit}: must be the cost since the start of the "
                    f"run, not below {cost[r, k, at - 1]:g}, got {cost[r, k, at]:g}"
                )
            if scored[at] and not scored[at - 1]:
                raise ValueError(f"{runs.where[line[r, k, at - 1]]}: must have a score, for the run goes on after it")


FAILED, DIVERGED, TRUNCATED = (STATUSES.index(s) for s in ("failed", "diverged", "truncated"))

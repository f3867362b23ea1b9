"""Assembly of a `Table` from decisions: order of rows, largest size, errors for gaps and falling costs in curves."""

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from hpo_envs.tables import draws, user
from hpo_envs.tables.table import Provenance, Table, searched
from hpo_envs.tables.user import cells
from hpo_envs.tables.user.cells import Floats, Index
from hpo_envs.tables.user.frame import Decision
from hpo_envs.tables.user.statement import Decisions

CELLS = 50_000_000
"""Largest number of cells of a table: rows x repeats x levels x metrics."""

LABELS = ("name", "licence", "citation", "explain")
"""Arguments of `build` besides the decisions."""


def build(
    found: Decisions, name: str = "mine", licence: str = "not stated", citation: str = "",
    explain: Callable[[str], None] = lambda text: None,
) -> Table:  # fmt: skip
    """Build a table from decisions, and register it under its name, see `user.remember`.

    Args:
        found: Decisions on the columns and lines.
        name: Name of the table.
        licence: Licence of the data.
        citation: Citation of the data; default: the file's name, as the user's own measurements.
        explain: Function that is called with each decision in words.

    Raises:
        ValueError: The name is invalid, there are too many cells, or a run has a gap, a falling cost or a missing score
            between checkpoints; the line is named.
    """
    lines, frame = found.lines, found.frame
    first, levels = lines.index[~lines["row"].duplicated()].to_numpy(), np.unique(lines["level"])
    shape = (len(first), int(lines["repeat"].max()) + 1, len(levels))
    unit = found.stated.level or "full training"
    if np.prod(shape, dtype=float) * len(found.metrics) > CELLS:
        got = " x ".join(map(str, (*shape, len(found.metrics))))
        raise ValueError(f"{frame.source}: rows x repeats x {unit} x scores must be at most {CELLS}, got {got}")
    size = f"{shape[0]} configurations, up to {shape[1]} run(s) each, {shape[2]} level(s), {len(lines)} lines"
    order, configs = _hashed(name, [found.values[h.name][first] for h in found.space])
    keys = [f"row-{r}" for r in order.tolist()]
    if found.names and len(lines) == len(first):
        labels = cells.each(cells.as_text(frame[found.names[0]].iloc[first[order]]), str, "").tolist()
        keys = labels if len(set(labels)) == len(keys) else keys
    try:
        arrays = _arrays(found, lines.assign(row=np.argsort(order)[lines["row"]]), levels, shape)
    except ValueError as error:
        raise ValueError(f"{frame.source}: {error}") from None
    file, digest, space = Path(frame.source).name, frame.digest, found.space
    metrics, cost_unit = found.metrics, found.cost_unit
    notes = tuple(map(str, (*found.said, Decision("file", (), size))))
    for note in notes:
        explain(note)
    arrays |= {"levels": levels, "source_index": first[order]}
    del found, frame, lines, first, order  # nobody else may have them: the features need the memory
    arrays |= searched(space, configs)
    for array in (a for a in arrays.values() if isinstance(a, np.ndarray)):
        array.setflags(write=False)  # then the table does not copy it
    cited = citation or f"{file}, the user's own measurements"
    return user.remember(
        Table(
            name=user.PREFIX + user.check_name(name), keys=tuple(keys), metrics=metrics,
            provenance=Provenance("measured", file, digest[:40], licence, cited, notes=notes), cost_unit=cost_unit,
            level_unit=unit, **arrays,
        )
    )  # fmt: skip


def _hashed(name: str, columns: list[Floats]) -> tuple[Index, Floats]:
    """Return the order of rows by hash, and (rows, d) stored numbers of the columns in that order; NaN and -0 become 0.

    The order of the lines may depend on the scores; therefore the configurations are hashed, not the lines.
    """
    hashes = np.zeros(len(columns[0]), np.uint64)
    for holes in map(np.isnan, columns):
        hashes = draws.mix_many(hashes, holes.astype(np.uint64))
    stored = np.column_stack([np.where(np.isnan(values), 0.0, values) + 0.0 for values in columns])
    for j in range(len(columns)):
        hashes = draws.mix_many(hashes, stored[:, j].copy().view(np.uint64))
    key = np.array([int.from_bytes(hashlib.sha256(str(name).encode()).digest()[:8], "big")], np.uint64)
    order = np.argsort(draws.mix_many(key, hashes), kind="stable")
    return order, stored[order]


def _arrays(found: Decisions, lines: pd.DataFrame, levels: Floats, shape: tuple[int, int, int]) -> dict[str, Any]:
    """Values, costs and statuses of a table of (rows, repeats, levels) `shape`; ValueError for faulty curves."""
    values, cost = np.full((*shape, len(found.metrics)), np.nan), np.full(shape, np.nan)
    status = np.zeros(shape[:2], np.uint8)
    row, repeat = lines["row"].to_numpy(), lines["repeat"].to_numpy()
    level, scores = np.searchsorted(levels, lines["level"]), found.scores[lines.index]
    lost = np.isnan(scores).all(axis=1)
    if found.stated.level is None:
        # A failure among several runs is an outcome like theirs: drawn as often, with the worst score.
        scores[lost & (np.bincount(row)[row] > 1)] = [m.worst for m in found.metrics]
    else:
        _check_curves(found, lines.assign(level=level, lost=lost.astype(np.float64)), levels)
    values[row, repeat, level] = scores
    cost[row, repeat, level] = lines["cost"]
    np.maximum.at(status, (row, repeat), lines["status"])
    return {"values": values, "cost": cost, "status": status}


def _check_curves(found: Decisions, lines: pd.DataFrame, levels: Floats) -> None:
    """Raise an error that names a line with a gap inside a run, a falling cost, or a score after a missing one."""
    now = lines.assign(line=lines.index).sort_values(["row", "repeat", "level"])
    before = now.groupby(["row", "repeat"]).shift().fillna({"level": -1, "lost": 0, "line": 0})
    laws = (
        (now.level != before.level + 1, "{0}: the run must have every {unit} before it, got none at {missing:g}"),
        (now.cost < before.cost, "{0}, column {cost}: must be the cost since the start of the run, not below {2:g}, "
         "got {3:g}"),
        (before.lost > now.lost, "{1}: must have a score, because the run continues after it, got none"),
    )  # fmt: skip
    for broken, text in laws:
        if broken.any():
            at = now.line[broken].idxmin()
            places = (found.frame.where(int(frame.line[at])) for frame in (now, before))
            names = {"unit": found.stated.level, "cost": found.cost_unit, "missing": levels[int(before.level[at]) + 1]}
            raise ValueError(text.format(*places, before.cost[at], now.cost[at], **names))

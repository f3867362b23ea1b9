"""A CSV file of configurations and scores as a Table: what it guesses it explains, what is wrong it finds by line."""

from __future__ import annotations

import csv
import hashlib
import io
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from hpo_envs.tables.table import Provenance, Table, nearest
from hpo_envs.tables.user import assemble, infer

Goal = Literal["max", "min"]

BYTES = 200_000_000
"""Largest file."""

SHOWN = 5
"""Errors named before the rest are counted."""


def from_csv(
    path: str | Path, score: str | Sequence[str], goal: Goal | Sequence[Goal] | None = None, **options: Any
) -> Table:
    """Makes a table of a CSV file of at most `BYTES`, see `from_text`; its name is the file's unless given."""
    path = Path(path)
    with open(path, "rb") as stream:
        content = stream.read(BYTES + 1)
    if len(content) > BYTES:
        raise ValueError(f"{path} must be at most {BYTES} bytes, got more")
    if options.get("name") is None:
        options["name"] = re.sub(r"[^A-Za-z0-9]+", "-", path.stem).strip("-")
    return from_text(content, score, goal, source=str(path), **options)


def from_frame(
    frame: Any, score: str | Sequence[str], goal: Goal | Sequence[Goal] | None = None, **options: Any
) -> Table:
    """Makes a table of a pandas DataFrame, a run a row, see `from_text`; lines are counted from 2, as in a file."""
    content = frame.to_csv(index=False).encode()
    return from_text(content, score, goal, **{"source": "DataFrame", **options})


def from_text(
    content: bytes,
    score: str | Sequence[str],
    goal: Goal | Sequence[Goal] | None = None,
    *,
    source: str = "text",
    cost: str | None = None,
    level: str | None = None,
    repeat: str | None = None,
    hyperparameters: Sequence[str] | None = None,
    drop: Iterable[str] = (),
    categorical: Iterable[str] = (),
    log: Mapping[str, bool] | None = None,
    bounds: Mapping[str, tuple[float, float]] | None = None,
    name: str = "mine",
    licence: str = "not stated",
    citation: str = "",
    explain: Callable[[str], None] = lambda text: None,
) -> Table:
    """Makes a table of CSV text: a header, then one line for each run (or for each checkpoint of a run).

    Columns are separated by commas, semicolons or tabs. What is not a score, cost, level or repeat is a
    hyperparameter; its kind, range, scale and condition are guessed from its values. An empty score is a failed run,
    `nan` and `inf` a diverged one. Lines with the same configuration are repeats. The table is known by its name
    until the process ends; `hpo_envs.tables.user.save` keeps it.

    Args:
        content: UTF-8 text.
        score: Column(s) of the metric(s); the first is rewarded.
        goal: `max` or `min`, for each; guessed from the name where it is telling.
        source: What to call the text in errors and in the provenance.
        cost: Column of what a run cost, cumulative along checkpoints; None: every evaluation costs 1.
        level: Column of the checkpoint, where a run has several lines.
        repeat: Column that tells runs of one configuration apart (a seed, a fold).
        hyperparameters: Columns to take; default: all that remain.
        drop: Columns to leave out.
        categorical: Columns of numbers that have no order.
        log: Column -> whether its scale is logarithmic.
        bounds: Score -> (lowest, highest) value by its definition.
        name: Of the table.
        licence: Of the data.
        citation: Of the data.
        explain: Called with each decision, in words.

    Raises:
        ValueError: Something is wrong with the arguments or with the file; lines and columns are named.
    """
    notes: list[str] = []

    def say(text: str) -> None:
        notes.append(text)
        explain(text)

    header, lines = _parse(source, content)
    scores = [score] if isinstance(score, str) else list(score)
    roles = [*scores, *(c for c in (cost, level, repeat) if c is not None)]
    for column in [*roles, *(hyperparameters or ()), *drop, *categorical, *(log or {}), *(bounds or {})]:
        if column not in header:
            raise ValueError(f"column must be one of {', '.join(header)}, got {column!r}{nearest(column, header)}")
    if not scores or len(set(roles)) < len(roles):
        raise ValueError(f"score, cost, level and repeat must be different columns, got {', '.join(roles) or 'none'}")
    goals = _goals(scores, goal)
    columns = {c: [line[j] for _, line in lines] for j, c in enumerate(header)}
    where = [f"line {n}" for n, _ in lines]
    errors: list[str] = []
    score_values, status = _scores(columns, scores, where, errors)
    costs = None if cost is None else _numbers(columns[cost], cost, where, errors, low=0.0)
    levels = None if level is None else _numbers(columns[level], level, where, errors)
    taken, keys = _hyperparameters(header, columns, roles, hyperparameters, set(drop), say)
    values = {c: _typed(c, columns[c], c in set(categorical), where, errors) for c in taken}
    if errors:
        more = f"; and {len(errors) - SHOWN} more" if len(errors) > SHOWN else ""
        raise ValueError(f"{source}: {'; '.join(errors[:SHOWN])}{more}")
    try:
        if level is not None:
            infer.apart(level, map(infer.number, columns[level]))
        metrics = []
        for j, (column, g) in enumerate(zip(scores, goals, strict=True)):
            there = [v for row in score_values if (v := row[j]) is not None]
            if not there:
                raise ValueError(f"column {column}: must have at least one score, got none")
            metric, text = infer.metric(column, there, g, (bounds or {}).get(column))
            say(f"{column}: {text}")
            metrics.append(metric)
        runs = assemble.Runs(
            where, values, score_values, tuple(metrics), costs, cost or (level if level else "evaluations"), levels,
            level or "full training", None if repeat is None else [c.strip() for c in columns[repeat]], status,
            keys, {}, dict(log or {}),
        )  # fmt: skip
        digest, file = hashlib.sha256(content).hexdigest(), Path(source).name
        cited = citation or f"{file}, the user's own measurements"
        provenance = Provenance("measured", file, digest[:40], licence, cited, notes=tuple(notes))
        return assemble.table_of(runs, name, provenance, explain)
    except ValueError as error:
        raise ValueError(f"{source}: {error}") from None


def _parse(source: str, content: bytes) -> tuple[list[str], list[tuple[int, list[str]]]]:
    """Header, and (number of the line, cells) of every line that is not empty."""
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(
            f"{source} must be UTF-8 text, got byte {error.object[error.start]:#x} at {error.start}"
        ) from None
    first = text.partition("\n")[0]
    delimiter = max(",;\t", key=first.count)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    lines: list[tuple[int, list[str]]] = []
    try:
        for cells in reader:
            if any(c.strip() for c in cells):
                lines.append((reader.line_num, cells))
    except csv.Error as error:
        raise ValueError(f"{source}: line {reader.line_num}: must be CSV, got {error}") from None
    if len(lines) < 2:
        raise ValueError(f"{source} must have a header and at least one line, got {len(lines)} line(s)")
    header = [c.strip() for c in lines.pop(0)[1]]
    for j, column in enumerate(header):
        if not column or column in header[:j]:
            raise ValueError(f"{source}: line 1: columns must have names, each once, got {column!r} as column {j + 1}")
    for n, cells in lines:
        if len(cells) != len(header):
            raise ValueError(f"{source}: line {n}: must have {len(header)} cells like the header, got {len(cells)}")
    return header, lines


def _goals(scores: list[str], goal: Goal | Sequence[Goal] | None) -> list[Goal]:
    given: list[Any] = [infer.goal_of(s) for s in scores] if goal is None else (
        [goal] if isinstance(goal, str) else list(goal)
    )  # fmt: skip
    if len(given) != len(scores):
        raise ValueError(f"goal must be one for each score ({len(scores)}), got {len(given)}")
    for column, g in zip(scores, given, strict=True):
        if g not in ("max", "min"):
            raise ValueError(f"goal of {column} must be max or min, got {g!r}; its name does not say which (--goal)")
    return given


def _scores(
    columns: Mapping[str, list[str]], scores: list[str], where: list[str], errors: list[str]
) -> tuple[list[list[float | None]], list[int]]:
    values: list[list[float | None]] = []
    status: list[int] = []
    for i in range(len(where)):
        row: list[float | None] = []
        state = 0
        for column in scores:
            cell = columns[column][i].strip()
            value = infer.number(cell)
            if value is None and cell.lower().lstrip("+-") in ("nan", "inf", "infinity"):
                state = max(state, assemble.DIVERGED)
            elif value is None and (infer.missing(cell) or cell.lower() == "none"):
                state = max(state, assemble.FAILED)
            elif value is None:
                errors.append(_complaint(where[i], column, cell, "a number, or empty for a failed run"))
            row.append(None if value is None else float(value))
        values.append(row)
        status.append(state)
    return values, status


def _numbers(
    cells: list[str], column: str, where: list[str], errors: list[str], low: float | None = None
) -> list[float]:
    found = []
    for i, cell in enumerate(cells):
        value = infer.number(cell)
        if value is None or (low is not None and value < low):
            errors.append(_complaint(where[i], column, cell, "a number" + ("" if low is None else f" >= {low:g}")))
        found.append(float(value or 0.0))
    return found


def _hyperparameters(
    header: list[str],
    columns: Mapping[str, list[str]],
    roles: list[str],
    chosen: Sequence[str] | None,
    ignore: set[str],
    explain: Callable[[str], None],
) -> tuple[list[str], list[str] | None]:
    """Columns that are hyperparameters, and the names of the lines if a column has them."""
    keys = None
    rest = [c for c in (header if chosen is None else chosen) if c not in roles and c not in ignore]
    taken = []
    for column in rest:
        label, cells = column.lower().strip(), [c.strip() for c in columns[column]]
        unique = len(set(cells)) == len(cells)
        if (chosen is None and unique and (label in infer.IDENTIFIERS or label.startswith("unnamed"))) or label == "":
            keys = keys or cells
            explain(f"{column}: names the runs, no hyperparameter")
        elif chosen is None and label in infer.STAMPS:
            explain(f"{column}: when, not what: left out (--hyperparameters takes it in)")
        else:
            taken.append(column)
    return taken, keys


def _typed(column: str, cells: list[str], categorical: bool, where: list[str], errors: list[str]) -> list[Any]:
    values, bad = infer.typed(cells, categorical)
    numbers = len(cells) - len(bad)
    for i in bad:
        errors.append(
            _complaint(where[i], column, cells[i], f"a number like {numbers} others (or --categorical {column})")
        )
    return values


def _complaint(where: str, column: str, cell: str, rule: str) -> str:
    shown = cell.strip()
    comma = " (decimals take a point)" if re.fullmatch(r"[+-]?\d+,\d+", shown) else ""
    return f"{where}, column {column}: must be {rule}{comma}, got {shown[:40]!r}"

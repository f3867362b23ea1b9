"""A file or frame of configurations and scores as a Table: what is guessed is explained, errors name the line."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from hpo_envs.tables.table import Provenance, Table
from hpo_envs.tables.user import assemble
from hpo_envs.tables.user import schema as schema_module
from hpo_envs.tables.user.reader import Reader
from hpo_envs.tables.user.reading import files, sheet, trackers
from hpo_envs.tables.user.reading.trackers import Reading
from hpo_envs.tables.user.schema import Schema

Goal = Literal["max", "min"]


def from_csv(
    path: str | Path,
    score: str | Sequence[str] | None = None,
    goal: Goal | Sequence[Goal] | None = None,
    *,
    max_bytes: int | None = None,
    **options: Any,
) -> Table:
    """Makes a table of a file of runs: CSV, TSV, Parquet, Arrow, JSON, JSON lines, or a folder of JSON.

    Exports of Optuna, MLflow, Weights & Biases, Ray Tune, Syne Tune and scikit-learn are recognised by their columns.
    In others, what is not a score, cost, level or repeat is a hyperparameter, unless it names the runs, is a time, a
    note or a measurement; its kind, range, scale and condition are guessed from its values. A column of mappings
    becomes a column for each key. An empty score, `OOM` or `failed` is a failed run, `nan`, `inf` or `diverged` a
    diverged one; of `86.7 ± 0.3` the value counts. Lines with the same configuration are repeats, lines that are equal
    in every cell one run. The table is known by its name until the process ends; `hpo_envs.tables.user.save` keeps it.

    Args:
        path: The file or folder.
        score: Column(s) of the metric(s), the first is rewarded; default: the tool's, or the only one called so that
            varies.
        goal: `max` or `min`, for each; guessed from the name where it is telling.
        max_bytes: Largest size of a file, unpacked; default: 2 GB, 100 MB of compressed ones.
        **options: What `Schema` has, `schema` (one, or the path of a TOML file; options go before it), `name` (of the
            table; default: the file's), `licence` and `citation` of the data, `explain` (called with each decision, in
            words).

    Raises:
        ValueError: Something is wrong with the arguments or with the file; lines and columns are named.
        OSError: The file cannot be read.
    """
    path = Path(path)
    results, known = trackers.metadata(path)
    reading = trackers.read(files.of_path(results, max_bytes))
    known = {k: v for k, v in known.items() if k != "level" or v in reading.sheet.columns}
    if options.get("name") is None:
        options["name"] = re.sub(r"[^A-Za-z0-9]+", "-", path.name.partition(".")[0]).strip("-") or "mine"
    return table_of(reading, score=score, goal=goal, known=known, **options)


def from_frame(
    frame: Any, score: str | Sequence[str] | None = None, goal: Goal | Sequence[Goal] | None = None, **options: Any
) -> Table:
    """Makes a table of a pandas DataFrame or an Arrow table, a run a row, see `from_csv`; lines are counted from 2."""
    read = sheet.of_frame(frame, options.pop("source", "DataFrame"))
    return table_of(trackers.read(read), score=score, goal=goal, **options)


def table_of(
    reading: Reading,
    *,
    known: Mapping[str, Any] | None = None,
    schema: Schema | str | Path | None = None,
    name: str = "mine",
    licence: str = "not stated",
    citation: str = "",
    explain: Callable[[str], None] = lambda text: None,
    settle: Callable[[Schema], None] = lambda schema: None,
    **options: Any,
) -> Table:
    """Makes a table of an export.

    Args:
        reading: Its columns.
        known: What stands beside the file, as fields of a `Schema`.
        schema: See `from_csv`, as all that follow but `settle`.
        name: Of the table.
        licence: Of the data.
        citation: Of the data.
        explain: Called with each decision, in words.
        settle: Called with what the columns are taken for in the end.
        **options: Fields of a `Schema`, which go before `schema`, and that before `known`.
    """
    notes: list[str] = []

    def say(columns: str | Sequence[str], text: str) -> None:
        listed = ([columns] if columns else []) if isinstance(columns, str) else columns
        notes.append(": ".join(filter(None, [", ".join(reading.names.get(c, c) for c in listed), text])))
        explain(notes[-1])

    source, digest = reading.sheet.source, reading.sheet.digest[:40]
    given = schema_module.from_file(schema) if isinstance(schema, (str, Path)) else schema or Schema()
    both = {**(known or {}), **_stated(vars(given)), **_stated(options)}
    if _stated({"score": options.get("score")}) and not _stated({"goal": options.get("goal")}):
        both.pop("goal", None)
    if reading.recipe.tool:
        say("", f"read as an export of {reading.recipe.tool}")
    try:
        reader = Reader(reading, schema_module.schema_of(both), say)
        runs = reader.runs()
        settled, file = reader.schema, Path(source).name
        cited = citation or f"{file}, the user's own measurements"
        provenance = Provenance("measured", file, digest, licence, cited, notes=tuple(notes))
        for read in (reading, reader.reading):
            read.sheet.columns.clear()  # a large file is not held beside its table
        made = assemble.table_of(runs, name, provenance, say)
    except ValueError as error:
        text = str(error)
        raise ValueError(text if text.startswith(source) else f"{source}: {text}") from None
    settle(settled)
    return made


def _stated(fields: Mapping[str, Any]) -> dict[str, Any]:
    """What is neither None nor empty."""
    return {k: v for k, v in fields.items() if v is not None and (isinstance(v, bool) or len(v))}

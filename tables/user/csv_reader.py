"""A file of configurations and scores as a Table: what it guesses it explains, what is wrong it finds by line."""

from __future__ import annotations

import dataclasses
import hashlib
import io
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa

from hpo_envs.tables.table import Provenance, Table
from hpo_envs.tables.user import assemble
from hpo_envs.tables.user.reading import exports, sheet
from hpo_envs.tables.user.reading import schema as schema_module
from hpo_envs.tables.user.reading.exports import Reading
from hpo_envs.tables.user.reading.reader import Reader
from hpo_envs.tables.user.reading.schema import Decision, Schema

Goal = Literal["max", "min"]


def from_csv(
    path: str | Path,
    score: str | Sequence[str] | None = None,
    goal: Goal | Sequence[Goal] | None = None,
    **options: Any,
) -> Table:
    """Makes a table of a file of runs: CSV, TSV, Parquet, Arrow, JSON, JSON lines, or a folder of JSON.

    Exports of Optuna, MLflow, Weights & Biases, Ray Tune, Syne Tune and scikit-learn are recognised by their columns.
    In others, what is not a score, cost, level or repeat is a hyperparameter, unless it names the runs, says when, is
    a note or was measured; its kind, range, scale and condition are guessed from its values. An empty score, `OOM` or
    `failed` is a failed run, `nan`, `inf` or `diverged` a diverged one. Lines with the same configuration are repeats,
    lines that are equal in every cell one run. The table is known by its name until the process ends;
    `hpo_envs.tables.user.save` keeps it.

    Args:
        path: The file or folder.
        score: Column(s) of the metric(s), the first is rewarded; default: the tool's, or the only one called so.
        goal: `max` or `min`, for each; guessed from the name where it is telling.
        **options: What `Schema` has, `schema` (one, or the path of a TOML file; options go before it), `name` (of the
            table; default: the file's), `licence` and `citation` of the data, `explain` (called with each decision, in
            words).

    Raises:
        ValueError: Something is wrong with the arguments or with the file; lines and columns are named.
        OSError: The file cannot be read.
    """
    path = Path(path)
    reading, known = exports.of_path(path)
    if options.get("name") is None:
        options["name"] = re.sub(r"[^A-Za-z0-9]+", "-", path.name.partition(".")[0]).strip("-") or "mine"
    return _table(reading, score, goal, known, **options)


def from_frame(
    frame: Any, score: str | Sequence[str] | None = None, goal: Goal | Sequence[Goal] | None = None, **options: Any
) -> Table:
    """Makes a table of a pandas DataFrame or an Arrow table, a run a row, see `from_csv`; lines are counted from 2."""
    source = options.pop("source", "DataFrame")
    return _table(exports.read(sheet.of_frame(frame, source)), score, goal, {}, **options)


def from_text(
    content: bytes,
    score: str | Sequence[str] | None = None,
    goal: Goal | Sequence[Goal] | None = None,
    *,
    source: str = "text",
    **options: Any,
) -> Table:
    """Makes a table of CSV text in UTF-8, see `from_csv`."""
    read = sheet.of_csv(source, io.BytesIO(content), hashlib.sha256(content).hexdigest())
    return _table(exports.read(read), score, goal, {}, **options)


def _table(
    reading: Reading,
    score: str | Sequence[str] | None,
    goal: Goal | Sequence[Goal] | None,
    known: Mapping[str, Any],
    *,
    schema: Schema | str | Path | None = None,
    name: str = "mine",
    licence: str = "not stated",
    citation: str = "",
    explain: Callable[[str], None] = lambda text: None,
    decide: Callable[[Decision], None] = lambda decision: None,
    settle: Callable[[Schema], None] = lambda schema: None,
    **options: Any,
) -> Table:
    """The table; `decide` is told each decision, and `settle` what the columns are taken for in the end."""
    decisions: list[Decision] = []

    def say(columns: str | Sequence[str], role: str, text: str) -> None:
        listed = ([columns] if columns else []) if isinstance(columns, str) else columns
        decisions.append(Decision(tuple(reading.names.get(c, c) for c in listed), role, text))
        explain(str(decisions[-1]))
        decide(decisions[-1])

    given = schema_module.from_file(schema) if isinstance(schema, (str, Path)) else schema or Schema()
    source = reading.sheet.source
    if reading.export.tool:
        say("", "note", f"read as an export of {reading.export.tool}")
    try:
        reader = Reader(reading, _merged(given, known, options | {"score": score, "goal": goal}), say)
        runs = reader.runs()
        file = Path(source).name
        provenance = Provenance(
            "measured", file, reading.sheet.digest[:40], licence, citation or f"{file}, the user's own measurements",
            notes=tuple(map(str, decisions)),
        )  # fmt: skip
        for read in (reading, reader):
            read.sheet.columns.clear()  # a large file is not held beside its table
        pa.default_memory_pool().release_unused()
        made = assemble.table_of(runs, name, provenance, lambda column, text: say(column, _role(column, text), text))
    except ValueError as error:
        text = str(error)
        raise ValueError(text if text.startswith(source) else f"{source}: {text}") from None
    settle(reader.schema)
    return made


def _role(column: str, text: str) -> str:
    left = text.endswith("left out")
    return "note" if not column else "left out" if left else "hyperparameter"


def _merged(given: Schema, known: Mapping[str, Any], options: Mapping[str, Any]) -> Schema:
    """Options go before the schema, and the schema before what stands beside the file."""
    told = {k: v for k, v in options.items() if v is not None and (isinstance(v, bool) or len(v))}
    fields = {f.name: getattr(given, f.name) for f in dataclasses.fields(Schema)}
    named = {k: v for k, v in fields.items() if v is not None and (isinstance(v, bool) or len(v))}
    both = {**known, **named, **told}
    if "score" in told and "goal" not in told:
        both.pop("goal", None)
    return schema_module.schema_of(both)

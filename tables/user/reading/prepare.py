"""Plain columns of what some tools have in mappings, durations and dates."""

from __future__ import annotations

import ast
import dataclasses
import json
import re
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hpo_envs.tables.user.reading import columns
from hpo_envs.tables.user.reading.sheet import Sheet


def seconds(cells: pa.ChunkedArray) -> Any:
    """(lines,) float64 seconds of numbers, durations, texts like `0 days 00:01:02.5`, `1.2min`, `1h 5m`; else NaN."""
    if pa.types.is_duration(cells.type):
        return np.asarray(cells.cast(pa.duration("us")).cast(pa.int64()).cast(pa.float64()).to_numpy()) / 1e6
    if pa.types.is_integer(cells.type) or pa.types.is_floating(cells.type):
        return columns.numbers("", cells)
    text = columns.texts(cells)
    values = columns.parsed(text)
    rest = np.isnan(values) & text.is_valid().to_numpy()
    if rest.any():
        import pandas as pd

        spans = pd.to_timedelta(pd.Series(text.filter(pa.array(rest)).to_pylist(), dtype=object), errors="coerce")
        values = values.copy()
        values[rest] = spans.dt.total_seconds().to_numpy()
    return values


def with_seconds(sheet: Sheet) -> Sheet:
    """MLflow has when a run started and ended, not how long it took."""
    import pandas as pd

    ends = [sheet.columns.get(name) for name in ("start_time", "end_time")]
    if any(e is None for e in ends):
        return sheet
    start, end = (pd.to_datetime(pd.Series(e.to_pylist()), errors="coerce", utc=True, format="mixed") for e in ends)  # type: ignore[union-attr]
    took = (end - start).dt.total_seconds().to_numpy()
    return dataclasses.replace(sheet, columns={**sheet.columns, "seconds": pa.chunked_array([pa.array(took)])})


def expanded(sheet: Sheet) -> Sheet:
    """Weights & Biases's interface gives summary and configuration as a mapping in a cell each."""
    added: dict[str, pa.ChunkedArray] = {}
    for column in ("config", "summary"):
        runs = [_mapping(text) for text in sheet.columns[column].to_pylist()]
        for i, run in enumerate(runs):
            if run is None:
                text = str(sheet.columns[column][i].as_py())[:40]
                raise ValueError(f"{sheet.source}: {sheet.where(i)}, column {column}: must be a mapping, got {text!r}")
        for key in dict.fromkeys(key for run in runs for key in run or ()):
            cells = [(run or {}).get(key) for run in runs]
            # Its raw form has {"value": 3, "desc": null} for 3.
            cells = [c["value"] if isinstance(c, dict) and "value" in c else c for c in cells]
            added[f"{column}.{key}"] = pa.chunked_array([[None if c is None else str(c) for c in cells]], pa.string())
    rest = {k: v for k, v in sheet.columns.items() if k not in ("config", "summary")}
    return dataclasses.replace(sheet, columns=rest | added)


def _mapping(text: Any) -> dict[str, Any] | None:
    if text is None or not str(text).strip():
        return {}
    try:
        value = json.loads(text)
    except ValueError:
        try:
            # Python writes a number that is none without quotes.
            value = ast.literal_eval(re.sub(r"(?<=[:\[,(] )(-?)(nan|inf)\b", r"'\1\2'", str(text)))
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            return None
    return value if isinstance(value, dict) else None


def of_search(sheet: Sheet) -> Sheet:
    """scikit-learn: None is in `params` only, and halving repeats a configuration with more resources."""
    new = dict(sheet.columns)
    told = sheet.columns.get("params")
    texts = [str(t) for t in told.to_pylist()] if told is not None else [""] * len(sheet)
    for name, cells in sheet.columns.items():
        text = columns.texts(cells) if name.startswith("param_") else None
        if text is not None and text.null_count and told is not None:
            says = pa.array([f"'{name[6:]}': None" in t for t in texts])
            new[name] = pc.if_else(pc.and_(says, text.is_null()), pa.scalar("none", text.type), text)
    if "n_resources" in new:
        cost = columns.parsed(columns.texts(new["mean_fit_time"])).copy()
        total: dict[str, float] = {}
        for i in np.argsort(columns.parsed(columns.texts(new["n_resources"])), kind="stable").tolist():
            cost[i] = total[texts[i]] = total.get(texts[i], 0.0) + cost[i]
        new["mean_fit_time"] = pa.chunked_array([cost])
    return dataclasses.replace(sheet, columns=new)

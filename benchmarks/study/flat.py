"""The tables `runs` and `evaluations` of a study: their columns, types and schema version.

`evaluations` has one row per evaluation; the files of a store are parts of it. `runs` has one row per run. Both are
PyArrow tables and can be joined by `environment`, `agent` and `seed`. `SCHEMA` is incremented whenever the meaning of a
column changes; `docs/studies.md` explains the columns.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from hpo_envs.benchmarks.study.block import Block
from hpo_envs.core.params import ROUNDING
from hpo_envs.families import registry
from hpo_envs.tables import Array, store
from hpo_envs.tables.table import STATUSES, Floats

SCHEMA = 1

SCHEMA_OF = {
    "environment": "string", "agent": "string", "seed": "int64", "step": "int32", "row": "int32", "level": "int32",
    "repeat": "int32", "action": "list<double>", "moves": "list<int32>", "reward": "double",
    "rewards": "list<double>", "cost": "double", "price": "double", "fidelity": "double", "status": "string",
    "regret": "double",
    "truth": "list<double>", "ask_seconds": "float", "tell_seconds": "float",
}  # fmt: skip
"""Columns of `evaluations` and the names of their PyArrow types."""

COLUMN_OF = {
    "action": "action", "reward": "reward", "cost": "cost", "row": "row", "level": "level", "repeat": "repeat",
    "move": "moves", "price": "price", "status": "status", "truth": "truth", "seconds": "ask_seconds",
}  # fmt: skip
"""Column of each array of a `Block`; several objectives are in `rewards`, and `seconds` in two columns."""

JSON = ("hyperparameters", "env_kwargs", "objectives")
"""Columns of `runs` that are header entries as JSON."""


def type_of(column: str) -> Any:
    """Return the PyArrow type of a column of `evaluations`."""
    import pyarrow as pa

    name = SCHEMA_OF[column]
    kind = pa.type_for_alias(name.removeprefix("list<").removesuffix(">"))
    return pa.list_(kind) if name.startswith("list") else kind


def evaluations(block: Block) -> Any:
    """Return the table of a block's evaluations; a `ValueError` if no column can have one of its arrays or numbers."""
    import pyarrow as pa

    total, lengths = int(block.starts[-1]), np.diff(block.starts)
    if unknown := block.arrays.keys() - {*COLUMN_OF, "recommended", "recommended_truth"}:
        raise ValueError(f"arrays of evaluations must be among {', '.join(COLUMN_OF)}, got {min(unknown)}")
    found: dict[str, Any] = {
        "environment": pa.repeat(block.header["env"], total),
        "agent": pa.repeat(block.header["agent"], total),
        "seed": pa.array(np.repeat(block.seeds, lengths)),
        "step": pa.array((np.arange(total) - np.repeat(block.starts[:-1], lengths) + 1).astype(np.int32)),
    }
    for name, column in COLUMN_OF.items():
        if name in block.arrays:
            found |= _columns(name, column, block.arrays[name])
    if "level" in block.arrays:
        found["fidelity"] = pa.array(fidelity_of(block), from_pandas=True)
    found["regret"] = pa.array(regret_of(block), from_pandas=True)
    return pa.table({c: found[c] if c in found else pa.nulls(total, type_of(c)) for c in SCHEMA_OF})


def regret_of(block: Block) -> Floats:
    """Return the (all,) column `regret` of evaluations; NaN if it is 0/0 or the scale is not known."""
    try:
        return np.where(np.repeat(block.flat | ~block.scaled, np.diff(block.starts)), np.nan, block.regret)
    except (ValueError, LookupError, TypeError):  # no scale, or columns that a replay will refuse
        return np.full(int(block.starts[-1]), np.nan)


def fidelity_of(block: Block) -> Floats:
    """Return the (all,) resource of each level in the unit of its table; NaN if table or level are not available."""
    which, level = np.repeat(block.which, np.diff(block.starts)), block.arrays["level"]
    found = np.full(len(level), np.nan)
    for k, own in enumerate(block.rest):
        header, here = {**block.header, **own}, (which == k) & (level >= 0)
        try:
            table = store.load(header["table"])
        except (ValueError, OSError):  # a user's own, or one that is not fetched
            continue
        if table.provenance.sha256 == header["sha256"]:
            here &= level < len(table.levels)  # others are false, which a replay reports
            found[here] = table.levels[level[here]]
    return found


def _columns(name: str, column: str, values: Array) -> dict[str, Any]:
    """Return the columns by name, one or two, of an array with one entry per evaluation.

    Integers that float64 cannot represent exactly raise a `ValueError`.
    """
    import pyarrow as pa

    if name == "seconds":
        parts = zip(("ask", "tell"), map(np.ascontiguousarray, values.T), strict=True)
        return {f"{part}_seconds": pa.array(column) for part, column in parts}
    if name == "status":
        return {column: pa.DictionaryArray.from_arrays(pa.array(values), pa.array(STATUSES)).cast(pa.string())}
    width = math.prod(values.shape[1:])
    column = "rewards" if name == "reward" and width != 1 else column
    kind = type_of(column)
    several = pa.types.is_list(kind)
    kept = values.ravel().astype((kind.value_type if several else kind).to_pandas_dtype())
    if values.dtype.kind in "iu" and kept.dtype.kind == "f" and (large := abs(kept) >= 2.0**53).any():
        raise ValueError(f"{name} must hold integers between -2**53 and 2**53, got {values.ravel()[large][0]}")
    offsets = np.arange(len(values) + 1, dtype=np.int32) * width
    return {column: pa.ListArray.from_arrays(pa.array(offsets), pa.array(kept)) if several else pa.array(kept)}


def runs(blocks: Iterable[Block]) -> Any:
    """Return the table `runs` of one or more blocks; a `ValueError` if there is no block."""
    return _joined(map(_runs, blocks))


def all_evaluations(blocks: Iterable[Block]) -> Any:
    """Return the table `evaluations` of one or more blocks; a `ValueError` if there is no block, see `evaluations`."""
    return _joined(map(evaluations, blocks))


def _joined(parts: Iterable[Any]) -> Any:
    import pyarrow as pa

    if not (some := [*parts]):
        raise ValueError("runs must not be empty, got none")
    return pa.concat_tables(some).replace_schema_metadata({"hpo_envs": _json({"schema": SCHEMA})})


def _runs(block: Block) -> Any:
    import pyarrow as pa

    once = [{**block.header, **own} for own in block.rest]

    def texts(of: Any) -> Any:
        values = [of(h) for h in once]
        return pa.array([values[k] for k in block.which.tolist()], pa.string())

    def total(values: Array) -> Array:
        sums = np.add.reduceat(np.append(values, 0.0), block.starts[:-1])
        return np.where(np.diff(block.starts), sums, 0.0)

    costs, undefined = total(block.arrays["cost"]), block.flat | ~block.scaled
    seconds = block.arrays.get("seconds")
    ask, tell = (pa.nulls(len(block), pa.float64()) if seconds is None else total(seconds[:, j]) for j in (0, 1))
    budgets, shares = (np.array([float(h.get(k, 1.0)) for h in once])[block.which] for k in ("budget", "subsample"))
    spent = costs >= budgets * (1 - ROUNDING)
    return pa.table({
        **{name: texts(lambda h, key=key: h[key]) for name, key in (("environment", "env"), ("agent", "agent"))},
        "seed": pa.array(block.seeds), "group": texts(lambda h: registry.group_of(h["env"])),
        **{name: texts(lambda h, name=name: h[name]) for name in ("table", "kind", "sha256")},
        "algorithm": texts(lambda h: h.get("algorithm", h["agent"])),
        **{name: texts(lambda h, name=name: _json(h[name])) for name in JSON},
        "budget": pa.array(budgets), "unit": texts(lambda h: h["cost_unit"]),
        "subsample": pa.array(shares),
        "transfer": texts(lambda h: h.get("transfer", {}).get("distribution", "")),
        "evaluations": pa.array(np.diff(block.starts)), "spent": pa.array(costs),
        "mean_regret": pa.array(np.where(undefined, np.nan, block.mean), from_pandas=True),
        "final_regret": pa.array(np.where(undefined, np.nan, block.final), from_pandas=True),
        "recommendation": pa.array([_json(r) for r in block.arrays["recommended"].tolist()]),
        "ask_seconds": ask, "tell_seconds": tell,
        "status": pa.array(np.where(spent, "budget spent", "ended before").tolist()),
        "versions": texts(lambda h: _json({**h["versions"], **h.get("agent_versions", {})})),
        "commit": texts(lambda h: h.get("suite", {}).get("commit", "")),
    })  # fmt: skip


def _json(value: Any) -> str:
    return json.dumps(value, sort_keys=True)

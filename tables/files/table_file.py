"""A table of the user's own as the bytes of a file.

It is believed only if its content has the hash written with it and obeys every law of a Table.
"""

from __future__ import annotations

import dataclasses
import hashlib
import io
import json
import math
import zipfile
from typing import Any

import numpy as np

from hpo_envs.tables.table import Hyperparameter, Metric, Provenance, Table

FORMAT = 4
"""Version of the files written here."""

_DIGEST = hashlib.sha256().digest_size

_ARRAYS = ("values", "cost", "configs", "features", "levels", "status", "source_index")
_RAGGED = ("values", "cost")
_DAMAGE = (TypeError, KeyError, AttributeError, IndexError, OverflowError, RecursionError, zipfile.BadZipFile)


def pack(table: Table) -> bytes:
    """A table as the SHA-256 of an `.npz` file without pickled objects, 32 bytes, and that file."""
    head = {
        "format": FORMAT,
        "fields": {f: getattr(table, f) for f in ("name", "keys", "feature_names", "cost_unit", "level_unit")},
        "metrics": [dataclasses.asdict(m) for m in table.metrics],
        "space": [dataclasses.asdict(h) for h in table.space],
        "provenance": dataclasses.asdict(table.provenance),
    }
    arrays = {a: getattr(table, a) for a in _ARRAYS}
    arrays["head"] = np.frombuffer(json.dumps(head).encode(), dtype=np.uint8)
    for name in _RAGGED:
        # Many runs are shorter, or have fewer repeats, than the array has room for.
        known = ~np.isnan(arrays[name])
        arrays |= {f"{name}_known": np.packbits(known), f"{name}_shape": np.array(known.shape)}
        arrays[name] = arrays[name][known]
    stream = io.BytesIO()
    np.savez(stream, **arrays)
    content = stream.getvalue()
    return hashlib.sha256(content).digest() + content


def unpack(content: bytes) -> Table:
    """Reads what `pack` wrote.

    Raises:
        ValueError: Another format, a hash that does not fit the content, or a broken law.
    """
    if hashlib.sha256(content[_DIGEST:]).digest() != content[:_DIGEST]:
        raise ValueError("a saved table must have the bytes that were written")
    try:
        return _unpack(content[_DIGEST:])
    except _DAMAGE as error:
        raise ValueError(f"a saved table must have the form of `pack`, got {type(error).__name__}: {error}") from None


def _unpack(content: bytes) -> Table:
    with np.load(io.BytesIO(content), allow_pickle=False) as data:
        head = json.loads(data["head"].tobytes())
        arrays = {a: data[a] for a in _ARRAYS}
        for name in _RAGGED:
            shape, bits = data[f"{name}_shape"].tolist(), data[f"{name}_known"]
            # Before anything of that size is made: a bit for each entry is there.
            if min(shape, default=0) < 0 or math.prod(shape) > 8 * len(bits):
                raise ValueError(f"{name} must have a bit for each entry of shape {shape}, got {8 * len(bits)}")
            atomic = np.full(tuple(shape), np.nan)
            known = np.unpackbits(bits, count=atomic.size).view(bool)
            atomic.ravel()[known] = arrays[name]
            arrays[name] = atomic
    if head["format"] != FORMAT:
        raise ValueError(f"format must be {FORMAT}, got {head['format']}")
    if len(head["provenance"]["sha256"]) != 64:
        raise ValueError("a saved table must carry the hash of its content")
    fields: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in head["fields"].items()}
    return Table(
        metrics=tuple(Metric(**m) for m in head["metrics"]),
        space=tuple(_hyperparameter(h) for h in head["space"]),
        provenance=Provenance(**{**head["provenance"], "notes": tuple(head["provenance"]["notes"])}),
        **fields,
        **arrays,
    )


def _hyperparameter(data: dict[str, Any]) -> Hyperparameter:
    parent = data["condition"]
    condition = None if parent is None else (parent[0], tuple(parent[1]))
    return Hyperparameter(**{**data, "values": tuple(data["values"]), "condition": condition})

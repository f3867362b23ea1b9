"""Packs: exact arrays of upstream's results that ship, compressed (LZMA, byte planes); and any table as a file.

A pack is an `.npz` file whose members are compressed with LZMA, which `numpy.load` reads. Members are named `NAME`, or
`GROUP/NAME` in a pack of several groups of arrays, such as tables. An array with several bytes per number may be stored
as byte planes, `NAME:f8`: first all lowest bytes, then the next. Decimal fractions may be stored as integers
(`scaled`). `read` checks the sha256 of a pack, pinned in `tables/catalogue/packs.csv`, before it parses the file.
"""

import dataclasses
import hashlib
import io
import json
import lzma
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from hpo_envs.tables import Array as Array
from hpo_envs.tables import catalogue
from hpo_envs.tables.files import unpacked
from hpo_envs.tables.files.folder import CorruptFile
from hpo_envs.tables.table import Hyperparameter, Metric, Provenance, Table

FOLDER = Path(__file__).parent.parent / "datasets"
"""Folder of the packs, which are named by their path below it."""

_RAW = [{"id": lzma.FILTER_LZMA1, "preset": 9 | lzma.PRESET_EXTREME}]


def to_bytes(arrays: Mapping[str, Array]) -> bytes:
    """Return the content of a pack of arrays (numbers, fixed-width strings) by name; equal arrays give equal bytes."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_LZMA) as archive:
        for name in sorted(arrays):
            forms = _forms(name, arrays[name])
            member = min(forms, key=lambda form: len(lzma.compress(forms[form], lzma.FORMAT_RAW, filters=_RAW)))
            entry = zipfile.ZipInfo(f"{member}.npy", (1980, 1, 1, 0, 0, 0))
            entry.create_system, entry.external_attr = 3, 0o644 << 16  # not the machine's
            archive.writestr(entry, forms[member], zipfile.ZIP_LZMA)
    return stream.getvalue()


def from_bytes(content: bytes, group: str = "") -> dict[str, Array]:
    """Return the arrays of a pack by member name, or those of one group by their names in it."""
    start = f"{group}/" if group else ""
    arrays = {}
    with np.load(io.BytesIO(content), allow_pickle=False) as data:
        for member in data.files:
            if member.startswith(start):
                name, _, dtype = member.removeprefix(start).partition(":")
                arrays[name] = _joined(data[member], dtype) if dtype else data[member]
    return arrays


def read(pack: str, group: str = "") -> dict[str, Array]:
    """Return the arrays of a pack, by its path below `tables/datasets`; CorruptFile if it is missing or has changed."""
    pinned = catalogue.pins()[pack]
    try:
        content = (FOLDER / pack).read_bytes()
    except OSError as error:
        raise CorruptFile(f"{pack} must ship with hpo_envs, got {error.strerror}. Install hpo_envs again.") from None
    digest = hashlib.sha256(content).hexdigest()
    if digest != pinned:
        raise CorruptFile(f"{pack} must have sha256 {pinned}, got {digest}. Install hpo_envs again.")
    return from_bytes(content, group)


def scaled(values: npt.ArrayLike, digits: npt.ArrayLike = 0) -> Array:
    """Return integers k, in the smallest type, such that `k / 10**digits` equals finite values exactly.

    Values and digits are broadcast.

    Raises:
        ValueError: A value is not finite or has more decimals, or its integer reaches +-2**53.
    """
    array, most = np.asarray(values, np.float64), np.asarray(digits)
    whole = np.rint(array * 10.0**most)
    different = unscaled(whole, digits) != array
    if different.any() or not (np.abs(whole) < 2**53).all():
        raise ValueError(f"values must have at most {most.tolist()} decimals, got {array[different][:1].tolist()}")
    return smallest(whole.astype(np.int64))


def unscaled(whole: Array, digits: npt.ArrayLike = 0) -> npt.NDArray[np.float64]:
    """Return the float64 numbers that `scaled` converted to integers, given the same `digits`."""
    return whole / 10.0 ** np.asarray(digits)


def smallest(whole: Array) -> Array:
    """Convert integers to the smallest type that can represent them: unsigned if none is negative; up to int64."""
    low, high = int(whole.min(initial=0)), int(whole.max(initial=0))
    kinds = (np.uint8, np.uint16, np.uint32) if low >= 0 else (np.int8, np.int16, np.int32)
    fits = [kind for kind in kinds if np.iinfo(kind).min <= low and high <= np.iinfo(kind).max]
    return whole.astype(fits[0] if fits else np.int64)


def _forms(name: str, array: Array) -> dict[str, bytes]:
    """Content of `.npy` files of an array, by member name: plain and, if a number has several bytes, as byte planes."""
    array = np.asarray(array, array.dtype.newbyteorder("<"), order="C")
    forms = {name: array}
    if array.dtype.kind in "iuf" and array.dtype.itemsize > 1 and array.ndim:
        planes = np.moveaxis(array.view(np.uint8).reshape(*array.shape, array.dtype.itemsize), -1, 0)
        forms[f"{name}:{array.dtype.str[1:]}"] = np.ascontiguousarray(planes)
    return {member: _file(form) for member, form in forms.items()}


def _file(array: Array) -> bytes:
    stream = io.BytesIO()
    np.lib.format.write_array(stream, array, (1, 0), allow_pickle=False)
    return stream.getvalue()


def _joined(planes: Array, dtype: str) -> Array:
    return np.ascontiguousarray(np.moveaxis(planes, 0, -1)).view(f"<{dtype}")[..., 0]


FORMAT = 5
"""Version of the files that `pack` writes."""

_DIGEST = hashlib.sha256().digest_size

_ARRAYS = ("values", "cost", "configs", "features", "levels", "status", "source_index")
_DAMAGE = (LookupError, TypeError, AttributeError, OverflowError, RecursionError, MemoryError)


def pack(table: Table) -> bytes:
    """Return a table as bytes: the SHA-256 (32 bytes) of an `.npz` file without pickled objects, then the file."""
    head = {
        "format": FORMAT,
        "fields": {f: getattr(table, f) for f in ("name", "keys", "feature_names", "cost_unit", "level_unit")},
        "metrics": [dataclasses.asdict(m) for m in table.metrics],
        "space": [dataclasses.asdict(h) for h in table.space],
        "provenance": dataclasses.asdict(table.provenance),
    }
    arrays = {a: getattr(table, a) for a in _ARRAYS}
    arrays["head"] = np.frombuffer(json.dumps(head).encode(), dtype=np.uint8)
    stream = io.BytesIO()
    np.savez(stream, **arrays)
    content = stream.getvalue()
    return hashlib.sha256(content).digest() + content


def unpack(content: bytes) -> Table:
    """Read a table written by `pack`.

    Raises:
        ValueError: The format has another version, the hash does not match the content, or the table is not valid.
    """
    if hashlib.sha256(content[_DIGEST:]).digest() != content[:_DIGEST]:
        raise ValueError("a saved table must match its hash, got changed or damaged bytes")
    try:
        return _unpack(content[_DIGEST:])
    except _DAMAGE as error:
        raise ValueError(f"a saved table must have the form of `pack`, got {type(error).__name__}: {error}") from None


def _unpack(content: bytes) -> Table:
    data = unpacked.arrays(content, len(content))  # `pack` does not compress
    head = json.loads(data["head"].tobytes())
    if head["format"] != FORMAT:
        raise ValueError(f"format must be {FORMAT}, got {head['format']}")
    if len(head["provenance"]["sha256"]) != 64:
        raise ValueError("a saved table must have the sha256 of its content, got none")
    fields: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in head["fields"].items()}
    return Table(
        metrics=tuple(Metric(**m) for m in head["metrics"]),
        space=tuple(_hyperparameter(h) for h in head["space"]),
        provenance=Provenance(**{**head["provenance"], "notes": tuple(head["provenance"]["notes"])}),
        **fields,
        **{a: data[a] for a in _ARRAYS},
    )


def _hyperparameter(data: dict[str, Any]) -> Hyperparameter:
    given = data["condition"]
    condition = None if given is None else tuple(tuple(c) if isinstance(c, list) else c for c in given)
    return Hyperparameter(**{**data, "values": tuple(data["values"]), "condition": condition})

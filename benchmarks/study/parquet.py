"""The format of a part, which is a Parquet file with runs of one agent on one id: encoding and decoding.

The file is the table `evaluations` of `hpo_envs.benchmarks.study.flat`. Its metadata is JSON: the shared header, types
and shapes of the arrays, and, compressed, what has one entry per run: seeds, numbers of evaluations, remainders of
headers, scales and recommendations.
"""

import base64
import hashlib
import json
import math
import re
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from hpo_envs.benchmarks.study import flat
from hpo_envs.benchmarks.study.block import ONCE, Block
from hpo_envs.tables import Array
from hpo_envs.tables.checks import regular
from hpo_envs.tables.files import unpacked
from hpo_envs.tables.table import STATUSES

META = b"hpo_envs"

SMALL, RATIO = 2**22, 8
"""Limits of the runs in the metadata, uncompressed: this many bytes, or this many times the file's, if that is more."""

DAMAGE = (ValueError, TypeError, LookupError, AttributeError, OverflowError, RecursionError, OSError, MemoryError)
"""Errors raised by reading damaged or forged files."""


def encode(block: Block) -> bytes:
    """Return the bytes of a part, equal for equal runs and seconds; errors are those of `flat.evaluations`."""
    runs = {
        "seeds": block.seeds.tolist(), "evaluations": np.diff(block.starts).tolist(), "rest": block.rest,
        "which": block.which.tolist(), "scales": block.scales,
        **{name: block.arrays[name].ravel().tolist() for name in ONCE if name in block.arrays},
    }  # fmt: skip
    packed = base64.b85encode(zlib.compress(json.dumps(runs, sort_keys=True).encode())).decode()
    meta = {"schema": flat.SCHEMA, "header": block.header, "layout": block.layout, "runs": packed}
    return bytes_of(flat.evaluations(block).replace_schema_metadata({META: json.dumps(meta, sort_keys=True)}))


def bytes_of(table: Any) -> bytes:
    """Return a PyArrow table as the bytes of a Parquet file."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    sink = pa.BufferOutputStream()
    # Dictionaries only where values repeat: scores do not.
    texts = [field.name for field in table.schema if not pa.types.is_floating(field.type)]
    pq.write_table(table, sink, compression="zstd", use_dictionary=texts, write_statistics=False)
    return bytes(sink.getvalue().to_pybytes())


def name_of(prefix: str, seeds: npt.NDArray[np.int64], data: bytes) -> str:
    """Return the file name of a part: prefix, lowest and highest seed, and the sha256 of all its bytes."""
    return f"{prefix}-{seeds.min()}-{seeds.max()}-{hashlib.sha256(data).hexdigest()}.parquet"


ENDING = r"([0-9a-f]{64})\.parquet"
SHARD_NAME = re.compile(rf"(.+)-(\d+)-(\d+)-{ENDING}")


def decode(path: Path) -> Block:
    """Read a part; raise a `ValueError` if its bytes have changed, or it is not a part in this version's format."""
    match = SHARD_NAME.fullmatch(path.name)
    if match is None:
        raise ValueError(
            f"{path} must have a name with a sha256, got a file of an older version: delete its folder, or repeat the "
            "runs in another one"
        )
    data = regular(path).read_bytes()
    if hashlib.sha256(data).hexdigest() != match[4]:
        raise ValueError(f"{path} must have the sha256 in its name, got a changed or damaged file: delete it")
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        file = pq.ParquetFile(pa.BufferReader(data), read_dictionary=["status"])  # which could be one very long text
        if (size := unpacked.parquet_size(file.metadata)) > (most := unpacked.limit_of(path)):
            raise ValueError(unpacked.TOO_LARGE.format("the file", most, " unpacked", size))
        columns = ("step", "rewards", "tell_seconds", *flat.COLUMN_OF.values())  # the others follow from these
        kinds = {name: flat.type_of(name) for name in columns}
        kinds["status"] = pa.dictionary(pa.int32(), pa.string())
        if wrong := [name for name, kind in kinds.items() if file.schema_arrow.field(name).type != kind]:
            raise ValueError(f"{wrong[0]} of another type")
        table = file.read([*kinds], use_threads=False)
        meta = json.loads(table.schema.metadata[META])
        if meta.get("schema") != flat.SCHEMA:
            raise ValueError(f"schema {meta.get('schema', 0)!r}, not {flat.SCHEMA}: repeat its runs in another folder")
        return _block(table.combine_chunks(), meta, max(SMALL, RATIO * len(data)))
    except (*DAMAGE, zlib.error, pa.ArrowException) as error:
        raise ValueError(f"{path} must be a file of runs written by this version of hpo_envs, got {error}") from None


def regret_of(path: Path) -> Array:
    """Return the (all,) column `regret` of a part, which `decode` omits because it follows from other columns."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    file = pq.ParquetFile(pa.BufferReader(regular(path).read_bytes()))
    return np.asarray(file.read(["regret"], use_threads=False)["regret"].to_numpy())


def _ints(values: Any, low: int, high: int) -> npt.NDArray[np.int64]:
    if not all(type(v) is int and low <= v < high for v in values):
        raise ValueError(f"numbers outside {low} to {high - 1}")
    return np.array(values, np.int64)


def _block(table: Any, meta: Mapping[str, Any], most: int) -> Block:
    header, unpacker = meta["header"], zlib.decompressobj()
    if not isinstance(header, dict) or not all(isinstance(header.get(key), str) for key in ("env", "agent")):
        raise ValueError(f"the header {header!r:.80}")
    text = unpacker.decompress(base64.b85decode(meta["runs"]), most)
    if not unpacker.eof:
        raise ValueError(f"runs of more than {most} bytes")
    runs: dict[str, Any] = json.loads(text)
    seeds = _ints(runs["seeds"], 0, 2**63)
    which = _ints(runs["which"], 0, len(runs["rest"])).astype(np.intp)
    starts = np.concatenate([[0], np.cumsum(_ints(runs["evaluations"], 0, 2**31))]).astype(np.int64)
    steps = np.arange(starts[-1]) - np.repeat(starts[:-1], np.diff(starts)) + 1 if starts[-1] == len(table) else ()
    scales = runs["scales"]
    sizes = {len(seeds), len(which), len(starts) - 1, len(seeds if scales is None else scales)}
    if len(sizes) > 1 or not len(seeds) or not np.array_equal(_plain(table["step"]), steps):
        raise ValueError("evaluations that do not match its runs")
    if not all(isinstance(own, dict) and isinstance(own.get("table"), str) for own in runs["rest"]):
        raise ValueError("runs without a table")
    if not all(isinstance(scale, str) for scale in scales or ()):
        raise ValueError("scales that are not JSON")
    arrays: dict[str, Array] = {}
    for name, dtype, shape in meta["layout"]:
        entry = tuple(int(k) for k in shape)
        if name in ONCE:
            values = np.array(runs[name], np.dtype(dtype) if np.dtype(dtype).kind in "iu" else float)
        else:
            values = _values(table, name, math.prod(entry))
        count = len(seeds) if name in ONCE else int(starts[-1])
        arrays[name] = np.ascontiguousarray(values).reshape(count, *entry).astype(np.dtype(dtype), copy=False)
    if lacking := {"action", "reward", "cost", "recommended"} - arrays.keys():
        raise ValueError(f"no {' and no '.join(sorted(lacking))}")
    return Block(header, seeds, runs["rest"], which, scales, starts, arrays)


def _values(table: Any, name: str, width: int) -> Array:
    """Return the numbers of an array, `width` per evaluation, from its columns."""
    import pyarrow as pa
    import pyarrow.compute as pc

    column = "rewards" if name == "reward" and width != 1 else flat.COLUMN_OF[name]
    if name == "seconds":
        return np.stack([_plain(table[f"{part}_seconds"]) for part in ("ask", "tell")], axis=1)
    if name == "status":
        status = _whole(table[column])
        return _numbers(pc.index_in(status.dictionary, pa.array(STATUSES)).take(status.indices))
    if pa.types.is_list(flat.type_of(column)):
        lists = _whole(table[column])
        if lists.null_count or not np.array_equal(np.diff(_numbers(lists.offsets)), np.full(len(lists), width)):
            raise ValueError(f"{name} that are not {width} numbers each")
        return _numbers(lists.flatten())
    return _plain(table[column])


def _whole(column: Any) -> Any:
    """Return a chunked column as one Arrow array."""
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def _numbers(array: Any) -> Array:
    """Convert an Arrow array to NumPy without pandas, which `to_numpy` imports."""
    if array.null_count:
        raise ValueError("missing numbers")
    return np.from_dlpack(array)


def _plain(column: Any) -> Array:
    return _numbers(_whole(column))

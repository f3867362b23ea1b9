"""The format of a part: runs of one agent on one id as the bytes of a Parquet file, and back.

One row per run. Columns: `seed`, `table`, `kind`, `sha256` (of the table), `evaluations` (their number); lists with one
entry an evaluation: `action_0`, ... (one column a component), `reward_0`, ... (one an objective), `cost`, and whatever
is known of the evaluations (`Run.evaluated`: `row`, `level`, `repeat`, `status`, `truth_0`, ...); then `recommended_0`,
... and `recommended_truth_0`, .... What all runs share, the header above all, is in the file's metadata, once;
what else differs in headers is JSON, in `header` and `scale`.
"""

import hashlib
import json
import math
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from hpo_envs.benchmarks.study.block import ONCE, RUN_COLUMNS, Block
from hpo_envs.tables import Array
from hpo_envs.tables.checks import regular

PARQUET_FORMAT = 2
"""Raised whenever files of before can no longer be read."""

META = b"hpo_envs"

DAMAGE = (ValueError, TypeError, LookupError, AttributeError, OverflowError, RecursionError, OSError, MemoryError)
"""Errors of files that are damaged or lie."""


def encode(block: Block) -> bytes:
    """The bytes of a part; the same runs give the same bytes."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    layout = block.layout
    rest = [{k: v for k, v in own.items() if k not in RUN_COLUMNS} for own in block.rest]
    which = block.which.tolist()
    columns: dict[str, Any] = {
        "seed": pa.array(block.seeds),
        **{name: pa.array([block.rest[k][name] for k in which]) for name in RUN_COLUMNS[1:]},
        "evaluations": pa.array(np.diff(block.starts), pa.int64()),
    }
    if any(rest):
        texts = [json.dumps(own, sort_keys=True) for own in rest]
        columns["header"] = pa.array([texts[k] for k in which])
    if block.scales is not None:
        columns["scale"] = pa.array([None if text == "null" else text for text in block.scales])
    ends = pa.array(block.starts.astype(np.int32))
    for name, _, shape in layout:
        values = _components(name, block.arrays[name], shape)
        if name in ONCE:
            columns |= {k: pa.array(v) for k, v in values}
        else:
            columns |= {k: pa.ListArray.from_arrays(ends, pa.array(v)) for k, v in values}
    meta = {"format": PARQUET_FORMAT, "header": block.header, "layout": layout}
    table = pa.table(columns).replace_schema_metadata({META: json.dumps(meta, sort_keys=True)})
    sink = pa.BufferOutputStream()
    # Dictionaries only where values repeat: scores do not.
    pq.write_table(table, sink, compression="zstd", use_dictionary=["table", "kind", "sha256"], write_statistics=False)
    return bytes(sink.getvalue().to_pybytes())


def _components(name: str, values: Array, shape: tuple[int, ...]) -> list[tuple[str, Array]]:
    """Columns of (n, *shape) values: one without a number if an entry is a scalar called otherwise than its column."""
    if name in SCALARS and not shape:
        return [(name, values)]
    flat = values.reshape(len(values), math.prod(shape))
    return [(f"{name}_{j}", np.ascontiguousarray(flat[:, j])) for j in range(flat.shape[1])]


SCALARS = ("cost", "row", "level", "repeat", "status")
"""Columns with one value per evaluation."""


def name_of(prefix: str, seeds: npt.NDArray[np.int64], data: bytes) -> str:
    """The file name of a part: first and last seed, and the sha256 of all its bytes."""
    return f"{prefix}-{seeds.min()}-{seeds.max()}-{hashlib.sha256(data).hexdigest()}.parquet"


ENDING = r"([0-9a-f]{64})\.parquet"
SHARD_NAME = re.compile(rf"(.+)-(\d+)-(\d+)-{ENDING}")


def decode(path: Path) -> Block:
    """Read a part.

    Raises:
        ValueError: Not the bytes that were written, not such a part, or one of an earlier version.
        OSError: The disk refuses.
    """
    match = SHARD_NAME.fullmatch(path.name)
    if match is None:
        raise ValueError(
            f"{path} was written by a version of hpo_envs whose files cannot be verified: delete its folder, or make "
            "the runs again in another one"
        )
    data = regular(path).read_bytes()
    if hashlib.sha256(data).hexdigest() != match[4]:
        raise ValueError(f"{path} must have the sha256 in its name: the file has been changed or damaged, delete it")
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        table = pq.ParquetFile(pa.BufferReader(data)).read(use_threads=False)
        meta = json.loads(table.schema.metadata[META])
        if meta["format"] != PARQUET_FORMAT:
            raise ValueError(f"format {meta['format']!r}")
        return _block(table.combine_chunks(), meta)
    except (*DAMAGE, pa.ArrowException) as error:
        raise ValueError(f"{path} must be a file of runs that hpo_envs wrote, got {error}") from None


HEADERS = [*RUN_COLUMNS, "header"]
"""Columns of what is a run's alone, but for its scale; the last is there only where needed."""


def _shared(meta: Mapping[str, Any]) -> dict[str, Any]:
    header = meta["header"]
    if not isinstance(header, dict) or not all(isinstance(header.get(key), str) for key in ("env", "agent")):
        raise ValueError(f"the header {header!r:.80}")
    return header


def _seeds(table: Any) -> npt.NDArray[np.int64]:
    seeds = _plain(table["seed"])
    if seeds.dtype != np.int64 or not len(seeds):
        raise ValueError(f"{len(seeds)} seeds of {seeds.dtype}")
    return seeds


def _rest(table: Any) -> tuple[list[dict[str, Any]], npt.NDArray[np.intp]]:
    """`Block.rest` and `Block.which`."""
    names = [name for name in HEADERS[1:] if name in table.column_names]
    code = np.zeros(len(table), np.intp)
    for name in names:
        column = _whole(table[name]).dictionary_encode("encode")
        code = np.unique(code * len(column.dictionary) + _numbers(column.indices), return_inverse=True)[1]
    _, first, which = np.unique(code, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rest = [{name: table[name][i].as_py() for name in names} for i in first[order].tolist()]
    for own in rest:
        own.update(json.loads(own.pop("header", "{}")))
    return rest, np.argsort(order)[which]


def _block(table: Any, meta: Mapping[str, Any]) -> Block:
    header, seeds, rest, which = _shared(meta), _seeds(table), *_rest(table)
    scales = ["null" if s is None else s for s in table["scale"].to_pylist()] if "scale" in table.column_names else None
    starts = np.concatenate([[0], np.cumsum(_plain(table["evaluations"]))]).astype(np.int64)
    if (np.diff(starts) < 0).any():
        raise ValueError("runs with fewer than no evaluations")
    arrays: dict[str, Array] = {}
    for name, dtype, shape in meta["layout"]:
        entry = tuple(int(k) for k in shape)
        once = name in ONCE
        columns = [name] if name in SCALARS and not entry else [f"{name}_{j}" for j in range(math.prod(entry))]
        count = len(seeds) if once else int(starts[-1])
        flat = [_plain(table[c]) if once else _flat(table[c], starts) for c in columns]
        joined = np.stack(flat, axis=1) if flat else np.empty((count, 0))
        if joined.shape != (count, math.prod(entry)):
            raise ValueError(f"{name} of shape {joined.shape}")
        arrays[name] = np.ascontiguousarray(joined).reshape(count, *entry).astype(np.dtype(dtype), copy=False)
    if lacking := {"action", "reward", "cost", "recommended"} - arrays.keys():
        raise ValueError(f"no {' and no '.join(sorted(lacking))}")
    return Block(header, seeds, rest, which, scales, starts, arrays)


def _whole(column: Any) -> Any:
    """A chunked column as one array."""
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def _numbers(array: Any) -> Array:
    """Convert without pandas, which `to_numpy` imports."""
    return array.to_numpy(zero_copy_only=False) if array.type == "bool" else np.from_dlpack(array)


def _plain(column: Any) -> Array:
    return _numbers(_whole(column))


def _flat(column: Any, starts: npt.NDArray[np.int64]) -> Array:
    """All entries of a column of lists, which must be as long as the runs are."""
    lists = _whole(column)
    ends = _numbers(lists.offsets)
    if not np.array_equal(ends - ends[0], starts):
        raise ValueError("lists that are not as long as their runs")
    return _numbers(lists.values)[ends[0] : ends[-1]]

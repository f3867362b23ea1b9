"""The format of a part: runs as the bytes of a Parquet file, and how such a file comes to be on the disk."""

from __future__ import annotations

import functools
import itertools
import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from hpo_envs.benchmarks.runs import Run
from hpo_envs.tables.files import atomic


def publish(data: bytes, path: Path, alone: bool) -> None:
    """Writes a file so that it is there as a whole, on the disk, or not at all."""
    if alone:  # only holders of the lock write, so what lies here was left by one that was killed
        atomic.sweep(path.parent, age=-math.inf)
    atomic.write(path, data)


def encode(runs: Sequence[Run]) -> bytes:
    """The bytes of a part; the same runs give the same bytes."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    headers = [r.header for r in runs]
    columns: dict[str, Any] = {
        **{name: [h[name] for h in headers] for name in ("env", "agent")},
        "seed": pa.array([r.seed for r in runs], pa.int64()),
        **{name: [h[name] for h in headers] for name in ("table", "kind", "sha256")},
        "evaluations": pa.array([len(r) for r in runs], pa.int64()),
        "actions": _nested([_components(r.actions, "actions") for r in runs]),
        "rewards": _nested([_components(r.rewards, "rewards") for r in runs]),
        "costs": _lists([r.costs for r in runs]),
        "recommended": _lists([_components(np.asarray(r.recommended)[None], "recommended").ravel() for r in runs]),
        "header": [json.dumps(h, sort_keys=True) for h in headers],
        "layout": [_layout(r) for r in runs],
    }
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table(columns), sink, compression="zstd")
    return bytes(sink.getvalue().to_pybytes())


def _layout(run: Run) -> str:
    """Type of each array and shape of one entry of it, as JSON."""
    last = np.asarray(run.recommended)
    return _json(run.actions.dtype, run.actions.shape[1:], run.rewards.shape[1:], last.dtype, last.shape)


@functools.cache
def _json(
    actions: np.dtype[Any],
    action: tuple[int, ...],
    reward: tuple[int, ...],
    recommended: np.dtype[Any],
    last: tuple[int, ...],
) -> str:
    shapes = {
        "actions": [str(actions), action],
        "rewards": ["float64", reward],
        "recommended": [str(recommended), last],
    }
    return json.dumps(shapes, sort_keys=True)


def _components(array: npt.NDArray[Any], name: str) -> npt.NDArray[np.float64]:
    """(k, ...) numbers as (components, k) float64."""
    kind, size = array.dtype.kind, array.dtype.itemsize
    exact = kind == "b" or (kind == "f" and size <= 8) or (kind in "iu" and size <= 4)
    if kind in "iu" and not exact:  # past 2**53 not every integer has a float64
        exact = not array.size or -(2**53) <= int(array.min()) <= int(array.max()) <= 2**53
    if not exact:
        raise ValueError(f"{name} must be numbers that a float64 holds exactly, got an array of {array.dtype}")
    wide = array.reshape(len(array), math.prod(array.shape[1:])).T
    return wide.astype(np.float64, copy=False)


def _lists(arrays: Sequence[npt.NDArray[np.float64]]) -> Any:
    import pyarrow as pa

    ends = np.cumsum([0, *map(len, arrays)]).astype(np.int32)
    return pa.ListArray.from_arrays(pa.array(ends), pa.array(np.concatenate([np.empty(0), *arrays])))


def _nested(arrays: Sequence[npt.NDArray[np.float64]]) -> Any:
    import pyarrow as pa

    inner = _lists([row for array in arrays for row in array])
    return pa.ListArray.from_arrays(pa.array(np.cumsum([0, *map(len, arrays)]).astype(np.int32)), inner)


def load(path: Path, columns: list[str]) -> Any:
    """The columns of a part as one chunk each.

    Raises:
        ValueError: Not such a part.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    with open(path, "rb") as stream:
        try:
            return pq.ParquetFile(stream, pre_buffer=False).read(columns=columns, use_threads=False).combine_chunks()
        except (pa.ArrowException, KeyError, ValueError, OSError) as error:  # OSError: pyarrow's for damaged pages
            raise ValueError(f"{path} must be a file of runs that hpo_envs wrote, got {error}") from None


def decode(path: Path) -> list[Run]:
    """The runs of a part.

    Raises:
        ValueError: Not such a part.
    """
    table = load(path, ["seed", "actions", "rewards", "costs", "recommended", "header", "layout"])
    try:
        return _runs(table)
    except KeyError as error:
        raise ValueError(f"{path} must be a file of runs that hpo_envs wrote, got none of the column {error}") from None
    except (ValueError, TypeError, AttributeError, IndexError, OverflowError, RecursionError) as error:
        raise ValueError(f"{path} must be a file of runs that hpo_envs wrote, got {error}") from None


def _runs(table: Any) -> list[Run]:
    headers = [json.loads(h) for h in table["header"].to_pylist()]
    layouts = [json.loads(h) for h in table["layout"].to_pylist()]
    actions, rewards = _unnested(table["actions"]), _unnested(table["rewards"])
    costs, recommended = _unlisted(table["costs"]), _unlisted(table["recommended"])
    runs = []
    for i, (seed, header, layout) in enumerate(zip(table["seed"].to_pylist(), headers, layouts, strict=True)):
        if not isinstance(header, dict) or not all(isinstance(header.get(key), str) for key in ("env", "agent")):
            raise ValueError(f"the header {header!r:.80} of seed {seed}")
        dtype, shape = layout["recommended"]
        last = recommended[i].astype(dtype).reshape(shape)[()]
        k = len(costs[i])
        arrays = [_entries(a[i], k, *layout[n]) for a, n in ((actions, "actions"), (rewards, "rewards"))]
        runs.append(Run(seed, arrays[0], arrays[1], costs[i], last, header))
    return runs


def _entries(flat: npt.NDArray[np.float64], k: int, dtype: str, shape: list[int]) -> npt.NDArray[Any]:
    """(components * k,) numbers as (k, *shape)."""
    return np.ascontiguousarray(flat.reshape(-1, k).T if k else flat).reshape(k, *shape).astype(dtype)


def _unlisted(column: Any) -> list[npt.NDArray[np.float64]]:
    lists = column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)
    ends = lists.offsets.to_numpy()
    return np.split(lists.values.to_numpy()[ends[0] : ends[-1]].copy(), (ends - ends[0])[1:-1])


def _unnested(column: Any) -> list[npt.NDArray[np.float64]]:
    outer = column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)
    ends = outer.values.offsets.to_numpy()[outer.offsets.to_numpy()]
    values = outer.values.values.to_numpy()
    return [values[a:b] for a, b in itertools.pairwise(ends)]

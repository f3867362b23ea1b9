"""Info dictionaries of batched environments: (n, ...) arrays, each with a `_key` mask of who reported it."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Info = dict[str, Any]


def scatter(value: Any, index: npt.NDArray[np.intp], n: int) -> Any:
    """Spreads (k, ...) values to (n, ...), zeros elsewhere."""
    if isinstance(value, dict):
        return {k: scatter(v, index, n) for k, v in value.items()}
    if len(index) == n:
        return value
    whole = np.full((n, *value.shape[1:]), nothing(value), dtype=value.dtype)
    whole[index] = value
    return whole


def merge(info: Info, new: Info, index: npt.NDArray[np.intp]) -> None:
    """Adds the info of the environments at `index` to a batched info, with masks."""
    for key, value in new.items():
        if key.startswith("_"):
            continue
        if key in info:
            assign(info[key], value, index)
            mask = info["_" + key].copy()
        else:
            info[key] = value
            first = value
            while isinstance(first, dict):
                first = next(iter(first.values()))
            mask = np.zeros(len(first), bool)
        mask[index] = True
        info["_" + key] = mask


def assign(target: Any, value: Any, index: npt.NDArray[np.intp]) -> None:
    """Copies the entries at `index` from one nested batched value to another."""
    if isinstance(target, dict):
        for k in target:
            assign(target[k], value[k], index)
    else:
        target[index] = value[index]


def blank(value: Any, index: npt.NDArray[np.intp]) -> None:
    """Zeroes (None for objects) the entries of environments that reported nothing."""
    if isinstance(value, dict):
        for v in value.values():
            blank(v, index)
    else:
        value[index] = nothing(value)


def nothing(value: npt.NDArray[Any]) -> Any:
    """What an info array holds where nothing was reported."""
    return {"O": None, "U": ""}.get(value.dtype.kind, 0)


def copy_info(value: Any) -> Any:
    """A deep copy of a nested batched value."""
    return {k: copy_info(v) for k, v in value.items()} if isinstance(value, dict) else value.copy()

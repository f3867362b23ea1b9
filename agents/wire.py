"""Messages between a run loop and agents in another process: JSON, and arrays as their bytes. Nothing is pickled.

A message is a mark, the length of its JSON, the length of its arrays, and both. In the JSON an array is
`{"$array": [dtype, shape, offset]}` and bytes are `{"$bytes": [length, offset]}`.
"""

from __future__ import annotations

import json
import math
import re
import struct
from typing import Any

import numpy as np

HEAD = struct.Struct("<4sQQ")
"""Mark, bytes of JSON, bytes of arrays."""

_MARK = b"hpo1"
_DTYPE = re.compile(r"[<>|=]([?biuf][1248]|U[1-9][0-9]{0,5})")


def encode(message: Any) -> bytes:
    """A message of dicts, lists, strings, numbers, bytes and arrays of numbers or strings.

    Raises:
        TypeError: Something else is in it.
        ValueError: It has a number that JSON has no room for, or contains itself.
    """
    blobs: list[bytes] = []
    size = 0

    def add(data: bytes) -> int:
        nonlocal size
        blobs.append(data)
        size += len(data)
        return size - len(data)

    def other(value: Any) -> dict[str, Any]:
        if isinstance(value, bytes):
            return {"$bytes": [len(value), add(value)]}
        if type(value) is np.ndarray or isinstance(value, np.generic):
            array = np.asarray(value)
            if _DTYPE.fullmatch(array.dtype.str):
                return {"$array": [array.dtype.str, list(array.shape), add(array.tobytes())]}
        raise TypeError(f"a message must be of JSON, bytes and arrays of numbers, got {type(value).__qualname__}")

    text = json.dumps(message, default=other).encode()
    return b"".join([HEAD.pack(_MARK, len(text), size), text, *blobs])


def lengths(head: bytes, most: int | None = None) -> tuple[int, int]:
    """Bytes of JSON and of arrays that follow a head.

    Args:
        head: `HEAD.size` bytes.
        most: How many may follow; default: any number.

    Raises:
        ValueError: It is no head, or more bytes would follow.
    """
    mark, text, arrays = HEAD.unpack(head)
    if mark != _MARK:
        raise ValueError(f"a message must begin with {_MARK!r}, got {head!r}")
    if most is not None and text + arrays > most:
        raise ValueError(f"a message must have at most {most} bytes, got {text + arrays}")
    return text, arrays


def decode(text: bytes, arrays: bytes) -> Any:
    """The message of what followed a head; arrays may be written to.

    Raises:
        ValueError: It is no message.
    """

    def hook(data: dict[str, Any]) -> Any:
        if "$array" in data:
            dtype, shape, offset = data["$array"]
            if not _DTYPE.fullmatch(dtype):
                raise ValueError(f"dtype must be one of numbers or strings, got {dtype!r}")
            count = math.prod(shape)
            if min(shape, default=0) < 0:
                raise ValueError(f"shape must be ints >= 0, got {shape}")
            found = np.frombuffer(arrays, dtype, count, offset) if count else np.empty(0, dtype)
            return found.reshape(shape).copy()
        if "$bytes" in data:
            length, offset = data["$bytes"]
            return arrays[offset : offset + length]
        return data

    try:
        return json.loads(text, object_hook=hook)
    except (ValueError, TypeError, RecursionError, OverflowError, MemoryError) as error:
        raise ValueError(f"a message must be JSON and arrays as described, got {text[:80]!r} ({error})") from None

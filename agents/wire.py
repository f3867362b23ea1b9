"""Messages between a run and isolated agents: JSON, and arrays as bytes. Nothing is pickled.

A message consists of a head (`HEAD`), its JSON, and the data of its arrays and bytes. In the JSON an array is
`{"$array": [dtype, shape, offset]}` and bytes are `{"$bytes": [length, offset]}`; spaces and grammars are encoded, too.
"""

import importlib
import json
import math
import re
import struct
from collections.abc import Callable
from typing import Any

import numpy as np
from gymnasium import Space, spaces

HEAD = struct.Struct("<4sQQ")
"""Head of a message: its mark, the number of bytes of JSON, and that of arrays and bytes objects."""

_MARK = b"hpo1"
_DTYPE = re.compile(r"[<>|=]([?biuf][1248]|U[1-9][0-9]{0,5})")


def encode(message: Any) -> bytes:
    """Encode JSON data, which may contain bytes and arrays of numbers or strings, as a message.

    Raises:
        TypeError: The message contains an object of another type.
        ValueError: The message contains itself, or an integer of more than 4,300 digits.
    """
    blobs = bytearray()

    def add(data: bytes) -> int:
        blobs.extend(data)
        return len(blobs) - len(data)

    def other(value: Any) -> dict[str, Any]:
        if isinstance(value, bytes):
            return {"$bytes": [len(value), add(value)]}
        if type(value) is np.ndarray or isinstance(value, np.generic):
            array = np.asarray(value)
            if _DTYPE.fullmatch(array.dtype.str):
                return {"$array": [array.dtype.str, list(array.shape), add(array.tobytes())]}
        raise TypeError(f"a message must be of JSON, bytes and arrays of numbers, got {type(value).__qualname__}")

    text = json.dumps(message, default=other).encode()
    return HEAD.pack(_MARK, len(text), len(blobs)) + text + blobs


def lengths(head: bytes, most: int | None = None) -> tuple[int, int]:
    """Return the number of bytes of JSON, and that of arrays and bytes objects, that follow a head.

    Raises:
        ValueError: `head` is not a head of `HEAD.size` bytes, or announces more than `most` bytes in all.
    """
    if len(head) != HEAD.size or not head.startswith(_MARK):
        raise ValueError(f"a message must begin with {_MARK!r} and two lengths, got {head!r}")
    _, text, arrays = HEAD.unpack(head)
    if most is not None and text + arrays > most:
        raise ValueError(f"a message must have at most {most} bytes, got {text + arrays}")
    return text, arrays


def decode(text: bytes, arrays: bytes) -> Any:
    """Decode the JSON of a message and the bytes of its arrays; decoded arrays are writable.

    Raises:
        ValueError: The bytes are not a valid message.
    """
    left = len(arrays)

    def take(length: int) -> None:  # lest a short message become long by using its bytes again and again
        nonlocal left
        left -= length
        if left < 0:
            raise ValueError(f"arrays and bytes must not overlap, got more than {len(arrays)} bytes")

    def hook(data: dict[str, Any]) -> Any:
        if "$array" in data:
            dtype, shape, offset = data["$array"]
            if not _DTYPE.fullmatch(dtype):
                raise ValueError(f"dtype must be numeric or a string dtype, got {dtype!r}")
            count = math.prod(shape)
            if min(shape, default=0) < 0:
                raise ValueError(f"shape must be ints >= 0, got {shape}")
            found = np.frombuffer(arrays, dtype, count, offset) if count else np.empty(0, dtype)
            take(found.nbytes)
            return found.reshape(shape).copy()
        if "$bytes" in data:
            length, offset = data["$bytes"]
            if not 0 <= offset <= offset + length <= len(arrays):
                raise ValueError(f"bytes must lie within the {len(arrays)} of the message, got {data}")
            take(length)
            return arrays[offset : offset + length]
        return data

    try:
        return json.loads(text, object_hook=hook)
    except (ValueError, TypeError, RecursionError, OverflowError, MemoryError) as error:
        raise ValueError(f"a message must be JSON and arrays as described, got {text[:80]!r} ({error})") from None


TRUSTED = "hpo_envs"
"""Package whose functions may be a problem's grammar; a message cannot name functions of any other."""

SPACES = {"Discrete": ("n", "start"), "MultiDiscrete": ("nvec", "start"), "Box": ("low", "high")}
"""Kinds of spaces that can be encoded, and their arguments besides `dtype`."""


def encode_space(space: Space[Any]) -> dict[str, Any]:
    """Encode a space as JSON data.

    Raises:
        ValueError: The space is not a `Discrete`, `MultiDiscrete` or `Box`.
    """
    kind = next((made.__name__ for made in type(space).__mro__ if made.__name__ in SPACES), None)
    if kind is None:
        raise ValueError(f"action_space must be a {', '.join(SPACES)} to be encoded, got {space}")
    return {"kind": kind, "dtype": str(space.dtype)} | {n: np.asarray(getattr(space, n)).tolist() for n in SPACES[kind]}


MALFORMED = (LookupError, TypeError, AttributeError, AssertionError, SyntaxError, OverflowError, SystemError)
"""Errors, besides `ValueError`, that NumPy and Gymnasium raise on data that are not those of an encoded object."""


def decode_space(data: dict[str, Any]) -> Space[Any]:
    """Decode a space that `encode_space` encoded.

    Raises:
        ValueError: The data are not those of a space of `SPACES`.
    """
    try:
        kind, dtype = data["kind"], np.dtype(data["dtype"])
        if kind == "Discrete":
            return spaces.Discrete(data["n"], start=data["start"])
        arguments = {name: np.array(data[name], dtype) for name in SPACES[kind]}
        made: Space[Any] = getattr(spaces, kind)(**arguments, dtype=dtype.type)
    except MALFORMED as error:
        raise ValueError(f"space must be an encoded {', '.join(SPACES)}, got {data!r} ({error!r})") from None
    return made


def encode_function(function: Callable[..., Any]) -> str:
    """Encode a function of a module as `module:name`.

    Raises:
        ValueError: The function cannot be imported by its name.
    """
    module, name = function.__module__, getattr(function, "__qualname__", "")
    if getattr(importlib.import_module(module), name, None) is not function:
        raise ValueError(f"mutate must be a function of a module to be encoded, got {module}:{name or function}")
    return f"{module}:{name}"


def decode_function(name: str) -> Callable[..., Any]:
    """Return the function that `module:name` names.

    Raises:
        ValueError: The name is not that of a function in the package `TRUSTED`.
    """
    module, _, attribute = name.partition(":")
    if module.split(".")[0] != TRUSTED:
        raise ValueError(f"mutate must be a function of the package {TRUSTED}, got {name!r}")
    try:
        function = getattr(importlib.import_module(module), attribute, None)
    except ImportError:
        function = None
    if not callable(function):
        raise ValueError(f"mutate must name a function, got {name!r}")
    return function  # type: ignore[no-any-return]

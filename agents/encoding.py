"""Action spaces and grammars as plain data: a `Problem` crosses a pipe or a cluster without pickle."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np
from gymnasium import Space, spaces

TRUSTED = "hpo_envs"
"""Package whose functions a problem may name as its grammar: a name that came over a wire imports nothing else."""


def encode_space(space: Space[Any]) -> dict[str, Any]:
    """A space as JSON data.

    Raises:
        ValueError: Not a `Discrete`, `MultiDiscrete`, `Box`, `Tuple` or `Dict`.
    """
    data: dict[str, Any] = {"kind": type(space).__name__}
    if isinstance(space, spaces.Discrete):
        return data | {"n": int(space.n), "start": int(space.start)}
    if isinstance(space, spaces.MultiDiscrete):
        return data | {"nvec": space.nvec.tolist(), "start": space.start.tolist(), "dtype": str(space.dtype)}
    if isinstance(space, spaces.Box):
        return data | {"low": space.low.tolist(), "high": space.high.tolist(), "dtype": str(space.dtype)}
    if isinstance(space, spaces.Tuple):
        return data | {"spaces": [encode_space(s) for s in space.spaces]}
    if isinstance(space, spaces.Dict):
        return data | {"spaces": [[name, encode_space(s)] for name, s in space.spaces.items()]}
    raise ValueError(f"action_space must be a Discrete, MultiDiscrete, Box, Tuple or Dict to be encoded, got {space}")


def decode_space(data: dict[str, Any]) -> Space[Any]:
    """The space that `encode_space` made data of.

    Raises:
        ValueError: Another kind of space.
    """
    kind = data["kind"]
    if kind == "Discrete":
        return spaces.Discrete(data["n"], start=data["start"])
    if kind == "MultiDiscrete":
        return spaces.MultiDiscrete(data["nvec"], dtype=np.dtype(data["dtype"]).type, start=data["start"])
    if kind == "Box":
        dtype = np.dtype(data["dtype"])
        return spaces.Box(np.array(data["low"], dtype), np.array(data["high"], dtype), dtype=dtype.type)
    if kind == "Tuple":
        return spaces.Tuple([decode_space(s) for s in data["spaces"]])
    if kind == "Dict":
        return spaces.Dict([(name, decode_space(s)) for name, s in data["spaces"]])
    raise ValueError(f"kind must be Discrete, MultiDiscrete, Box, Tuple or Dict, got {kind!r}")


def encode_function(function: Callable[..., Any]) -> str:
    """`module:name` of a module-level function.

    Raises:
        ValueError: It cannot be imported by that name.
    """
    module, name = function.__module__, getattr(function, "__qualname__", "")
    if getattr(importlib.import_module(module), name, None) is not function:
        raise ValueError(f"mutate must be a function of a module to be encoded, got {module}:{name or function}")
    return f"{module}:{name}"


def decode_function(name: str) -> Callable[..., Any]:
    """The function of a name.

    Raises:
        ValueError: It is of another package than `TRUSTED`, or no function.
    """
    module, _, attribute = name.partition(":")
    if module.split(".")[0] != TRUSTED:
        raise ValueError(f"mutate must be a function of the package {TRUSTED}, got {name!r}")
    function = getattr(importlib.import_module(module), attribute, None)
    if not callable(function):
        raise ValueError(f"mutate must name a function, got {name!r}")
    return function  # type: ignore[no-any-return]

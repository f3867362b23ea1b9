"""Action spaces and grammars as plain data: a `Problem` crosses a pipe or a cluster without pickle."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np
from gymnasium import Space, spaces

TRUSTED = "hpo_envs"
"""Package whose functions a problem may name as its grammar: a name that came over a wire imports nothing else."""


SPACES = {"Discrete": ("n", "start"), "MultiDiscrete": ("nvec", "start"), "Box": ("low", "high")}
"""Kinds of spaces, and the arguments that make one."""


def encode_space(space: Space[Any]) -> dict[str, Any]:
    """A space as JSON data.

    Raises:
        ValueError: Not a `Discrete`, `MultiDiscrete` or `Box`.
    """
    kind = type(space).__name__
    if kind not in SPACES:
        raise ValueError(f"action_space must be a {', '.join(SPACES)} to be encoded, got {space}")
    return {"kind": kind, "dtype": str(space.dtype)} | {n: np.asarray(getattr(space, n)).tolist() for n in SPACES[kind]}


def decode_space(data: dict[str, Any]) -> Space[Any]:
    """The space that `encode_space` made data of.

    Raises:
        ValueError: Another kind of space.
    """
    if (kind := data["kind"]) not in SPACES:
        raise ValueError(f"kind must be one of {', '.join(SPACES)}, got {kind!r}")
    if kind == "Discrete":
        return spaces.Discrete(data["n"], start=data["start"])
    dtype = np.dtype(data["dtype"])
    made: Space[Any] = getattr(spaces, kind)(
        **{name: np.array(data[name], dtype) for name in SPACES[kind]}, dtype=dtype.type
    )
    return made


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

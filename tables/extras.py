"""Packages that come with an extra only, and loops that one of them, Numba, compiles (`pip install "hpo_envs[fast]"`).

What takes dozens of NumPy's functions a step has a second form: a module of plain loops, imported with Numba when it is
first needed, since that takes longer than a few steps. Such loops consist of the operations whose results IEEE 754
fixes, in the order of NumPy's form, and are compiled without reordering or fusing any, so both forms have the same
bits. `HPO_ENVS_COMPILED=0` leaves NumPy's form in place.
"""

from __future__ import annotations

import functools
import importlib
import os
from collections.abc import Callable
from typing import Any


def module(name: str, extra: str, what: str) -> Any:
    """Imports a module of such a package.

    Args:
        name: Of the module.
        extra: That brings it.
        what: For the message: what needs it, in the plural.

    Raises:
        ModuleNotFoundError: It is not installed; the message says how to install it.
    """
    try:
        importlib.import_module(name.partition(".")[0])  # a module of it may be there from before
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        message = f'{what} need {error.name}: pip install "hpo_envs[{extra}]"'
        raise ModuleNotFoundError(message, name=error.name) from None


@functools.cache
def _numba() -> Any:
    """Numba, or None where it is not installed, cannot be loaded or is not wanted."""
    if os.environ.get("HPO_ENVS_COMPILED") == "0":
        return None
    try:
        return importlib.import_module("numba")
    except ImportError:  # also its own, where it does not support this version of NumPy
        return None


@functools.cache
def loops(module: str) -> Any:
    """The module of loops by its name, or None where nothing compiles them."""
    return None if _numba() is None else importlib.import_module(module)


def jit(function: Callable[..., Any]) -> Any:
    """Compiles a function at its first call; without Numba it stays Python's, which tests compare with NumPy's form.

    What was compiled is kept beside the source, or in Numba's own cache where that may not be written, until the
    function's own file changes: whoever edits what it calls, or a constant of another file, deletes that cache.
    """
    if (numba := _numba()) is None:
        return function
    try:
        return numba.njit(cache=True, error_model="numpy")(function)
    except RuntimeError:  # no folder that can be written
        return numba.njit(error_model="numpy")(function)

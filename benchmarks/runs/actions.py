"""What agents hand over is checked strictly, and kept as a copy of the loop's own.

Gymnasium's spaces convert where they can (1.99 to 1, True to 1); a benchmark must not: what is recorded is what was
asked for, or it is refused.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gymnasium as gym
import numpy as np

from hpo_envs.checks import shown
from hpo_envs.core.params import is_integer

Checker = Callable[[Any], Any]
"""Takes an action; returns it as an int or as a new array, or raises a ValueError that says what it must be."""


def checker(space: gym.Space[Any]) -> Checker:
    """How actions of a space are checked.

    Args:
        space: `Discrete`, `MultiDiscrete`, `MultiBinary` or `Box`.

    Raises:
        ValueError: A space of another kind.
    """
    if isinstance(space, gym.spaces.Discrete):
        return _discrete(int(space.start), int(space.start + space.n))
    if isinstance(space, gym.spaces.MultiDiscrete):
        return _integers(np.asarray(space.start), np.asarray(space.start + space.nvec))
    if isinstance(space, gym.spaces.MultiBinary):
        shape = space.shape
        return _integers(np.zeros(shape, np.int64), np.full(shape, 2))
    if isinstance(space, gym.spaces.Box):
        return _box(space)
    raise ValueError(f"action_space must be Discrete, MultiDiscrete, MultiBinary or Box, got {space}")


def recommendation(check: Checker, value: Any, several: bool) -> Any:
    """Checks what an agent recommends.

    Args:
        check: Of the action space.
        value: What `recommend` returned.
        several: Whether a candidate takes several actions, so that all of them, one after the other, will do, too.

    Raises:
        ValueError: Neither an action nor several.
    """
    if several and isinstance(value, np.ndarray) and value.ndim and len(value):
        try:
            return np.stack([np.asarray(check(v)) for v in value])
        except ValueError:
            pass
    return check(value)


def _discrete(low: int, high: int) -> Checker:
    def check(value: Any) -> int:
        if type(value) is int:
            row = value
        elif is_integer(value) or (isinstance(value, np.ndarray) and value.shape == () and value.dtype.kind in "iu"):
            row = int(value)
        else:
            raise ValueError(f"must be an int in [{low}, {high}), got {shown(value)}")
        if not low <= row < high:
            raise ValueError(f"must be an int in [{low}, {high}), got {row}")
        return row

    return check


def _integers(low: np.ndarray[Any, Any], high: np.ndarray[Any, Any]) -> Checker:
    shape = low.shape

    def check(value: Any) -> Any:
        array = _array(value)
        if array is None or array.shape != shape or array.dtype.kind not in "iu":
            raise ValueError(f"must be ints of shape {shape}, got {shown(value)}")
        if ((array < low) | (array >= high)).any():
            raise ValueError(f"must be ints >= {low.tolist()} and below {high.tolist()}, got {array.tolist()}")
        return array

    return check


def _box(space: gym.spaces.Box) -> Checker:
    low, high, shape = space.low, space.high, space.shape

    def check(value: Any) -> Any:
        array = _array(value)
        if array is None or array.shape != shape or array.dtype.kind not in "fiu":
            raise ValueError(f"must be numbers of shape {shape}, got {shown(value)}")
        if not ((array >= low) & (array <= high)).all():  # NaN is neither
            raise ValueError(f"must be numbers within the bounds of the space, got {shown(array)}")
        return array

    return check


def _array(value: Any) -> Any:
    """A new array of a number or of nested lists of numbers, or None."""
    if isinstance(value, np.ma.MaskedArray) or isinstance(value, (str, bytes)) or value is None:
        return None
    try:
        array = np.array(value)
    except Exception:  # ragged lists, and whatever `__array__` raises
        return None
    return None if array.dtype == object else array

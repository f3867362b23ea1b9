"""Actions in a box, taken as Gymnasium's own environments take them: what lies beyond a bound is set to the bound."""

from typing import Any

import numpy as np
import numpy.typing as npt

from hpo_envs.core.params import Floats, array_of
from hpo_envs.tables.checks import shown


def clip(actions: Any, shape: tuple[int, ...], argument: str) -> tuple[Floats, npt.NDArray[np.bool_]]:
    """Actions as float64 in [-1, 1].

    Args:
        actions: What was given.
        shape: What it must have, the numbers of one action last.
        argument: Its name, for the message.

    Returns:
        The actions, and for each, without the last axis, whether a number lay outside.

    Raises:
        ValueError: No numbers of that shape, or a NaN among them.
    """
    given = array_of(actions)
    array = given.astype(np.float64) if given.dtype.kind in "fiub" else np.empty(0)
    # A NaN fails both comparisons.
    inside = np.asarray(((array >= -1.0) & (array <= 1.0)).all(axis=-1))
    if array.shape == shape and inside.all():
        return array, ~inside
    if array.shape != shape or np.isnan(array).any():
        raise ValueError(f"{argument} must be numbers of shape {shape}, none of them NaN, got {shown(actions)}")
    return array.clip(-1.0, 1.0), ~inside

"""Encoding of the search space: points of a cube to configurations, and back."""

import functools
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from hpo_envs.tables import Ints, exact
from hpo_envs.tables.checks import one_of
from hpo_envs.tables.datasets.charhpo import ARCHITECTURES, WARMUP_STEP, hyperparameters
from hpo_envs.tables.table import Floats, Hyperparameter
from hpo_envs.tables.user import points

WARMUPS = 50_000
"""Values of `warmup_samples` (Table 2)."""

RATE, SCHEDULER, WARMUP = 1, 5, 6
"""Columns of hyperparameters that are not like the others."""
ONLY_PLATEAU = [7, 8, 9]
"""Columns that count under one scheduler only."""


def natural(h: Hyperparameter, u: Floats) -> Floats:
    """Map (n,) numbers in [0, 1] to raw values of a hyperparameter, uniformly on its own scale."""
    if h.kind == "int" and not h.values:
        out: Floats = h.low + WARMUP_STEP * np.minimum(np.floor(u * WARMUPS), WARMUPS - 1.0)
        return out
    return points.raw_of(h, u)


@functools.cache
def grids(arch: int) -> tuple[npt.NDArray[np.intp], Ints, Floats, npt.NDArray[np.intp], Floats, Floats]:
    """Columns with a list of values, their counts, the values padded to (columns, 128); columns of ranges, bounds."""
    space = hyperparameters.space([*ARCHITECTURES][arch])
    listed = np.array([j for j, h in enumerate(space) if h.values])
    values = np.zeros((len(listed), max(len(space[j].values) for j in listed)))
    for row, j in enumerate(listed):
        h = space[j]
        values[row, : len(h.values)] = range(len(h.values)) if h.kind == "categorical" else h.values
    counts = np.array([len(space[j].values) for j in listed])
    ranges = np.array([j for j, h in enumerate(space) if not h.values and h.kind == "float"])
    bounds = np.array([exact.log([space[j].low, space[j].high]) if space[j].log else (space[j].low, space[j].high)
                       for j in ranges])  # fmt: skip
    return listed, counts, values, ranges, bounds[:, 0], bounds[:, 1]


def configurations(arch: Ints, u: Floats) -> Floats:
    """Raw configurations from points of the unit cube, inactive hyperparameters at 0; rows equal those of `natural`.

    Args:
        arch: (n,) architecture of each row, in the order of `names.ARCHITECTURES`.
        u: (n, 16) points in [0, 1].
    """
    out = np.empty(u.shape)
    for a in range(2):
        rows = np.flatnonzero(arch == a)
        if not len(rows):
            continue
        listed, counts, values, ranges, low, high = grids(a)
        x, part = u[rows], np.empty((len(rows), u.shape[1]))
        choice = np.minimum((x.take(listed, axis=1) * counts).astype(np.int64), counts - 1)
        part[:, listed] = values[np.arange(len(listed)), choice]
        part[:, WARMUP] = WARMUP_STEP * (1.0 + np.minimum(np.floor(x[:, WARMUP] * WARMUPS), WARMUPS - 1.0))
        part[:, ranges] = np.minimum(low + x.take(ranges, axis=1) * (high - low), high)
        part[:, RATE] = np.minimum(np.maximum(exact.exp(part[:, RATE]), 1e-6), 0.01)
        scheduler = part[:, SCHEDULER, None]
        part[:, [WARMUP]] *= scheduler == 2
        part[:, ONLY_PLATEAU] *= scheduler == 1
        out[rows] = part
    return out


def action_of(space: tuple[Hyperparameter, ...], config: Mapping[str, Any]) -> npt.NDArray[np.float32]:
    """The (16,) action that sets a configuration of natural values; missing or inactive ones are set to 0.

    Raises:
        ValueError: An unknown name, or an active value outside its range.
    """
    names = [h.name for h in space]
    for name in config:
        one_of("name in config", name, names)
    action = np.zeros(len(space))
    for j, h in enumerate(space):
        active = h.condition is None or config.get(h.condition[0]) in h.condition[1]
        if h.name in config and active:
            raw = np.array([h.stored(config[h.name])])
            warmup = h.kind == "int" and not h.values
            share = ((raw - h.low) // WARMUP_STEP + 0.5) / WARMUPS if warmup else points.unit_of(h, raw)
            action[j] = 2.0 * share.item() - 1.0
    return np.clip(action, -1.0, 1.0).astype(np.float32)

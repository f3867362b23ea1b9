"""Encoding of the search space: points of a cube to configurations, and back."""

import functools
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from hpo_envs.tables import Ints, exact
from hpo_envs.tables.checks import one_of
from hpo_envs.tables.datasets.charhpo import ARCHITECTURES, SCHEDULERS, WARMUP_STEP, hyperparameters
from hpo_envs.tables.table import Floats, Hyperparameter
from hpo_envs.tables.user.space import raw_of, unit_of

WARMUPS = 50_000
"""Number of values of `warmup_samples` (Table 2)."""

RATE, SCHEDULER, WARMUP = 1, 5, 6
"""Columns of the learning rate, the scheduler and the warm-up, which are encoded differently."""


def natural(h: Hyperparameter, u: Floats) -> Floats:
    """Map (n,) numbers in [0, 1] to raw values of a hyperparameter, uniformly on its own scale."""
    if h.kind == "int" and not h.values:
        out: Floats = h.low + WARMUP_STEP * np.minimum(np.floor(u * WARMUPS), WARMUPS - 1.0)
        return out
    return raw_of(h, u)


@functools.cache
def grids() -> tuple[Floats, Ints, Ints, Floats, Floats, npt.NDArray[np.bool_]]:
    """Values of all hyperparameters in one array, (2, 16) starts and counts in it, spans, ends, and an activity mask.

    Rows are architectures. The only value of a range is its lower end; lower end, span and end are logarithms on a log
    scale. A list has span 0 and end infinity; categories are indices. The mask is (schedulers, 16).
    """
    spaces = [hyperparameters.space(name) for name in ARCHITECTURES]
    lists, spans, ends = [], np.zeros((2, 16)), np.full((2, 16), np.inf)
    for a, j in np.ndindex(2, 16):
        h = spaces[a][j]
        if h.kind == "float":
            low, high = exact.log([h.low, h.high]) if h.log else (h.low, h.high)
            spans[a, j], ends[a, j] = high - low, high
            lists.append(np.array([low]))
        elif j == WARMUP:
            lists.append(WARMUP_STEP * (1.0 + np.arange(WARMUPS)))
        else:
            lists.append(np.arange(len(h.values)) if h.kind == "categorical" else np.array(h.values))
    lengths = np.array([len(some) for some in lists])
    starts = np.cumsum(lengths) - lengths
    conditions = [None if h.condition is None else h.condition[1] for h in spaces[0]]
    active = np.array([[c is None or name in c for c in conditions] for name in SCHEDULERS])
    return np.concatenate(lists, dtype=float), starts.reshape(2, 16), lengths.reshape(2, 16), spans, ends, active


def configurations(arch: Ints, u: Floats) -> Floats:
    """Return (n, 16) raw configurations, inactive hyperparameters at 0, of (n, 16) points in [0, 1], as by `natural`.

    `arch` are the (n,) architectures, indices in `ARCHITECTURES`.
    """
    values, starts, lengths, spans, ends, active = grids()
    most = lengths.take(arch, axis=0)
    out: Floats = values.take(np.minimum((u * most).astype(np.int64), most - 1) + starts.take(arch, axis=0))
    out += u * spans.take(arch, axis=0)
    np.minimum(out, ends.take(arch, axis=0), out=out)
    out[:, RATE] = np.minimum(np.maximum(exact.exp(out[:, RATE]), 1e-6), 0.01)
    out *= active.take(out[:, SCHEDULER].astype(np.int64), axis=0)
    return out


def action_of(space: tuple[Hyperparameter, ...], config: Mapping[str, Any]) -> npt.NDArray[np.float32]:
    """Return the (16,) action for natural values; it is 0 at missing or inactive ones. ValueError for invalid ones."""
    names = [h.name for h in space]
    for name in config:
        one_of("name in config", name, names)
    action = np.zeros(len(space))
    for j, h in enumerate(space):
        active = h.condition is None or config.get(h.condition[0]) in h.condition[1]
        if h.name in config and active:
            raw = np.array([h.stored(config[h.name])])
            warmup = h.kind == "int" and not h.values
            share = ((raw - h.low) // WARMUP_STEP + 0.5) / WARMUPS if warmup else unit_of(h, raw)
            action[j] = 2.0 * share.item() - 1.0
    return np.clip(action, -1.0, 1.0).astype(np.float32)

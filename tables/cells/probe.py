"""Features of a cell from an untrained network: signal propagation and memory.

A small network of one cell with random weights is run on random inputs, once as it is and once with the input of one
step moved a little. How large the outputs are, how much the difference shows at once, and how fast it fades or grows
over the next steps predicts how well the trained cell does much better than counts of its operations. The idea is
that of training-free architecture search; the numbers are this package's own.
"""

import functools
from typing import Any

import numpy as np

from hpo_envs.tables import exact
from hpo_envs.tables.cells.canonical import canonical
from hpo_envs.tables.cells.forward import Weights, draw_weights, unroll
from hpo_envs.tables.cells.recipe import Cell
from hpo_envs.tables.exact import Floats

SIZE = 32
"""Length of all vectors."""

BATCH = 16
"""Random sequences."""

WARMUP = 16
"""Steps before the difference is made."""

LAGS = (0, 1, 2, 4, 8, 16)
"""Steps after it at which the difference is read."""

SCALES = (1.0, 0.3)
"""Standard deviations of the inputs; each is one run of the probe."""

STEP = 1e-3
"""Standard deviation of the difference."""

CAP = 1e6
"""Largest magnitude of any number in the network."""

FLOOR = 1e-6
"""Added before logarithms."""

DECIMALS = 4
"""Digits kept of each feature, so that machines agree."""

_PER_SCALE = ("mean_magnitude", "spread", "mean", "largest", "rank", *(f"memory_{lag}" for lag in LAGS))

NAMES = tuple(f"{name}@{scale:g}" for scale in SCALES for name in _PER_SCALE)


@functools.cache
def _inputs() -> tuple[Floats, Floats, dict[str, Any]]:
    """Inputs (steps, scales, BATCH, SIZE), their difference (BATCH, SIZE), and the generator's state after both."""
    rng = np.random.default_rng(0)
    x = exact.rounded(rng.standard_normal((WARMUP + LAGS[-1] + 1, 1, BATCH, SIZE)))
    moved = STEP * exact.rounded(rng.standard_normal((BATCH, SIZE)))
    return np.array(SCALES)[:, None, None] * x, moved, dict(rng.bit_generator.state)


@functools.lru_cache(maxsize=65_536)
def _probe(cell: Cell) -> tuple[float, ...]:
    x, moved, state = _inputs()
    rng = np.random.default_rng(0)
    rng.bit_generator.state = state
    return tuple(_run(cell, draw_weights(cell, SIZE, SIZE, rng), x, moved))


def probe(cell: Cell) -> Floats:
    """(len(NAMES),) features of a cell; equal for equal computations. Takes some milliseconds the first time."""
    return np.array(_probe(canonical(cell)))


def _run(cell: Cell, weights: Weights, x: Floats, moved: Floats) -> list[float]:
    """The features, one scale after the other; all scales run at once."""
    states, seen = unroll(cell, weights, x[:WARMUP], np.zeros((cell.hidden, *x.shape[1:])), CAP)
    largest = np.abs(states).max(axis=(0, 2, 3))
    pairs = np.stack([x[WARMUP:]] * 2, axis=1)
    pairs[0, 1] += moved
    _, after = unroll(cell, weights, pairs, np.stack([states] * 2, axis=1), CAP)
    at = np.array(LAGS)
    difference = (after[at, 1] - after[at, 0]).reshape(len(LAGS), len(SCALES), -1)
    memory = exact.log10(FLOOR + np.sqrt((difference**2).mean(axis=-1)) / STEP)
    features = [(*_state(out, float(size)), *lags) for out, size, lags in zip(seen[-1], largest, memory.T, strict=True)]
    return [round(float(f), DECIMALS) for found in features for f in found]


def _state(out: Floats, largest: float) -> list[float]:
    """Statistics of (BATCH, SIZE) outputs."""
    spread = np.linalg.svd(out - out.mean(axis=0), compute_uv=False)
    share = spread / max(float(spread.sum()), FLOOR)
    return [
        exact.log10(FLOOR + np.abs(out).mean()),
        exact.log10(FLOOR + out.std(axis=0).mean()),
        float(np.clip(out.mean(), -10.0, 10.0)),
        exact.log10(FLOOR + largest),
        -float((share * exact.log(share + 1e-12)).sum()),
    ]

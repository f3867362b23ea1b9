"""Features of a cell from an untrained network: signal propagation and memory.

A small network of one cell with random weights is run on random inputs, with and without a small perturbation of the
input of one step. The size of the outputs, the immediate effect of the perturbation, and its decay or growth over the
next steps predict the result of training much better than counts of operations. The idea is that of training-free
architecture search; the features are this package's own.
"""

import functools
from typing import Any

import numpy as np

from hpo_envs.tables import Floats, exact
from hpo_envs.tables.cells.canonical import canonical
from hpo_envs.tables.cells.forward import LinearWeights, Vector, draw_weights, largest, unroll
from hpo_envs.tables.cells.recipe import Cell

PROBE_SIZE = 32
"""Length of all vectors."""

BATCH = 16
"""Number of random sequences for each scale."""

WARMUP = 16
"""Steps before the perturbation."""

LAGS = (0, 1, 2, 4, 8, 16)
"""Steps after the perturbation at which its effect is measured."""

SCALES = (1.0, 0.3)
"""Standard deviations of the inputs; each gives its own features."""

STEP = 1e-3
"""Standard deviation of the perturbation."""

CAP = 1e6
"""Largest magnitude of any number in the network."""

FLOOR = 1e-6
"""Number added before logarithms of magnitudes, and smallest divisor."""

_PER_SCALE = ("mean_magnitude", "spread", "mean", "largest", "rank", *(f"memory_{lag}" for lag in LAGS))

PROBE_NAMES = tuple(f"{name}@{scale:g}" for scale in SCALES for name in _PER_SCALE)


@functools.cache
def _inputs() -> tuple[list[Vector], list[Vector], dict[str, Any]]:
    """Inputs of the steps of the warm-up and of those after it, and the generator's state after drawing both.

    Shapes are (PROBE_SIZE, scales x BATCH), and (PROBE_SIZE, 2 x scales x BATCH) without and with perturbation in the
    first step.
    """
    rng = np.random.default_rng(0)
    x = exact.rounded(rng.standard_normal((WARMUP + LAGS[-1] + 1, 1, BATCH, PROBE_SIZE)))
    moved = STEP * exact.rounded(rng.standard_normal((BATCH, PROBE_SIZE)))
    x = np.array(SCALES)[:, None, None] * x
    pairs = np.stack([x[WARMUP:]] * 2, axis=1)
    pairs[0, 1] += moved
    columns = [[np.ascontiguousarray(v.reshape(-1, PROBE_SIZE).T) for v in part] for part in (x[:WARMUP], pairs)]
    warm, after = ([(v, largest(v)) for v in part] for part in columns)
    return warm, after, dict(rng.bit_generator.state)


@functools.lru_cache(maxsize=65_536)
def _probe(cell: Cell) -> tuple[float, ...]:
    rng = np.random.default_rng(0)
    rng.bit_generator.state = _inputs()[2]
    return tuple(_run(cell, draw_weights(cell, PROBE_SIZE, PROBE_SIZE, rng)))


def probe(cell: Cell) -> Floats:
    """(len(PROBE_NAMES),) features of a cell; equal for equal computations. Takes some milliseconds the first time."""
    return np.array(_probe(canonical(cell)))


def _run(cell: Cell, weights: LinearWeights) -> list[float]:
    """Return the features, scale by scale, sizes as base-10 logarithms; all scales are run in one batch."""
    warm, pairs, _ = _inputs()
    states, outputs = unroll(cell, weights, warm, [(np.zeros_like(warm[0][0]), 0.0)] * cell.hidden, CAP)
    _, after = unroll(cell, weights, pairs, [(np.hstack([state] * 2), bound) for state, bound in states], CAP)
    out = outputs[-1][0].reshape(PROBE_SIZE, len(SCALES), BATCH).transpose(1, 2, 0)
    lags = np.stack([after[lag][0] for lag in LAGS])
    plain, moved = lags.reshape(len(LAGS), PROBE_SIZE, 2, len(SCALES), BATCH).swapaxes(0, 2)
    memory = np.sqrt(((moved - plain) ** 2).mean(axis=(0, 3))) / STEP
    mean = out.mean(axis=1, keepdims=True)
    spread = np.linalg.svd(out - mean, compute_uv=False)
    share = spread / np.maximum(spread.sum(axis=-1, keepdims=True), FLOOR)
    top = np.abs(np.stack([state for state, _ in states])).reshape(-1, len(SCALES), BATCH).max(axis=(0, 2))
    sizes = np.stack([np.abs(out).mean(axis=(1, 2)), out.std(axis=1).mean(axis=-1), top, *memory])
    magnitude, deviation, top, *memory = exact.log10(FLOOR + sizes)
    rank = -(share * exact.log(share + 1e-12)).sum(axis=-1)
    rows = (magnitude, deviation, np.clip(mean.mean(axis=(1, 2)), -10.0, 10.0), top, rank, *memory)
    return np.round(np.stack(rows).T, 4).ravel().tolist()  # so that all machines agree

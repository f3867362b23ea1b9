"""A cell over many time steps as compiled loops; the bits of `forward`."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from hpo_envs.tables.cells.forward import SLOPE, Floats, Weights
from hpo_envs.tables.cells.recipe import OPERATIONS, Cell
from hpo_envs.tables.exact import EXP, LN2, LN2_HIGH, LN2_LOW
from hpo_envs.tables.extras import jit

_LINEAR, _BLEND, _PROD, _SUM, _TANH, _SIGM, _LEAKY = range(len(OPERATIONS))
_SLOPE = SLOPE
_EXP = np.array(EXP)
_MAGNITUDE = np.int64(2**63 - 1)


@jit
def tanh(a: Any, out: Any) -> None:
    """`exact.tanh` of (n,) finite numbers, one coefficient after the other, which processors have vectors for."""
    r, scale = np.empty_like(a), np.empty_like(a)
    bits = scale.view(np.int64)
    for i in range(len(a)):
        y = max(-2.0 * abs(a[i]), -750.0)
        k = np.rint(y / LN2)
        r[i] = (y - k * LN2_HIGH) - k * LN2_LOW
        # 2**k by its exponent; 0 instead of what is too small to change 1.
        bits[i] = max(int(k) + 1023, 0) << 52
        out[i] = _EXP[0] * r[i] + _EXP[1]
    for c in _EXP[2:]:
        for i in range(len(a)):
            out[i] = out[i] * r[i] + c
    for i in range(len(a)):
        e = scale[i] * (out[i] * r[i]) + (scale[i] - 1.0)
        out[i] = math.copysign(e / (2.0 + e), a[i])


@jit
def _linear(a: Any, one: Any, two: Any, three: Any, bias: Any, out: Any) -> None:
    """`exact.Factor.times` of (rows, n) numbers, which are overwritten, and the bias.

    Args:
        a: (rows, n).
        one: (n, m), the first slice of the matrix.
        two: (n, 2 m), the first two.
        three: (n, 3 m), all of them.
        bias: (m,).
        out: (rows, m).
    """
    rows, n = a.shape
    m = len(bias)
    bits = (52 - math.ceil(math.log2(n))) // 2
    scale, step = 2.0 ** (53 - bits), 2.0**-bits
    middle, low, magnitudes = np.empty_like(a), np.empty_like(a), a.view(np.int64)
    for i in range(rows):
        largest = np.int64(0)  # magnitudes in the order of their bits as integers, whose maximum a processor vectorises
        for j in range(n):
            largest = max(largest, magnitudes[i, j] & _MAGNITUDE)
        magnitudes[i, 0], first = largest, magnitudes[i, 0]
        large = a[i, 0] * scale
        magnitudes[i, 0] = first
        finer = large * step
        for j in range(n):
            high = (a[i, j] + large) - large
            rest = a[i, j] - high
            half = (rest + finer) - finer
            a[i, j], middle[i, j], low[i, j] = high, half, rest - half
    p, q, r = np.dot(a, three), np.dot(middle, two), np.dot(low, one)
    for i in range(rows):
        for j in range(m):
            small = (r[i, j] + q[i, m + j]) + p[i, 2 * m + j]
            out[i, j] = (p[i, j] + ((p[i, m + j] + q[i, j]) + small)) + bias[j]


@jit
def _simple(op: int, a: Any, b: Any, c: Any, out: Any) -> None:
    """An operation without parameters on as many of three (n,) vectors as it takes, sums and products of two."""
    if op == _TANH:
        tanh(a, out)
    elif op == _SIGM:
        tanh(0.5 * a, out)
        for i in range(len(a)):
            out[i] = 0.5 * (1.0 + out[i])
    elif op == _LEAKY:
        for i in range(len(a)):
            out[i] = a[i] if a[i] > 0 else _SLOPE * a[i]
    elif op == _BLEND:
        for i in range(len(a)):
            out[i] = a[i] * b[i] + (1.0 - a[i]) * c[i]
    elif op == _PROD:
        for i in range(len(a)):
            out[i] = a[i] * b[i]
    else:
        for i in range(len(a)):
            out[i] = a[i] + b[i]


@jit
def _steps(nodes: Any, outputs: Any, slices: Any, biases: Any, x: Any, states: Any, cap: float, seen: Any) -> None:
    hidden, rows, size = states.shape
    first = 1 + hidden
    vectors = np.empty((first + len(nodes), rows, size))
    flat = vectors.reshape(len(vectors), rows * size)
    one, two, three = slices
    for t in range(len(x)):
        vectors[0], vectors[1:first], linear = x[t], states, 0
        for k in range(len(nodes)):
            op, count, inputs, out = nodes[k, 0], nodes[k, 1], nodes[k, 2:], flat[first + k]
            if op == _LINEAR:
                n = count * size
                a = np.empty((rows, n))
                for s in range(count):
                    a[:, s * size : (s + 1) * size] = vectors[inputs[s]]
                _linear(a, one[linear, :n], two[linear, :n], three[linear, :n], biases[linear], vectors[first + k])
                linear += 1
            else:
                _simple(op, flat[inputs[0]], flat[inputs[1]], flat[inputs[2]], out)
                for s in range(2, count if op == _PROD or op == _SUM else 0):
                    _simple(op, out, flat[inputs[s]], out, out)
            for i in range(len(out)):
                out[i] = min(max(out[i], -cap), cap)
        for h in range(hidden):
            states[h] = vectors[outputs[h]]
        seen[t] = states[0]


def unroll(cell: Cell, weights: Weights, x: Floats, states: Floats, cap: float) -> tuple[Floats, Floats]:
    """As `forward.unroll`, for inputs and states of one size."""
    size, linears = x.shape[-1], [*weights.factors.items()]
    most = max(3, *(len(sources) for _, sources in cell.nodes))
    nodes = np.zeros((len(cell.nodes), 2 + most), np.int64)
    for k, (op, sources) in enumerate(cell.nodes):
        nodes[k, : 2 + len(sources)] = op, len(sources), *sources
    parts = tuple(np.zeros((len(linears), most * size, count * size)) for count in (1, 2, 3))
    for i, (_, factor) in enumerate(linears):
        for part in parts:
            slices = factor.slices[: part.shape[2]].T
            part[i, : len(slices)] = slices
    biases = np.array([weights.biases[k] for k, _ in linears]).reshape(-1, size)
    rows: npt.NDArray[Any] = x.reshape(len(x), -1, size)
    last, seen = states.reshape(cell.hidden, -1, size).copy(), np.empty(rows.shape)
    _steps(nodes, np.array(cell.outputs), parts, biases, rows, last, cap, seen)
    return last.reshape(states.shape), seen.reshape(x.shape)

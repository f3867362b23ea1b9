"""A cell in NumPy: the forward pass of section 3's operations, for tests and for the probe of untrained networks."""

import functools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hpo_envs.tables import exact
from hpo_envs.tables.cells.recipe import OPERATIONS, Cell
from hpo_envs.tables.exact import Floats

SLOPE = 0.01
"""Slope of LeakyReLU below zero (PyTorch's default, which the release uses)."""

_LINEAR, _BLEND, _PROD, _SUM, _TANH, _SIGM, _LEAKY = range(len(OPERATIONS))


@dataclass(frozen=True)
class Weights:
    """Parameters of the linears of one cell.

    Attributes:
        matrices: For each node (empty for other operations) one (input size, hidden size) matrix per input.
        biases: For each node a (hidden size,) vector, or None.
    """

    matrices: tuple[tuple[Floats, ...], ...]
    biases: tuple[Floats | None, ...]

    @functools.cached_property
    def factors(self) -> dict[int, exact.Factor]:
        """Transposed matrices of each linear layer, concatenated for products."""
        return {j: exact.Factor(np.vstack(ms).T.copy()) for j, ms in enumerate(self.matrices) if ms}


def draw_weights(cell: Cell, inputs: int, size: int, rng: np.random.Generator) -> Weights:
    """Draw all parameters uniformly in +-1/sqrt(size), as the release initialises cells; `x` has length `inputs`."""
    bound = 1.0 / np.sqrt(size)
    matrices: list[tuple[Floats, ...]] = []
    biases: list[Floats | None] = []
    for op, sources in cell.nodes:
        if op == _LINEAR:
            matrices.append(tuple(rng.uniform(-bound, bound, (inputs if k == 0 else size, size)) for k in sources))
            biases.append(rng.uniform(-bound, bound, size))
        else:
            matrices.append(())
            biases.append(None)
    return Weights(tuple(matrices), tuple(biases))


def forward(cell: Cell, weights: Weights, x: Floats, states: Sequence[Floats], cap: float = np.inf) -> list[Floats]:
    """One time step.

    Args:
        cell: The cell.
        weights: From `draw_weights`, or trained.
        x: (..., inputs) input vectors.
        states: Previous hidden states, each (..., size).
        cap: Values beyond it in magnitude are set to it, so that cells that explode stay finite.

    Returns:
        The new hidden states; the first is the output.

    Raises:
        ValueError: Wrong number of states.
    """
    if len(states) != cell.hidden:
        raise ValueError(f"states must be {cell.hidden} arrays, one per hidden state, got {len(states)}")
    last = _step(cell, weights, [v.reshape(-1, v.shape[-1]).T for v in (x, *states)], cap)
    return [np.ascontiguousarray(v.T).reshape(*x.shape[:-1], -1) for v in last]


def _step(cell: Cell, weights: Weights, vectors: list[Floats], cap: float) -> list[Floats]:
    """`forward` of vectors (size, rows), to which those of the nodes are added: NumPy is quick along rows."""
    for j, (op, sources) in enumerate(cell.nodes):
        a = [vectors[k] for k in sources]
        if op == _LINEAR:
            bias = weights.biases[j]
            assert bias is not None
            y = weights.factors[j].times(np.concatenate(a))
            y += bias[:, None]
        else:
            y = _simple(op, a)
        if cap < np.inf:  # in place: `np.clip` takes twice as long
            np.minimum(np.maximum(y, -cap, out=y), cap, out=y)
        vectors.append(y)
    return [vectors[k] for k in cell.outputs]


def unroll(cell: Cell, weights: Weights, x: Floats, states: Floats, cap: float = np.inf) -> tuple[Floats, Floats]:
    """Run several time steps.

    Args:
        cell: The cell.
        weights: From `draw_weights`, or trained.
        x: (steps, ..., size) input vectors.
        states: (hidden, ..., size) the hidden states before.
        cap: See `forward`.

    Returns:
        The hidden states at the end, and (steps, ..., size) the outputs.
    """
    last, columns = [*_columns(states)], _columns(x)
    seen = np.empty_like(columns)
    for inputs, out in zip(columns, seen, strict=True):
        last = _step(cell, weights, [inputs, *last], cap)
        out[...] = last[0]
    return _rows(np.stack(last)).reshape(states.shape), _rows(seen).reshape(x.shape)


def _rows(x: Floats) -> Floats:
    return np.ascontiguousarray(x.swapaxes(1, 2))


def _columns(x: Floats) -> Floats:
    """(k, size, rows) from (k, ..., size) vectors."""
    return _rows(x.reshape(len(x), -1, x.shape[-1]))


def _simple(op: int, a: list[Floats]) -> Floats:
    """Operations without parameters."""
    if op == _TANH:
        return exact.tanh(a[0])
    if op == _SIGM:
        return 0.5 * (1.0 + exact.tanh(0.5 * a[0]))
    if op == _LEAKY:
        return np.maximum(a[0], SLOPE * a[0])
    if op == _BLEND:
        return a[0] * a[1] + (1.0 - a[0]) * a[2]
    total = a[0]
    for v in a[1:]:
        total = total * v if op == _PROD else total + v
    return total

"""Forward pass of a cell in NumPy (operations of section 3), for tests and for the probe of untrained networks."""

import functools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hpo_envs.tables import Floats, exact
from hpo_envs.tables.cells.recipe import OPERATIONS, Cell

SLOPE = 0.01
"""Slope of LeakyReLU below zero (PyTorch's default, which the release uses)."""

_LINEAR, _BLEND, _PROD, _SUM, _TANH, _SIGM, _LEAKY = range(len(OPERATIONS))
_BOUNDED = (_TANH, _SIGM, _LEAKY)  # at most 1 in magnitude, or at most what they read


@dataclass(frozen=True)
class LinearWeights:
    """Parameters of the linear nodes of one cell.

    Attributes:
        matrices: For each node (empty for other operations) one (input size, hidden size) matrix per input.
        biases: For each node a (hidden size,) vector; None for other operations than `linear`.
    """

    matrices: tuple[tuple[Floats, ...], ...]
    biases: tuple[Floats | None, ...]

    @functools.cached_property
    def factors(self) -> dict[int, exact.Factor]:
        """Transposed matrices and bias of each linear node, by index; to multiply by its inputs and a row of ones."""
        layers = enumerate(zip(self.matrices, self.biases, strict=True))
        return {j: exact.Factor(np.vstack([*ms, bias]).T.copy()) for j, (ms, bias) in layers if bias is not None}


def draw_weights(cell: Cell, inputs: int, size: int, rng: np.random.Generator) -> LinearWeights:
    """Draw the parameters of the linears uniformly in +-1/sqrt(size), as released; `x` has length `inputs`."""
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
    return LinearWeights(tuple(matrices), tuple(biases))


def forward(
    cell: Cell, weights: LinearWeights, x: Floats, states: Sequence[Floats], cap: float = np.inf
) -> list[Floats]:
    """Run one time step, with weights and inputs rounded as by `exact.Factor`.

    Args:
        cell: The cell.
        weights: From `draw_weights`, or trained.
        x: (..., inputs) input vectors.
        states: Previous hidden states, each (..., size).
        cap: Largest magnitude of values, at least 1; a finite one keeps exploding cells finite.

    Returns:
        The new hidden states, each (..., size); the first is the output.

    Raises:
        ValueError: Wrong number of states.
    """
    if len(states) != cell.hidden:
        raise ValueError(f"states must be {cell.hidden} arrays, one per hidden state, got {len(states)}")
    columns = (np.ascontiguousarray(v.reshape(-1, v.shape[-1]).T) for v in (x, *states))
    last = _step(cell, weights, [(v, largest(v)) for v in columns], cap)
    return [np.ascontiguousarray(v.T).reshape(*x.shape[:-1], -1) for v, _ in last]


Vector = tuple[Floats, float]
"""(size, rows) numbers, because NumPy is fast along rows, and a bound on their magnitudes, used to round products."""


def largest(x: Floats) -> float:
    """The largest magnitude in an array."""
    return max(float(x.max()), -float(x.min()))


def _step(cell: Cell, weights: LinearWeights, vectors: list[Vector], cap: float) -> list[Vector]:
    """Run one time step and return the new hidden states; the values of the nodes are appended to `vectors`."""
    one = _one(vectors[0][0].shape[1])
    for j, (op, sources) in enumerate(cell.nodes):
        a = [vectors[k][0] for k in sources]
        bound = max(vectors[k][1] for k in sources)
        if op in _BOUNDED:
            vectors.append((_simple(op, a), bound if op == _LEAKY else 1.0))
            continue
        y = weights.factors[j].times(np.concatenate([*a, one]), max(bound, 1.0)) if op == _LINEAR else _simple(op, a)
        bound = largest(y)
        if bound > cap:
            np.minimum(np.maximum(y, -cap, out=y), cap, out=y)
        vectors.append((y, min(bound, cap)))
    return [vectors[k] for k in cell.outputs]


@functools.cache
def _one(rows: int) -> Floats:
    return np.ones((1, rows))


def unroll(
    cell: Cell, weights: LinearWeights, x: Sequence[Vector], states: list[Vector], cap: float = np.inf
) -> tuple[list[Vector], list[Vector]]:
    """Run a time step for each input in `x`, see `forward`; return the final hidden states and each step's output."""
    outputs = []
    for inputs in x:
        states = _step(cell, weights, [inputs, *states], cap)
        outputs.append(states[0])
    return states, outputs


def _simple(op: int, a: list[Floats]) -> Floats:
    """Apply an operation without parameters to (size, rows) inputs."""
    if op == _TANH:
        return exact.tanh(a[0])
    if op == _SIGM:
        y = exact.tanh(0.5 * a[0])
        y += 1.0
        y *= 0.5
        return y
    if op == _LEAKY:
        return np.maximum(a[0], SLOPE * a[0])
    if op == _BLEND:
        return a[0] * a[1] + (1.0 - a[0]) * a[2]
    total = a[0]
    for v in a[1:]:
        total = total * v if op == _PROD else total + v
    return total

"""Forward pass and backpropagation through time of a recurrent cell with any graph on a segment of text."""

import functools
from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch import Tensor

from hpo_envs.tables.cells.forward import SLOPE
from hpo_envs.tables.cells.recipe import OPERATIONS, Cell

_LINEAR, _BLEND, _PROD, _SUM, _TANH, _SIGM, _LEAKY = range(len(OPERATIONS))


class Graph:
    """The order of computation of a cell.

    Args:
        cell: The cell.

    Attributes:
        cell: See above.
        linears: Indices of the nodes with weights.
        at_once: Indices of the vectors (see `vectors`) that do not depend on hidden states: `x`, and nodes that are
            computed for all steps at once.
        stepwise: Indices of the other nodes, which are computed step by step.
    """

    def __init__(self, cell: Cell) -> None:
        self.cell = cell
        self.linears = [j for j, (op, _) in enumerate(cell.nodes) if op == _LINEAR]
        self.at_once = {0}
        for j, (_, sources) in enumerate(cell.nodes):
            if self.at_once.issuperset(sources):
                self.at_once.add(cell.first + j)
        self.stepwise = [j for j in range(len(cell.nodes)) if cell.first + j not in self.at_once]

    def vectors(self, x: Tensor, nodes: Sequence[Tensor], streams: int) -> list[Tensor]:
        """Return (steps x streams, size) views of `x`, the previous states, and `nodes` without the initial step."""
        states = [nodes[k - self.cell.first][:-streams] for k in self.cell.outputs]
        return [x, *states, *(node[streams:] for node in nodes)]

    def inputs(self, j: int, weights: Sequence[Any], at_once: bool) -> Iterator[tuple[int, Any]]:
        """Yield (vector, weight) of the inputs of node `j` that are in `at_once`, or else of those that are not."""
        for k, weight in zip(self.cell.nodes[j][1], weights, strict=True):
            if (k in self.at_once) == at_once:
                yield k, weight


class Unrolled(torch.autograd.Function):
    """Autograd function of the outputs of a cell at each step."""

    @staticmethod
    def forward(ctx: Any, graph: Graph, x: Tensor, states: Tensor, *weights: Tensor) -> tuple[Tensor, Tensor]:
        """Run a cell over a segment of several streams of text.

        Args:
            ctx: Context of autograd.
            graph: Graph of the cell.
            x: (steps x streams, size) inputs, step by step.
            states: (hidden states, streams, size) before the first step, without gradient.
            weights: For each linear the stacked (inputs x size, size) matrices and the (size,) bias.

        Returns:
            (steps x streams, size) outputs, and the hidden states after the last step, shaped like `states`.
        """
        cell, first, (_, streams, size) = graph.cell, graph.cell.first, states.shape
        nodes = [x.new_empty(len(x) + streams, size) for _ in cell.nodes]
        for k, state in zip(cell.outputs, states, strict=True):
            nodes[k - first][:streams] = state
        vectors = graph.vectors(x, nodes, streams)
        matrices = {j: weights[2 * i].split(size) for i, j in enumerate(graph.linears)}
        for j, (op, sources) in enumerate(cell.nodes):
            y = vectors[first + j]
            if op == _LINEAR:
                y.copy_(weights[2 * graph.linears.index(j) + 1])
                for k, matrix in graph.inputs(j, matrices[j], True):
                    y.addmm_(vectors[k], matrix)
            elif first + j in graph.at_once:
                _apply(op, [vectors[k] for k in sources], y)
        parts = [vector.split(streams) for vector in vectors]
        left = {j: list(graph.inputs(j, matrices[j], False)) for j in graph.linears}
        for t in range(len(x) // streams):
            for j in graph.stepwise:
                op, sources = cell.nodes[j]
                y = parts[first + j][t]
                if op == _LINEAR:
                    for k, matrix in left[j]:
                        y.addmm_(parts[k][t], matrix)
                else:
                    _apply(op, [parts[k][t] for k in sources], y)
        last = torch.stack([nodes[k - first][-streams:] for k in cell.outputs])
        ctx.graph, ctx.vectors, ctx.matrices, ctx.streams = graph, vectors, matrices, streams
        ctx.mark_non_differentiable(last)
        return vectors[cell.outputs[0]].clone(), last

    @staticmethod
    def backward(ctx: Any, *outputs: Tensor) -> Any:
        """Return the derivatives with respect to `x` and the weights; None for the graph and the states."""
        graph, vectors, streams = ctx.graph, ctx.vectors, ctx.streams
        cell, first = graph.cell, graph.cell.first
        x = torch.zeros_like(vectors[0])
        nodes = [x.new_zeros(len(x) + streams, x.shape[1]) for _ in cell.nodes]
        given = graph.vectors(x, nodes, streams)
        given[cell.outputs[0]].copy_(outputs[0])
        slopes = {
            j: [m.t().contiguous() for m in ctx.matrices[j]]
            if op == _LINEAR
            else _slopes(op, [vectors[k] for k in sources], vectors[first + j])
            for j, (op, sources) in enumerate(cell.nodes)
        }
        parts = [vector.split(streams) for vector in given]
        moves = []
        for j in reversed(graph.stepwise):
            linear = j in ctx.matrices
            for k, slope in graph.inputs(j, slopes[j], False):
                moves.append((linear, parts[first + j], parts[k], slope if linear else slope.split(streams)))
        for t in range(len(x) // streams - 1, -1, -1):
            for linear, source, target, slope in moves:
                if linear:
                    target[t].addmm_(source[t], slope)
                else:
                    target[t].addcmul_(source[t], slope[t])
        for j in reversed(range(len(cell.nodes))):
            for k, slope in graph.inputs(j, slopes[j], True):
                if j in ctx.matrices:
                    given[k].addmm_(given[first + j], slope)
                else:
                    given[k].addcmul_(given[first + j], slope)
        weights = []
        for j in graph.linears:
            grad = given[first + j]
            weights += [torch.cat([vectors[k].t() @ grad for k in cell.nodes[j][1]]), grad.sum(0)]
        return None, x, None, *weights


def _apply(op: int, a: list[Tensor], out: Tensor) -> None:
    """Apply an operation without weights to the inputs `a`, and write the result to `out`."""
    if op == _TANH:
        torch.tanh(a[0], out=out)
    elif op == _SIGM:
        torch.sigmoid(a[0], out=out)
    elif op == _LEAKY:
        torch.maximum(a[0], torch.mul(a[0], SLOPE, out=out), out=out)
    elif op == _BLEND:
        torch.sub(a[1], a[2], out=out).mul_(a[0]).add_(a[2])
    else:
        combine = torch.mul if op == _PROD else torch.add
        combine(a[0], a[1], out=out)
        for b in a[2:]:
            combine(out, b, out=out)


def _slopes(op: int, a: list[Tensor], y: Tensor) -> list[Tensor]:
    """Return an operation's derivatives with respect to each of its inputs `a`; `y` is its output."""
    if op == _TANH:
        return [1.0 - y * y]
    if op == _SIGM:
        return [y - y * y]
    if op == _LEAKY:
        return [torch.where(a[0] > 0.0, y.new_tensor(1.0), y.new_tensor(SLOPE))]  # Python's numbers would be float32
    if op == _BLEND:
        return [a[1] - a[2], a[0], 1.0 - a[0]]
    if op == _SUM:
        return [torch.ones_like(y)] * len(a)
    return [functools.reduce(torch.mul, [*a[:i], *a[i + 1 :]]) for i in range(len(a))]

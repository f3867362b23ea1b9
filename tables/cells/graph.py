"""Cells as networkx graphs, complete or under construction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from hpo_envs.tables.cells.recipe import BLEND, MAX_HIDDEN, OPERATIONS, Cell


@dataclass(frozen=True)
class Sketch:
    """An incomplete cell: it has all previous hidden states, used or not, and no new one.

    Attributes:
        nodes: Nodes as in `Cell`.
        hidden: Number of previous hidden states.
        outputs: Empty: no hidden state is new yet.
    """

    nodes: tuple[tuple[int, tuple[int, ...]], ...]
    hidden: int = MAX_HIDDEN
    outputs: tuple[int, ...] = ()

    @property
    def first(self) -> int:
        """Number of the first node's vector."""
        return 1 + self.hidden

    @classmethod
    def of(cls, nodes: Sequence[tuple[int, tuple[int, ...]]]) -> Sketch:
        """Make a sketch from nodes numbered as in actions (`grammar.node_of`)."""
        return cls(tuple((op, tuple(k - 1 for k in inputs)) for op, inputs in nodes))


def graph(cell: Cell | Sketch) -> Any:
    """A cell as a `networkx.DiGraph`; nodes have recipe names, `op` (`input`, `hidden` or an operation) and `new`.

    `new` is the number of the first hidden state that a node becomes, or None. Edges go from input to node and have a
    `role`: `z`, `x` and `y` for the arguments of a blend, else the empty string. A vector read twice has one edge.
    """
    import networkx as nx  # half a second, so only where a graph is wanted

    g = nx.DiGraph()
    g.add_node("x", op="input", new=None)
    for i in range(cell.hidden):
        g.add_node(f"h_prev_{i}", op="hidden", new=None)
    names = ["x", *(f"h_prev_{i}" for i in range(cell.hidden))]
    for j, (op, inputs) in enumerate(cell.nodes):
        states = [i for i, out in enumerate(cell.outputs) if out == cell.first + j]
        names.append(f"h_new_{states[0]}" if states else f"node_{j}")
        g.add_node(names[-1], op=OPERATIONS[op], new=states[0] if states else None)
        for place, k in enumerate(inputs):
            g.add_edge(names[k], names[-1], role="zxy"[place] if op == BLEND else "")
    return g

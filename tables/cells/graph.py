"""Cells as networkx graphs, and upper bounds of the graph edit distance between them (figure 7)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hpo_envs.tables.cells.recipe import MAX_HIDDEN, OPERATIONS, Cell

_BLEND = OPERATIONS.index("blend")


def graph(cell: Cell) -> Any:
    """A `networkx.DiGraph`: nodes by their recipe names with `op` (`input`, `hidden` or an operation) and `new`.

    `new` is the number of the hidden state that a node becomes, or None. Edges go from input to node and have a
    `role`: `z`, `x` and `y` for the arguments of a blend, else the empty string.
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
            g.add_edge(names[k], names[-1], role="zxy"[place] if op == _BLEND else "")
    return g


def partial_graph(nodes: Sequence[tuple[int, tuple[int, ...]]]) -> Any:
    """The graph of a cell that is being built: as `graph`, of nodes in the numbers of actions (`grammar.node_of`).

    All hidden states are there, used or not, and none is new yet.
    """
    import networkx as nx

    g = nx.DiGraph()
    names = ["x", *(f"h_prev_{i}" for i in range(MAX_HIDDEN))]
    for name in names:
        g.add_node(name, op="input" if name == "x" else "hidden", new=None)
    for j, (op, inputs) in enumerate(nodes):
        names.append(f"node_{j}")
        g.add_node(names[-1], op=OPERATIONS[op], new=None)
        for place, k in enumerate(inputs):  # 0 is none
            g.add_edge(names[k - 1], names[-1], role="zxy"[place] if op == _BLEND else "")
    return g


def edit_distance(a: Cell, b: Cell, seconds: float = 1.0) -> float:
    """An upper bound of the graph edit distance: the best of networkx's successive approximations in limited time.

    Substituting a node by one with another operation, and inserting or deleting a node or an edge, cost 1 each. After
    so many seconds no better approximation is waited for.
    """
    import networkx as nx

    if not seconds > 0:
        raise ValueError(f"seconds must be a number > 0, got {seconds!r}")
    # Deleting one graph and inserting the other is always possible.
    trivial = float(sum(len(c.nodes) + c.first + sum(len(i) for _, i in c.nodes) for c in (a, b)))
    match = nx.algorithms.isomorphism.categorical_node_match("op", None)
    found = nx.graph_edit_distance(graph(a), graph(b), node_match=match, timeout=seconds)
    return trivial if found is None else min(trivial, float(found))

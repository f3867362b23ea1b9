"""Canonical form of a cell: recipes of the same computation (duplicates) get the same key.

Two cells count as the same computation if they differ only in the names and order of nodes, in the order of the
inputs of linears, sums and products, in the numbering of the hidden states other than the first (the cell's output),
or in repeating an operation without parameters on the same inputs. Two linears are never the same, because each has its
own weights. Expressions are not simplified: `a + (b + c)` and `(a + b) + c` are two computations.

The method is colour refinement with individualisation (McKay and Piperno 2014): exact, and fast because branches
that an automorphism makes equal are searched once.
"""

import functools
from typing import Any

from hpo_envs.tables.cells.recipe import BLEND, LINEAR, Cell


@functools.lru_cache(maxsize=65_536)
def canonical(cell: Cell) -> Cell:
    """The cell in canonical form, itself a valid cell."""
    merged = _merge(cell)
    _, best = _search(merged, _refine(merged, _initial(merged)))
    return best


def key(cell: Cell) -> str:
    """Text of the canonical form, from which `cellmini` and `nasbenchnlp/wikitext2` make their row keys."""
    return canonical(cell).text()


def _merge(cell: Cell) -> Cell:
    """Merge nodes that repeat an operation without parameters on the same inputs."""
    number = list(range(cell.first))
    seen: dict[Any, int] = {}
    nodes: list[tuple[int, tuple[int, ...]]] = []
    for op, inputs in cell.nodes:
        mapped = tuple(number[k] for k in inputs)
        signature = (op, mapped if op == BLEND else tuple(sorted(mapped)))
        if op != LINEAR and signature in seen:
            number.append(seen[signature])
            continue
        seen[signature] = cell.first + len(nodes)
        number.append(seen[signature])
        nodes.append((op, mapped))
    return Cell(cell.hidden, tuple(nodes), tuple(number[k] for k in cell.outputs))


def _initial(cell: Cell) -> list[int]:
    """Initial colours of the vectors: x 0, first hidden state 1, other hidden states 2, nodes 3 + operation."""
    return [0, 1, *([2] * (cell.hidden - 1)), *(3 + op for op, _ in cell.nodes)]


def _refine(cell: Cell, colours: list[int]) -> list[int]:
    """Refine colours by those of neighbours until none splits; the result does not depend on the numbering."""
    first, total = cell.first, len(colours)
    while True:
        consumers: list[list[tuple[int, int]]] = [[] for _ in range(total)]
        sources: list[tuple[int, ...]] = [()] * total
        states: list[list[int]] = [[] for _ in range(total)]
        for j, (op, inputs) in enumerate(cell.nodes):
            ordered = op == BLEND
            for place, k in enumerate(inputs):
                consumers[k].append((colours[first + j], place if ordered else 0))
            read = [colours[k] for k in inputs]
            sources[first + j] = tuple(read if ordered else sorted(read))
        for i, out in enumerate(cell.outputs):
            states[out].append(colours[1 + i])
            sources[1 + i] = (colours[out],)
        signatures = [
            (colours[v], sources[v], tuple(sorted(consumers[v])), tuple(sorted(states[v]))) for v in range(total)
        ]
        rank = {s: r for r, s in enumerate(sorted(set(signatures)))}
        refined = [rank[s] for s in signatures]
        if len(rank) == len(set(colours)):
            return refined
        colours = refined


def _search(cell: Cell, colours: list[int]) -> tuple[Any, Cell]:
    """(certificate, cell) of the smallest leaf below an equitable colouring."""
    group = _first_group(colours)
    if not group:
        leaf = _relabel(cell, colours)
        return (leaf.nodes, leaf.outputs), leaf
    best: tuple[Any, Cell] | None = None
    leaves: list[Cell] = []
    for v in group:
        below = _refine(cell, _individualise(colours, v))
        leaf = _any_leaf(cell, below)
        # An equal leaf proves an automorphism that maps a member searched before to v: nothing new below.
        if leaf in leaves:
            continue
        leaves.append(leaf)
        found = _search(cell, below)
        if best is None or found[0] < best[0]:
            best = found
    assert best is not None
    return best


def _first_group(colours: list[int]) -> list[int]:
    """Members of the smallest colour that several vectors share; empty if the colouring is discrete."""
    members: dict[int, list[int]] = {}
    for v, c in enumerate(colours):
        members.setdefault(c, []).append(v)
    return next((members[c] for c in sorted(members) if len(members[c]) > 1), [])


def _individualise(colours: list[int], v: int) -> list[int]:
    return [2 * c + (c == colours[v] and u != v) for u, c in enumerate(colours)]


def _any_leaf(cell: Cell, colours: list[int]) -> Cell:
    while group := _first_group(colours):
        colours = _refine(cell, _individualise(colours, group[0]))
    return _relabel(cell, colours)


def _relabel(cell: Cell, colours: list[int]) -> Cell:
    """Renumber hidden states by colour and nodes in the topological order that takes the smallest colour first."""
    states = sorted(range(cell.hidden), key=lambda i: colours[1 + i])
    number = {0: 0} | {1 + i: 1 + place for place, i in enumerate(states)}
    waiting = sorted(range(len(cell.nodes)), key=lambda j: colours[cell.first + j])
    nodes: list[tuple[int, tuple[int, ...]]] = []
    while waiting:
        j = next(j for j in waiting if all(k in number for k in cell.nodes[j][1]))
        waiting.remove(j)
        op, inputs = cell.nodes[j]
        mapped = tuple(number[k] for k in inputs)
        nodes.append((op, mapped if op == BLEND else tuple(sorted(mapped))))
        number[cell.first + j] = len(number)
    return Cell(cell.hidden, tuple(nodes), tuple(number[cell.outputs[i]] for i in states))

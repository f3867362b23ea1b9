"""Random cells (Klyuchnikov et al. 2020, section 3): probabilities of operations, nodes and hidden states.

Initial nodes are the input vector and the hidden states. At each step a node with a random operation is added and
connected to earlier ones; then the new hidden states are drawn among the nodes, redundant nodes are removed, and the
cell is accepted if `x` and all hidden states are used and no previous hidden state is an input of a new one.

The paper does not specify the distributions. The connection rules below hold in every generated recipe of the released
WikiText-2 logs; the probabilities follow their frequencies there.
"""

from bisect import bisect

import numpy as np

from hpo_envs.tables.cells.recipe import BLEND, LINEAR, OPERATIONS, Cell, InvalidRecipe, accepted, leading

WEIGHTS = (0.46, 0.03, 0.04, 0.05, 0.14, 0.16, 0.12)
"""Probability of drawing each of `OPERATIONS`; one that lacks inputs to read is redrawn."""

THREE_INPUTS = 1 / 6
"""Probability that a linear node reads three vectors if so many exist, instead of two (release: 202 of 1,183)."""

HIDDEN = (0.47, 0.41, 0.12)
"""Probability of 1, 2 and 3 hidden states (release: 161, 141 and 43 of 345 runs)."""

NODES = (14, 21)
"""Fewest and most nodes drawn before redundant ones are removed; this gives sizes like the released ones."""

Node = tuple[int, tuple[int, ...]]
"""(operation, inputs), as in `Cell.nodes`."""


def _levels(p: tuple[float, ...]) -> list[float]:
    """Cumulative probabilities of `len(p)` choices, to draw by `bisect`.

    `bisect(levels, rng.random())` draws the same as `rng.choice(len(p), p=p)`, without the checks of NumPy, which take
    twenty times as long.
    """
    ends = np.cumsum(p)
    return (ends / ends[-1]).tolist()  # type: ignore[no-any-return]


_HIDDEN_LEVELS, _OPERATION_LEVELS = _levels(HIDDEN), _levels(WEIGHTS)
_ACTIVATIONS = tuple(OPERATIONS.index(f"activation_{a}") for a in ("tanh", "sigm", "leaky_relu"))


def generate(rng: np.random.Generator) -> Cell:
    """Draw the numbers of hidden states and nodes, then cells with these numbers; return the first accepted one."""
    h = bisect(_HIDDEN_LEVELS, rng.random()) + 1
    n = int(rng.integers(NODES[0], NODES[1] + 1))
    while True:
        cell = _attempt(rng, h, n)
        if cell is not None and accepted(cell):
            return cell


def _attempt(rng: np.random.Generator, hidden: int, count: int) -> Cell | None:
    first = 1 + hidden
    nodes: list[Node] = []
    sources = [*range(first)]  # what linears read
    bare: list[int] = []  # linears that no activation reads yet
    for vector in range(first, first + count):
        op, inputs = _node(rng, vector, sources, bare)
        nodes.append((op, inputs))
        if op == LINEAR:
            bare.append(vector)
        elif op in _ACTIVATIONS:
            bare.pop()
            sources.append(vector)
    outputs = rng.choice(count, size=hidden, replace=False).tolist()
    return prune(hidden, nodes, tuple(first + k for k in outputs))


def _node(rng: np.random.Generator, vector: int, sources: list[int], bare: list[int]) -> Node:
    """Draw node `vector`: linears read `sources`, activations the last of `bare`, others any vectors but `x`."""
    while True:
        op = bisect(_OPERATION_LEVELS, rng.random())
        if op == LINEAR:
            wanted = 3 if rng.random() < THREE_INPUTS and len(sources) >= 3 else 2
            return op, tuple([sources[k] for k in rng.choice(len(sources), size=wanted, replace=False).tolist()])
        if op in _ACTIVATIONS:
            if bare:
                return op, (bare[-1],)
        elif vector > (wanted := 3 if op == BLEND else 2):  # of all vectors but `x`
            return op, tuple([1 + k for k in rng.choice(vector - 1, size=wanted, replace=False).tolist()])


def prune(hidden: int, nodes: list[Node], outputs: tuple[int, ...]) -> Cell | None:
    """Return the cell as `pruned` does, or None if it is outside the search space."""
    try:
        return pruned(hidden, nodes, outputs)
    except InvalidRecipe:
        return None


def pruned(hidden: int, nodes: list[Node], outputs: tuple[int, ...]) -> Cell:
    """Return a cell without the nodes that lead to no new hidden state; InvalidRecipe outside the search space."""
    first, used = 1 + hidden, leading(nodes, 1 + hidden, outputs)
    kept = [j for j in range(len(nodes)) if first + j in used]
    number = {k: k for k in range(first)} | {first + j: first + place for place, j in enumerate(kept)}
    mapped = tuple((nodes[j][0], tuple(number[k] for k in nodes[j][1])) for j in kept)
    return Cell(hidden, mapped, tuple(number[k] for k in outputs))

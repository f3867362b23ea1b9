"""Grammar of `NASBenchNLP-cell-v0`: cells as sequences of actions, and back; mutation of cells.

An action is four ints `[kind, a, b, c]`. A kind below 7 adds a node with that operation (`OPERATIONS`); kind 7 ends
the cell. `a`, `b` and `c` name vectors: 0 none, 1 `x`, 2 to 4 `h_prev_0` to `h_prev_2`, 5 + j node j, from 0.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from hpo_envs.tables import Ints
from hpo_envs.tables.cells.canonical import key
from hpo_envs.tables.cells.generate import generate, prune, pruned
from hpo_envs.tables.cells.recipe import MAX_HIDDEN, MAX_NODES, OPERATIONS, Cell, InvalidRecipe, arity_error, leading

END = len(OPERATIONS)
"""Kind of the action that ends a cell."""

FIRST_UNARY = next(op for op, name in enumerate(OPERATIONS) if name.startswith("activation"))
"""The first operation with one input; all later ones have one, too."""

SOURCES = 2 + MAX_HIDDEN
"""Number of the first node's vector in actions; below are none, `x` and the previous hidden states."""

SLOTS = 3
"""Number of vectors in an action."""

SIZES = (END + 1, *(SOURCES + MAX_NODES,) * SLOTS)
"""Number of possible values of each of the four ints of an action."""


def node_of(action: Sequence[int], nodes: int) -> tuple[int, tuple[int, ...]]:
    """Return the node, (operation, inputs), that an action adds to `nodes` others; vectors are numbered as in actions.

    Activations read `a` alone; otherwise vectors that are 0 are left out.

    Raises:
        InvalidRecipe: The action is illegal; the message names the rule.
    """
    op = int(action[0])
    if not 0 <= op < END:
        raise InvalidRecipe("form", f"only the last action must have kind {END}, and kinds must be >= 0, got kind {op}")
    inputs = tuple([int(k) for k in (action[1:2] if op >= FIRST_UNARY else action[1:]) if k > 0])
    if nodes >= MAX_NODES:
        raise InvalidRecipe("nodes", f"a cell must have at most {MAX_NODES} nodes, got {MAX_NODES + 1}")
    if max(inputs, default=0) >= SOURCES + nodes:
        raise InvalidRecipe("input", f"inputs must be vectors that exist, below {SOURCES + nodes}, got {inputs}")
    if (problem := arity_error(op, len(inputs))) is not None:
        raise InvalidRecipe("arity", problem)
    return op, inputs


def finish(nodes: Sequence[tuple[int, tuple[int, ...]]], action: Sequence[int]) -> Cell:
    """The cell that an action of kind END builds from the added nodes.

    The slots that name nodes are the new hidden states, in their order; other slots have no meaning. Nodes that lead to
    no new hidden state are removed.

    Raises:
        InvalidRecipe: No slot names a node, one names a node that does not exist, two name the same linear node, a
            previous hidden state without a new one is used, or the cell is outside the search space, e.g. because it
            does not use `x`.
    """
    outputs = [int(k) for k in action[1:] if k >= SOURCES]
    hidden = len(outputs)
    if not outputs or any(k >= SOURCES + len(nodes) for k in outputs):
        raise InvalidRecipe("hidden", f"the new hidden states must be nodes of the cell, got {list(action[1:])}")
    # From vectors of actions to vectors of cells: without "none", and with `hidden` instead of three states.
    shift = SOURCES - (1 + hidden)
    if any(1 + hidden < k < SOURCES for k in leading(nodes, SOURCES, outputs)):
        raise InvalidRecipe("hidden", f"a cell with {hidden} new hidden states must not use more previous ones")
    # Inputs of nodes that will be removed may be states that the cell does not have: any vector will do.
    mapped = [(op, tuple(k - shift if k >= SOURCES else min(k - 1, hidden) for k in inputs)) for op, inputs in nodes]
    return pruned(hidden, mapped, tuple(k - shift for k in outputs))


def cell_of(actions: npt.ArrayLike) -> Cell:
    """The cell that (steps, 4) int actions build, of which only the last has kind END.

    Raises:
        InvalidRecipe: An action is illegal, or the cell is outside the search space.
        ValueError: The array has another shape or type.
    """
    array = np.asarray(actions)
    if array.ndim != 2 or array.shape[1] != 1 + SLOTS or array.dtype.kind not in "iu" or not len(array):
        raise ValueError(f"actions must be ints of shape (steps, {1 + SLOTS}), got shape {array.shape}")
    *first, last = array.tolist()
    nodes = [node_of(action, i) for i, action in enumerate(first if last[0] == END else [*first, last])]
    if last[0] != END:
        raise InvalidRecipe("form", f"the last action must have kind {END}, got kind {last[0]}")
    return finish(nodes, last)


def actions_of(cell: Cell) -> Ints:
    """(steps, 4) actions that build a cell; ValueError if a sum or product has more than three inputs."""
    rows = []
    for op, inputs in cell.nodes:
        if len(inputs) > SLOTS:
            raise ValueError(f"cell must have operations of at most {SLOTS} inputs, got one of {len(inputs)}")
        slots = [_vector(cell, k) for k in inputs]
        rows.append([op, *slots, *[0] * (SLOTS - len(slots))])
    outputs = [_vector(cell, k) for k in cell.outputs]
    rows.append([END, *outputs, *[0] * (SLOTS - len(outputs))])
    return np.array(rows, dtype=np.int64)


def _vector(cell: Cell, k: int) -> int:
    return k + 1 if k < cell.first else k - cell.first + SOURCES


def mutate(cell: Cell | None, rng: np.random.Generator) -> Cell:
    """Return a random valid cell one edit from `cell` with another computation; if `cell` is None, a generated one.

    An edit replaces an operation, an input or a new hidden state, or inserts or deletes a node; nodes that become
    unused are removed, and no node of the result has more than three inputs.
    """
    if cell is None:
        return generate(rng)
    parent = key(cell)
    while True:
        child = _edit(cell, rng)
        if child is not None and key(child) != parent and all(len(i) <= SLOTS for _, i in child.nodes):
            return child


def _edit(cell: Cell, rng: np.random.Generator) -> Cell | None:
    """Apply one random edit; return None if the result is outside the search space."""
    nodes, outputs = [(op, list(inputs)) for op, inputs in cell.nodes], list(cell.outputs)
    j = int(rng.integers(len(nodes)))
    op, inputs = nodes[j]
    kind = int(rng.integers(5))
    if kind == 0:  # Another operation that takes as many inputs.
        fitting = [o for o in range(len(OPERATIONS)) if o != op and arity_error(o, len(inputs)) is None]
        nodes[j] = (int(rng.choice(fitting)), inputs) if fitting else nodes[j]
    elif kind == 1:  # Another input.
        inputs[int(rng.integers(len(inputs)))] = int(rng.integers(cell.first + j))
    elif kind == 2:  # Another new hidden state.
        outputs[int(rng.integers(len(outputs)))] = cell.first + int(rng.integers(len(nodes)))
    elif kind == 3:  # A node more, read by a later one.
        return _insert(cell, j, rng)
    else:  # A node less: its readers read its first input instead.
        target = cell.first + j
        nodes = [(o, [inputs[0] if k == target else k for k in i]) for o, i in nodes]
        outputs = [inputs[0] if k == target else k for k in outputs]
        if any(k < cell.first for k in outputs):
            return None
    return prune(cell.hidden, [(o, tuple(i)) for o, i in nodes], tuple(outputs))


def _insert(cell: Cell, j: int, rng: np.random.Generator) -> Cell | None:
    """Insert a random node between node j and one of its inputs; None if the cell is full or the result invalid."""
    if len(cell.nodes) >= MAX_NODES:
        return None
    at = cell.first + j
    op = int(rng.integers(len(OPERATIONS)))
    target = int(rng.choice(cell.nodes[j][1]))
    count = 3 if OPERATIONS[op] == "blend" else 1 + (op < FIRST_UNARY)
    inputs = (target, *(int(k) for k in rng.integers(at, size=count - 1)))
    moved = [(o, tuple(k + (k >= at) for k in i)) for o, i in cell.nodes]
    o, i = moved[j]
    moved[j] = (o, tuple(at if k == target else k for k in i))
    nodes = [*moved[:j], (op, inputs), *moved[j:]]
    return prune(cell.hidden, nodes, tuple(k + (k >= at) for k in cell.outputs))

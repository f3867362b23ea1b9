"""A recurrent cell: operations, limits and rules of a valid one, its released recipe, and its compact text.

Search space of Klyuchnikov et al. 2020, section 3: a cell is a directed acyclic graph over the input vector `x` and
the previous hidden states `h_prev_0, ...`; each node is one operation; `h_new_i` is the next value of hidden state
i, and `h_new_0` is also the output of the cell.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hpo_envs.tables.checks import nearest

OPERATIONS = (
    "linear", "blend", "elementwise_prod", "elementwise_sum", "activation_tanh", "activation_sigm",
    "activation_leaky_relu",
)  # fmt: skip
"""The seven operations (section 3), by their names in released recipes."""

LINEAR, BLEND = OPERATIONS.index("linear"), OPERATIONS.index("blend")

MAX_NODES = 24
"""Largest number of operations in a cell (section 3), without the input vector and the previous hidden states."""

MAX_HIDDEN = 3
"""Largest number of hidden states (section 3)."""

MAX_LINEAR = 3
"""Largest number of input vectors of a linear node (section 3)."""

MAX_TEXT = 65_536
"""Largest number of characters of a recipe to parse; 24 nodes of up to three inputs need fewer than 3,000."""

_LETTERS = "lbpstgr"
"""One letter per operation in keys: linear, blend, product, sum, tanh, sigmoid (gate), leaky relu."""


class InvalidRecipe(ValueError):
    """A recipe outside the search space.

    Attributes:
        rule: Short name of the broken rule: `form`, `operation`, `arity`, `name`, `input`, `cycle`, `nodes`,
            `hidden`, `redundant` or `unused`.
    """

    def __init__(self, rule: str, message: str) -> None:
        super().__init__(message)
        self.rule = rule


@dataclass(frozen=True)
class Cell:
    """A valid recurrent cell.

    Vectors are numbered: 0 is the input `x`, 1 + i the previous hidden state i, 1 + hidden + j the node j. Nodes
    are in topological order: a node reads smaller numbers only.

    Attributes:
        hidden: Number of hidden states, 1 to 3.
        nodes: `(operation, inputs)` of each node; the operation indexes `OPERATIONS`.
        outputs: Number of the vector that becomes each hidden state.

    Raises:
        InvalidRecipe: The cell is outside the search space.
    """

    hidden: int
    nodes: tuple[tuple[int, tuple[int, ...]], ...]
    outputs: tuple[int, ...]

    def __post_init__(self) -> None:
        _check(self)

    @property
    def first(self) -> int:
        """Number of the first node's vector."""
        return 1 + self.hidden

    def text(self) -> str:
        """Compact text, `hidden:node;node:outputs`, e.g. `1:l0,1;t2:3` for the simple recurrent cell."""
        nodes = ";".join(_LETTERS[op] + ",".join(map(str, inputs)) for op, inputs in self.nodes)
        return f"{self.hidden}:{nodes}:{','.join(map(str, self.outputs))}"

    @classmethod
    def from_text(cls, text: str) -> Cell:
        """Return the cell of a text written by `text`; InvalidRecipe if the text or the cell is not valid."""
        numbers = "[0-9]{1,6}(,[0-9]{1,6})*"
        form = rf"[1-9]:[{_LETTERS}]{numbers}(;[{_LETTERS}]{numbers})*:{numbers}"
        if not isinstance(text, str) or not re.fullmatch(form, text):
            raise InvalidRecipe("form", f"text must look like '1:l0,1;t2:3', got {str(text)[:60]!r}")
        hidden, nodes, outputs = text.split(":")
        read = tuple((_LETTERS.index(n[0]), tuple(map(int, n[1:].split(",")))) for n in nodes.split(";"))
        return cls(int(hidden), read, tuple(map(int, outputs.split(","))))

    def recipe(self) -> dict[str, dict[str, Any]]:
        """The cell in the released form: `{name: {"op": operation, "input": [names]}}`.

        A node without parameters that becomes two hidden states is written once per state, because names of
        a recipe are unique; a linear cannot become two, because each linear of a recipe has its own weights.
        """
        names = ["x", *(f"h_prev_{i}" for i in range(self.hidden)), *(f"node_{j}" for j in range(len(self.nodes)))]
        for i in reversed(range(self.hidden)):
            names[self.outputs[i]] = f"h_new_{i}"
        written = {}
        for j, (op, inputs) in enumerate(self.nodes):
            spec = {"op": OPERATIONS[op], "input": [names[k] for k in inputs]}
            written[names[self.first + j]] = spec
            for i in range(self.hidden):
                if self.outputs[i] == self.first + j:
                    written[f"h_new_{i}"] = spec
        return written

    def to_json(self) -> str:
        """The released form as a JSON string."""
        return json.dumps(self.recipe())


def parse(recipe: str | Mapping[str, Any]) -> Cell:
    """Read a recipe in the released form, a JSON string or its object.

    Raises:
        InvalidRecipe: The object has another form, or the cell is outside the search space; the message names the rule.
    """
    if isinstance(recipe, str):
        if len(recipe) > MAX_TEXT:
            raise InvalidRecipe("form", f"recipe must have at most {MAX_TEXT} characters, got {len(recipe)}")
        try:
            recipe = json.loads(recipe, object_pairs_hook=_unique)
        except InvalidRecipe:
            raise
        except (ValueError, RecursionError) as error:
            raise InvalidRecipe("form", f"recipe must be JSON: {error}") from None
    if not isinstance(recipe, Mapping):
        raise InvalidRecipe("form", f"recipe must be an object with one entry per node, got {type(recipe).__name__}")
    if not 1 <= len(recipe) <= MAX_NODES:
        raise InvalidRecipe("nodes", f"recipe must have 1 to {MAX_NODES} nodes, got {len(recipe)}")
    specs = {name: _spec(name, spec) for name, spec in recipe.items()}
    outputs = sorted(int(m[1]) for name in specs if (m := re.fullmatch(r"h_new_(0|[1-9][0-9]{0,5})", name)))
    hidden = len(outputs)
    if not 1 <= hidden <= MAX_HIDDEN or outputs != list(range(hidden)):
        raise InvalidRecipe(
            "hidden", f"recipe must have h_new_0 to at most h_new_{MAX_HIDDEN - 1} without gaps, got {outputs}"
        )
    number = {"x": 0} | {f"h_prev_{i}": 1 + i for i in range(hidden)}
    for name, (_, inputs) in specs.items():
        for k in inputs:
            if k not in number and k not in specs:
                known = (*number, *specs)
                raise InvalidRecipe("input", f"input of {name} must be one of {known}, got {k!r}{nearest(k, known)}")
    for name in _topological(specs, number):
        number[name] = len(number)
    nodes = sorted((number[name], (op, tuple(number[k] for k in inputs))) for name, (op, inputs) in specs.items())
    return Cell(hidden, tuple(node for _, node in nodes), tuple(number[f"h_new_{i}"] for i in range(hidden)))


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len({k for k, _ in pairs}) != len(pairs):
        raise InvalidRecipe("name", f"names in a recipe must be unique, got {[k for k, _ in pairs][:30]}")
    return dict(pairs)


def _spec(name: Any, spec: Any) -> tuple[int, tuple[str, ...]]:
    """(operation, input names) of one entry of a recipe; InvalidRecipe if it breaks a rule."""
    if not isinstance(name, str) or name == "x" or re.fullmatch(r"h_prev_\d+", name):
        raise InvalidRecipe("name", f"a node must not be named 'x' or 'h_prev_i', got {name!r}")
    if not isinstance(spec, Mapping) or set(spec) != {"op", "input"}:
        raise InvalidRecipe("form", f"node {name} must have exactly the entries op and input, got {str(spec)[:80]}")
    op, inputs = spec["op"], spec["input"]
    if op not in OPERATIONS:
        raise InvalidRecipe(
            "operation", f"op of {name} must be one of {', '.join(OPERATIONS)}, got {op!r}{nearest(op, OPERATIONS)}"
        )
    if isinstance(inputs, str) or not isinstance(inputs, Sequence) or not all(isinstance(k, str) for k in inputs):
        raise InvalidRecipe("form", f"input of {name} must be a list of names, got {str(inputs)[:80]}")
    return OPERATIONS.index(op), tuple(inputs)


def _topological(specs: Mapping[str, tuple[int, tuple[str, ...]]], sources: Mapping[str, int]) -> list[str]:
    """Names in topological order, earliest in the recipe first; InvalidRecipe if there is a cycle."""
    order: list[str] = []
    ready = set(sources)
    waiting = list(specs)
    while waiting:
        found = next((name for name in waiting if all(k in ready for k in specs[name][1])), None)
        if found is None:
            raise InvalidRecipe("cycle", f"recipe must have no cycle, got one among {', '.join(sorted(waiting))}")
        waiting.remove(found)
        ready.add(found)
        order.append(found)
    return order


def arity_error(op: int, count: int) -> str | None:
    """Error message if an operation cannot take this many inputs, else None."""
    name = OPERATIONS[op]
    if name == "linear":
        return None if 1 <= count <= MAX_LINEAR else f"linear must have 1 to {MAX_LINEAR} inputs, got {count}"
    if name == "blend":
        return None if count == 3 else f"blend must have 3 inputs (z, x, y), got {count}"
    if name.startswith("elementwise"):
        return None if 2 <= count <= MAX_NODES else f"{name} must have at least 2 inputs, got {count}"
    return None if count == 1 else f"{name} must have 1 input, got {count}"


def _check(cell: Cell) -> None:
    """Raise InvalidRecipe if a cell breaks a rule of section 3."""
    if not 1 <= cell.hidden <= MAX_HIDDEN or len(cell.outputs) != cell.hidden:
        raise InvalidRecipe(
            "hidden", f"a cell must have 1 to {MAX_HIDDEN} hidden states and as many outputs, got {cell.hidden}"
        )
    if not 1 <= len(cell.nodes) <= MAX_NODES:
        raise InvalidRecipe("nodes", f"a cell must have 1 to {MAX_NODES} nodes, got {len(cell.nodes)}")
    for j, (op, inputs) in enumerate(cell.nodes):
        if not 0 <= op < len(OPERATIONS):
            raise InvalidRecipe("operation", f"operation of node {j} must index OPERATIONS, got {op}")
        if (problem := arity_error(op, len(inputs))) is not None:
            raise InvalidRecipe("arity", f"node {j}: {problem}")
        if not all(0 <= k < cell.first + j for k in inputs):
            raise InvalidRecipe("cycle", f"inputs of node {j} must be vectors before it, got {inputs}")
    if not all(cell.first <= k < cell.first + len(cell.nodes) for k in cell.outputs):
        raise InvalidRecipe("hidden", f"every new hidden state must be a node of the cell, got {cell.outputs}")
    linear = [k for k in cell.outputs if cell.nodes[k - cell.first][0] == 0]
    if len(set(linear)) < len(linear):
        raise InvalidRecipe("hidden", f"a linear must not become two hidden states, got {cell.outputs}")
    used = leading(cell.nodes, cell.first, cell.outputs)
    dead = [j for j in range(len(cell.nodes)) if cell.first + j not in used]
    if dead:
        raise InvalidRecipe("redundant", f"every node must lead to a new hidden state, got redundant nodes {dead}")
    unused = [("x", *(f"h_prev_{i}" for i in range(cell.hidden)))[k] for k in range(cell.first) if k not in used]
    if unused:
        raise InvalidRecipe("unused", f"the input vector and every hidden state must be used, got unused {unused}")


def leading(nodes: Sequence[tuple[int, tuple[int, ...]]], first: int, outputs: Sequence[int]) -> set[int]:
    """Numbers of the vectors that lead to a new hidden state, nodes counted from `first`; includes `outputs`."""
    used = set(outputs)
    for j in reversed(range(len(nodes))):
        if first + j in used:
            used.update(nodes[j][1])
    return used


def accepted(cell: Cell) -> bool:
    """Return whether no previous hidden state is an input of a new one: the generator's last rule (section 3).

    It prevents numeric explosions and is not a limit of the search space: the GRU does not satisfy it.
    """
    return all(k > cell.hidden or k == 0 for out in cell.outputs for k in cell.nodes[out - cell.first][1])


EXAMPLES: dict[str, Cell] = {
    "RNN": Cell.from_text("1:l0,1;t2:3"),
    "LSTM": Cell.from_text("2:l0,1;t3;l0,1;g5;l0,1;g7;l0,1;t9;p8,2;p4,6;s11,12;t13;p14,10:15,13"),
    "GRU": Cell.from_text("1:l0,1;g2;l0,1;g4;p3,1;l0,6;t7;b5,1,8:9"),
}
"""The conventional cells (figure 2), as the release writes them: its LSTM has a tanh on the output gate."""

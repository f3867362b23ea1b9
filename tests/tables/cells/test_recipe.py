"""Recipes, the text forms of cells, and their canonical form: one key for each computation."""

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

from hpo_envs.tables import cells, store
from hpo_envs.tables.cells.forward import draw_weights
from hpo_envs.tables.cells.recipe import Cell, InvalidRecipe
from tests.helpers import needs_upstream, rejects
from tests.tables.cells.helpers import SEEDS, drawn

RNN = {"f": {"op": "linear", "input": ["x", "h_prev_0"]}, "h_new_0": {"op": "activation_tanh", "input": ["f"]}}


def with_node(name: str, op: str, inputs: list[str]) -> dict[str, Any]:
    return {**RNN, name: {"op": op, "input": inputs}}


BAD = [
    ("form", "[]"), ("form", "not json"), ("form", '{"a": 1'), ("form", " " * 70_000), ("nodes", {}),
    ("nodes", {f"n{i}": {"op": "linear", "input": ["x", "h_prev_0"]} for i in range(24)} | {"h_new_0": RNN["h_new_0"]}),
    ("form", {"h_new_0": {"op": "linear"}}), ("form", {"h_new_0": ["linear", ["x"]]}),
    ("form", {"h_new_0": {"op": "linear", "input": "x"}}), ("form", {"h_new_0": {"op": "linear", "input": [1]}}),
    ("operation", with_node("h_new_0", "activation_relu", ["f"])), ("operation", with_node("h_new_0", None, ["f"])),
    ("arity", with_node("h_new_0", "activation_tanh", ["f", "x"])),
    ("arity", with_node("h_new_0", "blend", ["f", "x"])), ("arity", with_node("h_new_0", "elementwise_sum", ["f"])),
    ("arity", with_node("h_new_0", "linear", ["f", "x", "h_prev_0", "f"])),
    ("arity", with_node("h_new_0", "linear", [])), ("input", with_node("h_new_0", "activation_tanh", ["g"])),
    ("input", with_node("h_new_0", "activation_tanh", ["h_prev_1"])),
    ("name", with_node("x", "activation_tanh", ["f"])), ("name", with_node("h_prev_0", "activation_tanh", ["f"])),
    ("name", '{"h_new_0": {"op": "linear", "input": ["x", "h_prev_0"]}, "h_new_0": {"op": "linear", "input": ["x"]}}'),
    ("hidden", {"f": RNN["f"]}), ("hidden", with_node("h_new_2", "activation_tanh", ["f"])),
    ("hidden", RNN | {f"h_new_{i}": RNN["h_new_0"] for i in range(1, 4)}),
    ("cycle", RNN | {"f": {"op": "linear", "input": ["x", "h_prev_0", "h_new_0"]}}),
    ("cycle", with_node("g", "activation_tanh", ["g"])), ("redundant", with_node("g", "activation_tanh", ["f"])),
    ("unused", RNN | {"f": {"op": "linear", "input": ["h_prev_0"]}}),
    ("unused", RNN | {"f": {"op": "linear", "input": ["x"]}}), ("unused", RNN | {"h_new_1": RNN["h_new_0"]}),
]  # fmt: skip


@pytest.mark.parametrize(("rule", "recipe"), BAD, ids=[f"{i}-{r}" for i, (r, _) in enumerate(BAD)])
def test_recipes_outside_space_name_rule(rule: str, recipe: Any) -> None:
    with pytest.raises(InvalidRecipe) as error:
        cells.parse(recipe)
    assert error.value.rule == rule
    if not isinstance(recipe, str):
        with pytest.raises(InvalidRecipe) as again:
            cells.parse(json.dumps(recipe))
        assert again.value.rule == rule


def test_misspelt_operations_suggest_nearest() -> None:
    with pytest.raises(InvalidRecipe, match="did you mean 'activation_tanh'"):
        cells.parse(with_node("h_new_0", "activation_tan", ["f"]))


def test_deeply_nested_json_is_error_of_form() -> None:
    rejects("JSON", cells.parse, "[" * 60_000, error=InvalidRecipe)


def test_twenty_four_nodes_are_allowed() -> None:
    chain = {"n0": RNN["f"]} | {f"n{i}": {"op": "activation_tanh", "input": [f"n{i - 1}"]} for i in range(1, 23)}
    assert len(cells.parse(chain | {"h_new_0": {"op": "activation_tanh", "input": ["n22"]}}).nodes) == 24


def test_conventional_cells_are_instances() -> None:
    assert cells.parse(RNN) == cells.EXAMPLES["RNN"]
    assert {name: len(c.nodes) for name, c in cells.EXAMPLES.items()} == {"RNN": 2, "LSTM": 13, "GRU": 8}
    assert [cells.accepted(c) for c in cells.EXAMPLES.values()] == [True, True, False]


@needs_upstream
def test_conventional_cells_are_released_ones() -> None:
    released = json.loads(store.read("nasbenchnlp/data/recepies_example.json"))
    assert [cells.key(cells.parse(r)) for r in released[:3]] == [cells.key(c) for c in cells.EXAMPLES.values()]


@given(SEEDS)
@settings(max_examples=60, deadline=None)
def test_text_forms_are_inverse(seed: int) -> None:
    cell = drawn(seed)
    assert Cell.from_text(cell.text()) == cell
    again = cells.parse(cell.to_json())
    assert cells.key(again) == cells.key(cell)
    assert np.array_equal(cells.actions_of(cells.cell_of(cells.actions_of(cell))), cells.actions_of(cell))


def test_linear_becomes_one_hidden_state_only() -> None:
    assert len(Cell.from_text("2:l0,1,2;t3:4,4").recipe()) == 3
    rejects("a linear must not become two hidden states", Cell.from_text, "2:l0,1,2:3,3", error=InvalidRecipe)


@pytest.mark.parametrize("text", [
    "", "1:t0:2", "9:l0,1:3", "1:l0,1;t9:3", "1:l0,1:2:3", "1:z0:2", "1:l0,1:9", 7,
    f"1:l0,1;t2:3{'0' * 70_000}", "1:l0,1;t2:" + "3," * 32_762 + "33:x", "1:l0,1;t2:٣",
])  # fmt: skip
def test_texts_that_are_no_cell(text: Any) -> None:
    with pytest.raises(InvalidRecipe):
        Cell.from_text(text)


@given(SEEDS)
@settings(max_examples=120, deadline=None)
def test_one_computation_has_one_key(seed: int) -> None:
    """Renaming, reordering, swapped arguments of commutative operations and renumbered states change no key."""
    cell, rng = drawn(seed), np.random.default_rng(seed + 1)
    states = [0, *(1 + rng.permutation(cell.hidden - 1)).tolist()]
    recipe = cell.recipe()
    names = {n: f"v{i}" for n, i in zip(recipe, rng.permutation(len(recipe)).tolist(), strict=True)}
    for i, s in enumerate(states):
        names[f"h_prev_{i}"], names[f"h_new_{i}"] = f"h_prev_{s}", f"h_new_{s}"
    names["x"] = "x"
    entries = []
    for n, spec in recipe.items():
        inputs = [names[k] for k in spec["input"]]
        if spec["op"] != "blend":
            inputs = [inputs[i] for i in rng.permutation(len(inputs))]
        entries.append((names[n], {"op": spec["op"], "input": inputs}))
    shuffled = dict(entries[i] for i in rng.permutation(len(entries)))
    assert cells.key(cells.parse(shuffled)) == cells.key(cell)
    assert np.array_equal(cells.embed([cells.parse(shuffled)]), cells.embed([cell]))


@given(SEEDS)
@settings(max_examples=60, deadline=None)
def test_canonical_form_computes_same(seed: int) -> None:
    cell, rng = drawn(seed), np.random.default_rng(seed)
    twin = cells.canonical(cell)
    assert cells.canonical(twin) == twin
    assert len(twin.nodes) <= len(cell.nodes)
    assert cells.parameters(twin, 10) == cells.parameters(cell, 10)
    # Numbers: with all matrices equal, order and names of the linears cannot matter.
    states = [rng.standard_normal(4)] + [np.full(4, 0.5)] * (cell.hidden - 1)
    x, w = rng.standard_normal(4), rng.standard_normal((4, 4))
    outs = []
    for c in (cell, twin):
        weights = draw_weights(c, 4, 4, rng)
        same = cells.LinearWeights(
            tuple(tuple(w for _ in ms) for ms in weights.matrices),
            tuple(None if b is None else np.ones(4) for b in weights.biases),
        )
        outs.append(cells.forward(c, same, x, states, cap=1e9)[0])
    assert np.allclose(outs[0], outs[1])


def test_different_computations_have_different_keys() -> None:
    swapped = "1:l0,1;l0,1;g2;t3;b4,5,1:6", "1:l0,1;l0,1;g2;t3;b4,1,5:6"
    linears = "1:l0,1;l0,1;s2,3:4", "1:l0,1;s2,2:3"
    crossed = "2:l0,1;t3;l0,2;g5:4,6", "2:l0,1;t3;l0,2;g5:6,4"
    for a, b in (swapped, linears, crossed):
        assert cells.key(Cell.from_text(a)) != cells.key(Cell.from_text(b))


def test_repeated_activations_are_merged() -> None:
    assert cells.key(Cell.from_text("1:l0,1;t2;t2;s3,4:5")) == cells.key(Cell.from_text("1:l0,1;t2;s3,3:4"))


def test_symmetric_cells_are_quick() -> None:
    """Eight interchangeable branches have 40,320 orders; automorphisms keep the search short."""
    heads = ";".join(["l0,1"] * 8)
    tails = ";".join(f"t{i}" for i in range(2, 10))
    cell = Cell.from_text(f"1:{heads};{tails};s10,11,12,13,14,15,16,17:18")
    assert cells.canonical(cell) == cells.canonical(cells.parse(cell.to_json()))

"""Recipes, their canonical form and the forward pass."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hpo_envs.tables import cells, store
from hpo_envs.tables.cells import features
from hpo_envs.tables.cells.forward import draw_weights
from hpo_envs.tables.cells.generate import HIDDEN
from hpo_envs.tables.cells.recipe import Cell, InvalidRecipe
from hpo_envs.tables.datasets.nasbenchnlp import model

RNN = {"f": {"op": "linear", "input": ["x", "h_prev_0"]}, "h_new_0": {"op": "activation_tanh", "input": ["f"]}}
SEEDS = st.integers(0, 2**32 - 1)


def drawn(seed: int) -> Cell:
    """A generated cell, mutated a little so that it leaves the generator's grammar."""
    rng = np.random.default_rng(seed)
    cell = cells.generate(rng)
    for _ in range(int(rng.integers(4))):
        cell = cells.mutate(cell, rng)
    return cell


# ------------------------------------------------------------------------------------------------ recipes


def with_node(name: str, op: str, inputs: list[str]) -> dict[str, Any]:
    return {**RNN, name: {"op": op, "input": inputs}}


BAD = [
    ("form", "[]"),
    ("form", "not json"),
    ("form", '{"a": 1'),
    ("form", " " * 70_000),
    ("nodes", {}),
    ("nodes", {f"n{i}": {"op": "linear", "input": ["x", "h_prev_0"]} for i in range(24)} | {"h_new_0": RNN["h_new_0"]}),
    ("form", {"h_new_0": {"op": "linear"}}),
    ("form", {"h_new_0": ["linear", ["x"]]}),
    ("form", {"h_new_0": {"op": "linear", "input": "x"}}),
    ("form", {"h_new_0": {"op": "linear", "input": [1]}}),
    ("operation", with_node("h_new_0", "activation_relu", ["f"])),
    ("operation", with_node("h_new_0", None, ["f"])),
    ("arity", with_node("h_new_0", "activation_tanh", ["f", "x"])),
    ("arity", with_node("h_new_0", "blend", ["f", "x"])),
    ("arity", with_node("h_new_0", "elementwise_sum", ["f"])),
    ("arity", with_node("h_new_0", "linear", ["f", "x", "h_prev_0", "f"])),
    ("arity", with_node("h_new_0", "linear", [])),
    ("input", with_node("h_new_0", "activation_tanh", ["g"])),
    ("input", with_node("h_new_0", "activation_tanh", ["h_prev_1"])),
    ("name", with_node("x", "activation_tanh", ["f"])),
    ("name", with_node("h_prev_0", "activation_tanh", ["f"])),
    ("name", '{"h_new_0": {"op": "linear", "input": ["x", "h_prev_0"]}, "h_new_0": {"op": "linear", "input": ["x"]}}'),
    ("hidden", {"f": RNN["f"]}),
    ("hidden", with_node("h_new_2", "activation_tanh", ["f"])),
    ("hidden", RNN | {f"h_new_{i}": RNN["h_new_0"] for i in range(1, 4)}),
    ("cycle", RNN | {"f": {"op": "linear", "input": ["x", "h_prev_0", "h_new_0"]}}),
    ("cycle", with_node("g", "activation_tanh", ["g"])),
    ("redundant", with_node("g", "activation_tanh", ["f"])),
    ("unused", RNN | {"f": {"op": "linear", "input": ["h_prev_0"]}}),
    ("unused", RNN | {"f": {"op": "linear", "input": ["x"]}}),
    ("unused", RNN | {"h_new_1": RNN["h_new_0"]}),
]


@pytest.mark.parametrize(("rule", "recipe"), BAD, ids=[f"{i}-{r}" for i, (r, _) in enumerate(BAD)])
def test_recipes_outside_the_space_name_the_rule(rule: str, recipe: Any) -> None:
    with pytest.raises(InvalidRecipe) as error:
        cells.parse(recipe)
    assert error.value.rule == rule
    if not isinstance(recipe, str):
        with pytest.raises(InvalidRecipe) as again:
            cells.parse(json.dumps(recipe))
        assert again.value.rule == rule


def test_misspelt_operations_suggest_the_nearest() -> None:
    with pytest.raises(InvalidRecipe, match="did you mean 'activation_tanh'"):
        cells.parse(with_node("h_new_0", "activation_tan", ["f"]))


def test_deeply_nested_json_is_an_error_of_form() -> None:
    with pytest.raises(InvalidRecipe, match="JSON"):
        cells.parse("[" * 60_000)


def test_twenty_four_nodes_are_allowed() -> None:
    chain = {"n0": RNN["f"]} | {f"n{i}": {"op": "activation_tanh", "input": [f"n{i - 1}"]} for i in range(1, 23)}
    assert len(cells.parse(chain | {"h_new_0": {"op": "activation_tanh", "input": ["n22"]}}).nodes) == 24


def test_conventional_cells_are_instances() -> None:
    assert cells.parse(RNN) == cells.EXAMPLES["RNN"]
    assert {name: len(c.nodes) for name, c in cells.EXAMPLES.items()} == {"RNN": 2, "LSTM": 13, "GRU": 8}
    assert [cells.accepted(c) for c in cells.EXAMPLES.values()] == [True, True, False]


@pytest.mark.measured
def test_conventional_cells_are_the_released_ones() -> None:
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
def test_the_canonical_form_computes_the_same(seed: int) -> None:
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
        same = cells.Weights(
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


def test_a_linear_becomes_one_hidden_state_only() -> None:
    assert len(Cell.from_text("2:l0,1,2;t3:4,4").recipe()) == 3
    with pytest.raises(InvalidRecipe, match="a linear must not become two hidden states"):
        Cell.from_text("2:l0,1,2:3,3")


@pytest.mark.parametrize("text", ["", "1:t0:2", "9:l0,1:3", "1:l0,1;t9:3", "1:l0,1:2:3", "1:z0:2", "1:l0,1:9", 7])
def test_texts_that_are_no_cell(text: Any) -> None:
    with pytest.raises(InvalidRecipe):
        Cell.from_text(text)


# ------------------------------------------------------------------------------------------------ size, forward


def test_parameters_count_the_weights_of_three_layers() -> None:
    rng = np.random.default_rng(0)
    for cell in [*cells.EXAMPLES.values(), drawn(5), drawn(6)]:
        layers = [draw_weights(cell, i, h, rng).parameters for i, h in ((400, 600), (600, 600), (600, 400))]
        assert cells.parameters(cell, 1000) == sum(layers) + 1000 * 400 + 1000


def test_table_2_sizes_of_conventional_cells() -> None:
    """Table 2 prints 10.9M, 9.2M and 5.73M (PTB)."""
    sizes = {n: cells.parameters(c, cells.VOCABULARY["ptb"]) for n, c in cells.EXAMPLES.items()}
    assert round(sizes["LSTM"] / 1e6, 1) == 10.9
    assert round(sizes["GRU"] / 1e6, 1) == 9.2
    assert round(sizes["RNN"] / 1e6, 2) == 5.73


def test_forward_is_the_gru_of_the_textbook() -> None:
    rng = np.random.default_rng(1)
    cell = cells.EXAMPLES["GRU"]
    weights = draw_weights(cell, 3, 5, rng)
    x, h = rng.standard_normal(3), rng.standard_normal(5)
    (wr, ur), (wz, uz), (wh, uh) = (m for m in weights.matrices if m)
    br, bz, bh = (b for b in weights.biases if b is not None)
    r, z = (1 / (1 + np.exp(-(x @ w + h @ u + b))) for w, u, b in ((wr, ur, br), (wz, uz, bz)))
    expected = z * h + (1 - z) * np.tanh(x @ wh + (r * h) @ uh + bh)
    assert np.allclose(cells.forward(cell, weights, x, [h])[0], expected)
    with pytest.raises(ValueError, match="states must be 1 arrays"):
        cells.forward(cell, weights, x, [h, h])


def test_forward_of_every_operation() -> None:
    cell = Cell.from_text("1:l0,1;r2;g2;p3,4;s5,2;b4,6,1:7")
    weights = cells.Weights(((np.eye(2), -np.eye(2)), (), (), (), (), ()), (np.zeros(2), None, None, None, None, None))
    x, h = np.array([1.0, 0.0]), np.array([0.0, 2.0])
    lin = x - h
    leaky, gate = np.where(lin > 0, lin, 0.01 * lin), 1 / (1 + np.exp(-lin))
    expected = gate * (leaky * gate + lin) + (1 - gate) * h
    assert np.allclose(cells.forward(cell, weights, x, [h])[0], expected)


# ------------------------------------------------------------------------------------------------ generator, graph


def test_generated_cells_obey_the_rules_and_the_seed() -> None:
    one, two = (
        [cells.generate(rng) for _ in range(60)] for rng in (np.random.default_rng(3), np.random.default_rng(3))
    )
    assert one == two
    assert all(cells.accepted(c) for c in one)
    assert {c.hidden for c in one} == {1, 2, 3}
    assert sum(HIDDEN) == pytest.approx(1.0)
    assert all(c.hidden == 2 for c in (cells.generate(np.random.default_rng(i), hidden=2) for i in range(5)))


@pytest.mark.parametrize("kwargs", [{"hidden": 0}, {"hidden": 4}, {"nodes": 5}, {"nodes": 25}])
def test_generator_arguments(kwargs: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="must be None or an int in"):
        cells.generate(np.random.default_rng(0), **kwargs)


def test_graphs_and_edit_distance() -> None:
    lstm, rnn = cells.EXAMPLES["LSTM"], cells.EXAMPLES["RNN"]
    g = cells.graph(lstm)
    assert len(g) == 16
    assert g.nodes["h_new_0"] == {"op": "elementwise_prod", "new": 0}
    assert {d["role"] for _, _, d in cells.graph(cells.EXAMPLES["GRU"]).edges(data=True)} == {"", "z", "x", "y"}
    assert cells.edit_distance(rnn, rnn) == 0.0
    other = Cell.from_text("1:l0,1;g2:3")
    assert cells.edit_distance(rnn, other) == 1.0
    assert cells.edit_distance(lstm, rnn, seconds=0.2) >= 11
    with pytest.raises(ValueError, match="seconds must be a number > 0, got 0"):
        cells.edit_distance(rnn, other, 0)


def test_features_are_bounded_and_tell_cells_apart() -> None:
    sample = [drawn(i) for i in range(40)]
    x = cells.embed(sample)
    assert x.shape == (40, features.SIZE)
    assert ((x >= 0) & (x <= 1)).all()
    assert len({key for key in map(cells.key, sample)}) == len({r.tobytes() for r in x})
    # One cell alone has the features it has among others.
    assert np.array_equal(cells.embed([sample[7]])[0], x[7])


# ------------------------------------------------------------------------------------------------ surrogate


def test_surrogate_is_a_function_of_the_computation() -> None:
    cell = drawn(9)
    twin = cells.parse(cells.canonical(cell).to_json())
    a, b = model.simulate(cell, 1), model.simulate(twin, 1)
    assert np.array_equal(a.losses, b.losses, equal_nan=True)
    assert np.array_equal(a.seconds, b.seconds)
    assert not np.array_equal(model.simulate(cell, 0).losses, a.losses)
    assert (np.array(model.FLOORS) < np.nanmin(a.losses, axis=0)).all()


def test_divergence_ends_a_curve_with_nan() -> None:
    run = model.outcome(model.predict(drawn(3)), "name", 0, True, 0.5)
    assert len(run.losses) == len(run.seconds) < 50
    assert np.isnan(run.losses[-1]).all()
    assert not np.isnan(run.losses[:-1]).any()
    assert all(model.divergence_probability(c) == 0.0 for c in cells.EXAMPLES.values())


@pytest.mark.measured
def test_served_cells_were_not_seen_in_training() -> None:
    """The held-out error in the report is that of what the model serves."""
    m = store.load("nasbenchnlp/wikitext2", "measured")
    report = json.loads((store.Path(model.__file__).parent / "data" / "cells_report.json").read_text())
    values: dict[str, list[float]] = {}
    for row, name in enumerate(m.keys):
        for repeat in range(m.repeats):
            final = m.values[row, repeat, -1, 0]
            if not math.isnan(final):
                values.setdefault(name.split("#")[0], []).append(final)
    y = np.array([np.mean(v) for v in values.values()])
    p = model._parameters()
    plain = [model.curves(p["mean"] + model.predict(Cell.from_text(k))[:-1] @ p["components"])[-1, 0] for k in values]
    r2 = 1 - ((np.array(plain) - y) ** 2).sum() / ((y - y.mean()) ** 2).sum()
    assert r2 == pytest.approx(report["validation_loss@50"]["predicted"]["r2"], abs=0.02)
    assert r2 > 0.6

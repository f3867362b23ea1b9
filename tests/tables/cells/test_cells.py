"""Cells: features, the generator, actions, graphs and the forward pass."""

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from hypothesis import given, settings

from hpo_envs import benchmarks
from hpo_envs.tables import cells, store
from hpo_envs.tables.cells import features
from hpo_envs.tables.cells.draw import layout
from hpo_envs.tables.cells.forward import draw_weights
from hpo_envs.tables.cells.generate import HIDDEN
from hpo_envs.tables.cells.grammar import END
from hpo_envs.tables.cells.probe import PROBE_NAMES, probe
from hpo_envs.tables.cells.recipe import Cell
from tests.helpers import rejects
from tests.tables.cells.helpers import SEEDS, drawn


def test_features_are_bounded_and_tell_cells_apart() -> None:
    sample = [drawn(i) for i in range(40)]
    x = cells.embed(sample)
    assert x.shape == (40, features.SIZE)
    assert ((x >= 0) & (x <= 1)).all()
    assert len({key for key in map(cells.key, sample)}) == len({r.tobytes() for r in x})
    # One cell alone has the features it has among others.
    assert np.array_equal(cells.embed([sample[7]])[0], x[7])


def test_node_lies_above_what_it_reads() -> None:
    cell = cells.EXAMPLES["LSTM"]
    at = layout(cell)
    assert all(at[b][1] > at[a][1] for a, b in cells.graph(cell).edges)
    assert len(set(at.values())) == len(at)
    assert len([name for name in at if isinstance(name, str)]) == cell.first + len(cell.nodes)


@pytest.mark.parametrize("cell", [*cells.EXAMPLES.values(), *map(drawn, range(20))], ids=lambda cell: cell.text())
def test_edge_runs_through_no_box_of_another_node(cell: Cell) -> None:
    pytest.importorskip("matplotlib", reason="extra plots is not installed")
    axes = cells.draw(cell)
    axes.figure.draw_without_rendering()
    boxes = [t.get_bbox_patch().get_window_extent() for t in axes.texts if t.get_text()]
    edges = [line.get_transform().transform_path(line.get_path()) for line in axes.lines]
    for edge in edges:  # but for the last part, from layer to layer
        crossed = [b for b in boxes if len(edge.vertices) > 1 and edge.intersects_bbox(b, filled=False)]
        assert all(b.contains(*edge.vertices[0]) for b in crossed)


def test_picture_names_every_state_and_operation() -> None:
    pytest.importorskip("matplotlib", reason="extra plots is not installed")
    texts = [t.get_text() for t in cells.draw(cells.EXAMPLES["GRU"]).texts]
    assert {"x", "h₀ prev", "h₀: blend"} <= set(texts)
    assert texts.count("sigm") == 2


def test_equal_computations_have_equal_features_and_caller_cannot_change_them() -> None:
    one, other = Cell.from_text("1:l0,1;t2:3"), Cell.from_text("1:l1,0;t2:3")
    features = probe(one)
    assert features.shape == (len(PROBE_NAMES),)
    assert np.isfinite(features).all()
    features[:] = 0.0
    assert probe(one).tolist() == probe(other).tolist() != features.tolist()


def test_cell_that_explodes_is_larger_but_finite() -> None:
    explodes = probe(Cell.from_text("1:l0,1;s2,1;s3,3:4"))
    largest = PROBE_NAMES.index("largest@1")
    assert np.isfinite(explodes).all()
    assert explodes[largest] > probe(cells.EXAMPLES["RNN"])[largest]


def test_generated_cells_obey_rules_and_seed() -> None:
    one, two = ([cells.generate(rng) for _ in range(60)] for rng in map(np.random.default_rng, (3, 3)))
    assert one == two
    assert all(cells.accepted(c) for c in one)
    assert ({c.hidden for c in one}, sum(HIDDEN)) == ({1, 2, 3}, pytest.approx(1.0))


def test_parameters_count_weights_of_three_layers() -> None:
    rng = np.random.default_rng(0)
    for cell in [*cells.EXAMPLES.values(), drawn(5), drawn(6)]:
        layers = [draw_weights(cell, i, h, rng) for i, h in ((400, 600), (600, 600), (600, 400))]
        matrices = sum(m.size for layer in layers for of_node in layer.matrices for m in of_node)
        biases = sum(b.size for layer in layers for b in layer.biases if b is not None)
        assert cells.parameters(cell, 1000) == matrices + biases + 1000 * 400 + 1000


def test_table_2_sizes_of_conventional_cells() -> None:
    """Table 2 prints 10.9M, 9.2M and 5.73M (PTB)."""
    sizes = {n: cells.parameters(c, cells.VOCABULARY["ptb"]) for n, c in cells.EXAMPLES.items()}
    assert (round(sizes["LSTM"] / 1e6, 1), round(sizes["GRU"] / 1e6, 1)) == (10.9, 9.2)
    assert round(sizes["RNN"] / 1e6, 2) == 5.73


def test_forward_is_gru_of_textbook() -> None:
    rng = np.random.default_rng(1)
    cell = cells.EXAMPLES["GRU"]
    weights = draw_weights(cell, 3, 5, rng)
    x, h = rng.standard_normal(3), rng.standard_normal(5)
    (wr, ur), (wz, uz), (wh, uh) = (m for m in weights.matrices if m)
    br, bz, bh = (b for b in weights.biases if b is not None)
    r, z = (1 / (1 + np.exp(-(x @ w + h @ u + b))) for w, u, b in ((wr, ur, br), (wz, uz, bz)))
    expected = z * h + (1 - z) * np.tanh(x @ wh + (r * h) @ uh + bh)
    assert np.allclose(cells.forward(cell, weights, x, [h])[0], expected)
    rejects("states must be 1 arrays", cells.forward, cell, weights, x, [h, h])


def test_forward_of_every_operation() -> None:
    cell = Cell.from_text("1:l0,1;r2;g2;p3,4;s5,2;b4,6,1:7")
    none = (None,) * 4
    weights = cells.LinearWeights(((np.eye(2), -np.eye(2)), *[()] * 5), (np.zeros(2), None, *none))
    x, h = np.array([1.0, 0.0]), np.array([0.0, 2.0])
    lin = x - h
    leaky, gate = np.where(lin > 0, lin, 0.01 * lin), 1 / (1 + np.exp(-lin))
    expected = gate * (leaky * gate + lin) + (1 - gate) * h
    assert np.allclose(cells.forward(cell, weights, x, [h])[0], expected)


RNN = {"f": {"op": "linear", "input": ["x", "h_prev_0"]}, "h_new_0": {"op": "activation_tanh", "input": ["f"]}}


def test_graphs() -> None:
    g = cells.graph(cells.EXAMPLES["LSTM"])
    assert (len(g), g.nodes["h_new_0"]) == (16, {"op": "elementwise_prod", "new": 0})
    assert {d["role"] for _, _, d in cells.graph(cells.EXAMPLES["GRU"]).edges(data=True)} == {"", "z", "x", "y"}


def test_partial_cell_has_nodes_added_so_far() -> None:
    """f = linear(x, h_prev_0), g = tanh(f), in the numbers of actions."""
    nodes = [(cells.OPERATIONS.index("linear"), (1, 2)), (cells.OPERATIONS.index("activation_tanh"), (5,))]
    g = cells.graph(cells.Sketch.of(nodes))
    assert set(g.edges) == {("x", "node_0"), ("h_prev_0", "node_0"), ("node_0", "node_1")}
    assert g.nodes["node_1"]["op"] == "activation_tanh"


def test_rows_of_table_of_cells_are_graphs() -> None:
    table = store.load("nasbenchnlp/wikitext2")
    key = table.keys[4].partition("#")[0]
    assert set(table.graph(4).edges) == set(cells.graph(cells.Cell.from_text(key)).edges)
    rejects("rows of nmthpo/zhen must be cells", store.load("nmthpo/zhen").graph, 0)


def make(**kwargs: Any) -> Any:
    return gym.make("NASBenchNLP-cell-v0", **{**kwargs}).unwrapped


def test_mutation_is_valid_other_cell_and_seeded() -> None:
    problem = benchmarks.problem_of(make())
    first = problem.mutate(None, np.random.default_rng(0))
    a, b = (problem.mutate(first, np.random.default_rng(1)) for _ in range(2))
    assert np.array_equal(a, b)
    assert cells.key(cells.cell_of(a)) != cells.key(cells.cell_of(first))
    rejects(r"actions must be ints of shape \(steps, 4\)", cells.cell_of, np.zeros(4, int))
    for kinds in ((END, END), (0, 0), (-1, END), (END + 1, END)):  # in the first action, and in the last
        c = a.copy()
        c[[0, -1], 0] = kinds
        rejects(rf"the last action must have kind {END}", cells.cell_of, c, error=cells.InvalidRecipe)


@given(SEEDS)
@settings(max_examples=40, deadline=None)
def test_actions_build_cell_that_they_are_of(seed: int) -> None:
    cell = drawn(seed)
    if all(len(inputs) <= 3 for _, inputs in cell.nodes):
        assert cells.key(cells.cell_of(cells.actions_of(cell))) == cells.key(cell)


@pytest.mark.parametrize(
    ("actions", "rule"),
    [
        ([[0, 1, 2, 3], [END, 5, 5, 0]], "hidden"),
        ([[0, 1, 2, 0], [END, 5, 0, 0], [END, 5, 0, 0]], "form"),
        ([[0, 1, 2, 0], [4, 5, 0, 0], [END, 5, 6, 0]], "unused"),
        ([[0, 1, 3, 0], [END, 5, 0, 0]], "hidden"),
    ],
)
def test_last_action_names_broken_rule(actions: Any, rule: str) -> None:
    with pytest.raises(cells.InvalidRecipe) as error:
        cells.cell_of(actions)
    assert error.value.rule == rule


@pytest.mark.parametrize("actions", [[], [[7, 5, 0]], [[7.0, 5.0, 0.0, 0.0]], [7, 5, 0, 0]])
def test_non_sequence_of_actions_is_rejected(actions: Any) -> None:
    rejects(r"actions must be ints of shape \(steps, 4\)", cells.cell_of, actions)

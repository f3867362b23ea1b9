"""Cells: features, drawing, probes, generation and sizes."""

from __future__ import annotations

import numpy as np
import pytest

from hpo_envs.tables import cells
from hpo_envs.tables.cells import features
from hpo_envs.tables.cells.draw import layout
from hpo_envs.tables.cells.forward import draw_weights
from hpo_envs.tables.cells.generate import HIDDEN
from hpo_envs.tables.cells.probe import NAMES, probe
from hpo_envs.tables.cells.recipe import Cell
from tests.tables.cells.helpers import drawn


def test_features_are_bounded_and_tell_cells_apart() -> None:
    sample = [drawn(i) for i in range(40)]
    x = cells.embed(sample)
    assert x.shape == (40, features.SIZE)
    assert ((x >= 0) & (x <= 1)).all()
    assert len({key for key in map(cells.key, sample)}) == len({r.tobytes() for r in x})
    # One cell alone has the features it has among others.
    assert np.array_equal(cells.embed([sample[7]])[0], x[7])


def test_a_node_lies_above_what_it_reads() -> None:
    cell = cells.EXAMPLES["LSTM"]
    at = layout(cell)
    assert all(at[b][1] > at[a][1] for a, b in cells.graph(cell).edges)
    assert len(set(at.values())) == len(at) == cell.first + len(cell.nodes)


def test_a_picture_names_every_state_and_operation() -> None:
    pytest.importorskip("matplotlib", reason="extra plots is not installed")
    texts = [t.get_text() for t in cells.draw(cells.EXAMPLES["GRU"]).texts]
    assert {"x", "$h_0$ prev", "blend\n$h_0$"} <= set(texts)
    assert texts.count("sigm") == 2


def test_equal_computations_have_equal_features_and_a_caller_cannot_change_them() -> None:
    one, other = Cell.from_text("1:l0,1;t2:3"), Cell.from_text("1:l1,0;t2:3")
    features = probe(one)
    assert features.shape == (len(NAMES),)
    assert np.isfinite(features).all()
    features[:] = 0.0
    assert probe(one).tolist() == probe(other).tolist() != features.tolist()


def test_a_cell_that_explodes_is_larger_but_finite() -> None:
    explodes = probe(Cell.from_text("1:l0,1;s2,1;s3,3:4"))
    largest = NAMES.index("largest@1")
    assert np.isfinite(explodes).all()
    assert explodes[largest] > probe(cells.EXAMPLES["RNN"])[largest]


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


RNN = {"f": {"op": "linear", "input": ["x", "h_prev_0"]}, "h_new_0": {"op": "activation_tanh", "input": ["f"]}}


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

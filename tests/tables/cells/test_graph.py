"""Cells as graphs."""

from __future__ import annotations

import pytest

from hpo_envs.tables import cells, store
from hpo_envs.tables.cells.recipe import Cell

RNN = {"f": {"op": "linear", "input": ["x", "h_prev_0"]}, "h_new_0": {"op": "activation_tanh", "input": ["f"]}}


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


def test_a_partial_cell_has_the_nodes_added_so_far() -> None:
    """f = linear(x, h_prev_0), g = tanh(f), in the numbers of actions."""
    g = cells.partial_graph(
        [(cells.OPERATIONS.index("linear"), (1, 2)), (cells.OPERATIONS.index("activation_tanh"), (5,))]
    )
    assert set(g.edges) == {("x", "node_0"), ("h_prev_0", "node_0"), ("node_0", "node_1")}
    assert g.nodes["node_1"]["op"] == "activation_tanh"


def test_rows_of_a_table_of_cells_are_graphs() -> None:
    table = store.load("nasbenchnlp/wikitext2")
    key = table.keys[4].partition("#")[0]
    assert set(table.graph(4).edges) == set(cells.graph(cells.Cell.from_text(key)).edges)
    with pytest.raises(ValueError, match="rows of nmthpo/zhen must be cells"):
        store.load("nmthpo/zhen").graph(0)

"""Pictures of cells."""

from __future__ import annotations

import pytest

from hpo_envs.tables import cells
from hpo_envs.tables.cells.draw import layout


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

from __future__ import annotations

from hpo_envs.tables import cells
from hpo_envs.tables.datasets.cellmini.drawn import draw, drawn
from hpo_envs.tables.datasets.cellmini.names import DRAWN


def test_cells_are_distinct_computations_that_the_generator_accepts():
    kept = drawn()
    assert len({cells.key(cell) for cell in kept}) == len(kept) == DRAWN
    assert all(cells.accepted(cell) and cells.canonical(cell) == cell for cell in kept)


def test_cells_are_drawn_in_their_order():
    assert [cell.text() for cell in drawn()[:12]] == draw(12)

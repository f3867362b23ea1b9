"""Cells over many steps as loops have the bits of `forward`."""

from __future__ import annotations

import numpy as np
import pytest

from hpo_envs.tables import exact, extras
from hpo_envs.tables.cells import loops
from hpo_envs.tables.cells.forward import draw_weights, unroll
from hpo_envs.tables.cells.recipe import EXAMPLES, Cell

WIDE = Cell.from_text("2:l0,1,2;r3;g3;p3,4,5;s6,3,0;b5,7,2;t8;s9,1,3,4:10,9")


@pytest.mark.parametrize("cell", [*EXAMPLES.values(), Cell.from_text("1:s0,1;p2,2:3"), WIDE])
def test_steps_have_the_bits_of_forward(cell: Cell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extras, "loops", lambda module: None)
    rng = np.random.default_rng(0)
    weights, states = draw_weights(cell, 4, 4, rng), rng.normal(size=(cell.hidden, 2, 3, 4))
    x = rng.normal(size=(3, 2, 3, 4)) * np.array([1.0, 1e-3])[:, None, None]
    for cap in (1.5, 1e6):
        expected, found = unroll(cell, weights, x, states, cap), loops.unroll(cell, weights, x, states, cap)
        assert [a.tobytes() for a in found] == [a.tobytes() for a in expected]


def test_the_hyperbolic_tangent_has_the_bits_of_arrays() -> None:
    rng = np.random.default_rng(0)
    x = np.concatenate(
        [rng.uniform(-700.0, 700.0, 300), rng.normal(size=300), [0.0, -0.0, 1e-300, -1e6, 354.9, -372.2]]
    )
    out = np.empty_like(x)
    loops.tanh(x, out)
    assert out.tobytes() == exact.tanh(x).tobytes()

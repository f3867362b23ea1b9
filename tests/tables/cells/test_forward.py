"""The forward pass."""

from __future__ import annotations

import numpy as np
import pytest

from hpo_envs.tables import cells
from hpo_envs.tables.cells.forward import draw_weights
from hpo_envs.tables.cells.recipe import Cell


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

"""Numbers of parameters."""

from __future__ import annotations

import numpy as np

from hpo_envs.tables import cells
from hpo_envs.tables.cells.forward import draw_weights
from tests.tables.cells.helpers import drawn

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

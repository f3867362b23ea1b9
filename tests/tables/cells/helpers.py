"""Random cells."""

import numpy as np
from hypothesis import strategies as st

from hpo_envs.tables import cells
from hpo_envs.tables.cells.recipe import Cell

SEEDS = st.integers(0, 2**32 - 1)


def drawn(seed: int) -> Cell:
    """A generated cell with a few mutations, so that it leaves the generator's grammar."""
    rng = np.random.default_rng(seed)
    cell = cells.generate(rng)
    for _ in range(int(rng.integers(4))):
        cell = cells.mutate(cell, rng)
    return cell

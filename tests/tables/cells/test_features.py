"""Features of cells."""

from __future__ import annotations

import numpy as np

from hpo_envs.tables import cells
from hpo_envs.tables.cells import features
from tests.tables.cells.helpers import drawn


def test_features_are_bounded_and_tell_cells_apart() -> None:
    sample = [drawn(i) for i in range(40)]
    x = cells.embed(sample)
    assert x.shape == (40, features.SIZE)
    assert ((x >= 0) & (x <= 1)).all()
    assert len({key for key in map(cells.key, sample)}) == len({r.tobytes() for r in x})
    # One cell alone has the features it has among others.
    assert np.array_equal(cells.embed([sample[7]])[0], x[7])

"""The probe of untrained networks."""

from __future__ import annotations

import numpy as np

from hpo_envs.tables import cells
from hpo_envs.tables.cells.probe import NAMES, probe
from hpo_envs.tables.cells.recipe import Cell


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

"""Pieces of the fit of the cells' surrogate."""

from __future__ import annotations

import numpy as np

from hpo_envs.tables.cells import key
from hpo_envs.tables.datasets.nasbenchnlp import fit


def test_generated_cells_are_distinct() -> None:
    cells = fit.distinct(12, seed=1)
    assert len({key(c) for c in cells}) == 12
    assert fit.distinct(14, seed=1)[:12] == cells


def test_the_root_of_a_correlation() -> None:
    residuals = np.random.default_rng(0).normal(size=(400, 2)) @ [[1.0, 0.8], [0.0, 0.6]]
    root = fit._root(residuals)
    product = root @ root.T
    assert np.allclose(np.diag(product), 1.0, atol=1e-6)
    assert abs(product[0, 1] - 0.8) < 0.1

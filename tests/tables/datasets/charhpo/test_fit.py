"""The fit of the surrogate of the sweeps."""

from __future__ import annotations

import numpy as np
import pytest

from hpo_envs.tables.datasets.charhpo import model


def test_refitting_gives_the_shipped_trees() -> None:
    import sklearn

    from hpo_envs.tables.datasets.charhpo import fit as fit_charhpo

    if sklearn.__version__.split(".")[:2] != fit_charhpo.FITTED_WITH.split(".")[:2]:
        pytest.skip("another scikit-learn draws other subsamples")
    shipped = model.load()
    _, x, score, _, _ = fit_charhpo.sweeps(1)
    features, thresholds, leaves, base = fit_charhpo.train(0, x, score)
    assert (features == shipped.features[1, 0]).all()
    assert (thresholds == shipped.thresholds[1, 0]).all()
    assert np.abs(leaves.astype(int) - shipped.leaves[1, 0]).max() <= 1
    assert base == pytest.approx(float(shipped.base[1, 0]))

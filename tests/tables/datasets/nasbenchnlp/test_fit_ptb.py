"""Pieces of the fit of the PTB tables."""

from __future__ import annotations

import numpy as np
import pytest

from hpo_envs.tables.datasets.nasbenchnlp.fit_ptb import _calibrated


@pytest.mark.parametrize("share", [0.02, 0.5, 0.9])
def test_probabilities_are_moved_to_their_mean(share: float) -> None:
    z = np.random.default_rng(0).normal(3.0, 2.0, 200)
    p = _calibrated(z, share)
    assert p.mean() == pytest.approx(share, abs=1e-9)
    assert np.array_equal(np.argsort(p, kind="stable"), np.argsort(z, kind="stable"))

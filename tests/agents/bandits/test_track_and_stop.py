"""Optimal weights against a direct search."""

from __future__ import annotations

import numpy as np
import pytest

from hpo_envs.agents.bandits.track_and_stop import optimal_weights


def test_optimal_weights_against_a_direct_search() -> None:
    means, variances = np.array([0.5, 0.4, 0.2]), np.array([1.0, 4.0, 1.0])

    def rate(w: np.ndarray) -> float:
        return float(min((means[0] - means[j]) ** 2 / (variances[0] / w[0] + variances[j] / w[j]) for j in (1, 2)))

    w = optimal_weights(means, variances)
    assert w.sum() == pytest.approx(1.0)
    grid = np.linspace(0.01, 0.98, 98)
    best = max(rate(np.array([a, c, 1 - a - c])) for a in grid for c in grid if a + c < 0.995)
    assert rate(w) >= best - 1e-9
    assert optimal_weights(np.array([0.5, 0.5]), np.array([1.0, 1.0])) == pytest.approx([0.5, 0.5], abs=1e-3)

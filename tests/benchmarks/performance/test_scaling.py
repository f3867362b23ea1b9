"""The model of many workers, and the loop around an agent that costs nothing."""

from __future__ import annotations

import numpy as np
import pytest

from hpo_envs.benchmarks.performance import scaling


def test_efficiency_by_hand() -> None:
    (length,) = np.random.default_rng(0).uniform(0.5, 1.5, 1)
    assert scaling.efficiency(1, 1, 1.0, 0.0, 0.0) == pytest.approx(1.0)
    assert scaling.efficiency(1, 1, 1.0, length, 0.0) == pytest.approx(0.5)
    assert scaling.efficiency(1, 1, 1.0, 0.0, length) == pytest.approx(0.5)
    assert scaling.efficiency(2, 1, 1.0, 0.0, 0.0) == pytest.approx(0.5)


def test_a_busy_coordinator_limits_many_workers() -> None:
    shares = [scaling.efficiency(w, 2000, 1.0, 0.0, 0.01) for w in (10, 100, 1000)]
    assert shares == sorted(shares, reverse=True)
    assert shares[0] > 0.9
    assert shares[-1] == pytest.approx(0.1, rel=0.1)


def test_the_loop_is_measured() -> None:
    found = scaling.harness("NMTHPO-zhen-v0", 2, 3, rounds=1)
    assert found
    assert all(np.isfinite(value) for value in found.values())

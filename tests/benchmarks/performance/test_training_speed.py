"""The share of training that is the environment."""

from __future__ import annotations

import pytest

pytest.importorskip("stable_baselines3", reason="extra rl is not installed")


def test_share_of_training_time() -> None:
    from hpo_envs.benchmarks.performance.training_speed import measure

    share = measure("NMTHPO-zhen-v0", 64, 2560, table="surrogate")
    assert share.steps == 2560
    assert 0.0 < share.environment < share.environment + share.adapter < share.total
    assert "environment" in share.line()

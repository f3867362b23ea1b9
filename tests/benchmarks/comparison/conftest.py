"""Runs shared by several tests."""

from typing import Any

import pytest

from hpo_envs.benchmarks import Comparison
from hpo_envs.benchmarks.runs import Run, run


@pytest.fixture(scope="package")
def runs() -> list[Run]:
    """Two agents on two environments with one objective, one with two, a bandit and curves."""
    plan = {
        "NMTHPO-zhen-v0": ("random", "graph-ei-rbf", "bo-ei-rbf"),
        "NMTHPO-jaen-v0": ("random", "graph-ei-rbf", "bo-ei-rbf"),
        "NMTHPO-zhen-mo-v0": ("random", "bo-ehvi-rbf"),
        "FIESTA-tdsa8-v0": ("random", "sh"),
        "NMTLC-ft-zhen-v0": ("random", "hyperband"),
    }
    return [r for env, names in plan.items() for a in names for r in run(a, env, range(6), budget=None)]


@pytest.fixture(scope="package")
def summarised(runs: list[Run]) -> dict[str, Any]:
    return Comparison.of(runs).summary(title="A test", command="hpo-envs compare")

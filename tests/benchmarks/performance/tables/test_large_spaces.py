"""Suggestions on many candidates can be timed."""

from __future__ import annotations

import pytest

from hpo_envs.benchmarks.performance.tables import large_spaces


@pytest.mark.parametrize("name", ["bo", "smac-like"])
def test_the_cost_of_suggestions(name: str) -> None:
    slowest, median, mean, peak = large_spaces.measure(name, rows=40, steps=6)
    assert slowest >= max(median, mean) > 0
    assert peak >= 0

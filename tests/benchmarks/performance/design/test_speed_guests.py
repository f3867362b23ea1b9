"""The measurement of other packages' optimisers."""

from __future__ import annotations

from hpo_envs.benchmarks.performance.design import speed_guests


def test_agents_are_measured_and_those_that_do_not_fit_are_left_out() -> None:
    found = speed_guests.measure("NMTHPO-zhen-v0", 1, ["bo-ei-matern52", "asha"])
    assert list(found) == ["bo-ei-matern52"]
    assert found["bo-ei-matern52"] >= 0

"""A sleeping function is tuned in each way, whatever it takes."""

from __future__ import annotations

from hpo_envs.benchmarks.performance import sleeping


def test_each_way_makes_all_evaluations() -> None:
    facts = list(sleeping.compare(0.001, 3))
    assert [(f["workers"], f["executor"], f["evaluations"]) for f in facts] == [
        (1, "serial", 3), (4, "threads", 3), (4, "processes", 3),
    ]  # fmt: skip
    assert facts[0]["times shorter"] == 1.0

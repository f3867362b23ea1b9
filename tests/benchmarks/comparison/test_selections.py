"""Selections of arms: errors by budget, and when agents are sure."""

from __future__ import annotations

import numpy as np
import pytest

from hpo_envs.benchmarks import Comparison
from hpo_envs.benchmarks.analysis.statistics import clopper_pearson
from hpo_envs.benchmarks.comparison.reference import table_of
from hpo_envs.benchmarks.runs import run


def test_errors_and_evaluations_are_those_of_the_runs() -> None:
    env = "FIESTA-gaussian-v0"
    runs = [r for a in ("sh", "ttts", "random") for b in (102, 408) for r in run(a, env, range(12), budget=b)]
    found = Comparison.of(runs).summary()
    assert found["selections"] == Comparison.of(runs).scores["selections"]
    assert list(found["selections"]) == ["FIESTA"]
    records = {(r["agent"], r["budget"]): r for r in found["selections"]["FIESTA"]}
    assert len(records) == 6
    best = table_of(runs[0].header).final("score").argmax()
    for (agent, budget), record in records.items():
        own = [r for r in runs if (r.header["agent"], r.header["budget"]) == (agent, budget)]
        wrong = sum(int(r.recommended) != best for r in own)
        assert record["n"] == 12
        assert record["wrong"] == pytest.approx([wrong / 12, *clopper_pearson(wrong, 12)], abs=1e-3)
        assert record["evaluations"] == pytest.approx(np.mean([len(r) for r in own]), rel=1e-3)
    assert records["ttts", 408]["sure"] == 1.0  # these arms are easy
    assert records["ttts", 408]["evaluations"] < 102
    # Halving ends a few pulls before its budget, because its rounds are whole; it is never sure.
    assert records["sh", 408]["sure"] == records["random", 102]["sure"] == 0.0
    # Budgets that the leaderboard shows apart are tracks of their own.
    assert [t["name"] for t in found["tracks"]] == ["FIESTA, budget 102", "FIESTA, budget 408"]
    assert {t["score"] for t in found["tracks"]} == {"final"}


def test_other_families_have_none() -> None:
    runs = run("random", "NMTHPO-zhen-v0", [0, 1])
    assert Comparison.of(runs).scores["selections"] == {}

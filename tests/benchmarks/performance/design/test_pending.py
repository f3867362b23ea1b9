"""Simulated workers: what comes back when, and what is measured of it."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from hpo_envs.benchmarks.performance.design import pending
from hpo_envs.benchmarks.performance.design.pending import Landscape, maker, measure, simulate

RNG = np.random.default_rng(0)
FEATURES = RNG.random((50, 2))
SMALL = Landscape("small", FEATURES, ("a", "b"), -((FEATURES - 0.5) ** 2).sum(axis=1))


def test_each_evaluation_comes_back_once() -> None:
    rewards = simulate(SMALL, maker("random", 0), 4, 50, seed=0)
    assert sorted(rewards.tolist()) == sorted(SMALL.rewards.tolist())
    # With one worker they come back as they were asked for.
    made = maker("random", 0)
    assert simulate(SMALL, made, 1, 50, seed=1).tolist() == simulate(SMALL, made, 1, 50, seed=2).tolist()


def test_regret_is_averaged_over_evaluations() -> None:
    best, middle = float(SMALL.rewards.max()), float(np.median(SMALL.rewards))
    assert SMALL.regret([middle, best]) == pytest.approx(0.5)
    assert SMALL.regret([best, middle]) == 0.0


def test_one_worker_needs_no_fantasies() -> None:
    one = measure([SMALL], "bo-ei-matern52", 1, 12, range(2), fantasy="none")
    assert np.array_equal(one, measure([SMALL], "bo-ei-matern52", 1, 12, range(2), fantasy="believer"))


def test_a_line_an_agent(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(pending, "landscapes", lambda budget: [SMALL] * 2)
    words = ["pending", "--budget", "8", "--seeds", "2", "--agents", "bo-ei-matern52"]
    monkeypatch.setattr("sys.argv", [*words, "--fantasies", "believer,worst"])
    pending.main()
    lines: list[dict[str, Any]] = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [line["fantasy"] for line in lines] == ["believer", "worst"]
    for line in lines:
        assert line["lost"] == pytest.approx(
            (line["several"] - line["one"]) / (line["random"] - line["one"]), rel=0.1, abs=0.01
        )


@pytest.mark.measured
def test_tables_are_large_enough() -> None:
    few, many = pending.landscapes(160), pending.landscapes(40)
    assert (len(few), len(many)) == (4, 12)
    assert all(len(t.rewards) > 400 for t in few)
    assert all(np.isfinite(t.rewards).all() for t in many)

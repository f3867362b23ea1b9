"""Suggestions on many candidates can be timed."""

from __future__ import annotations

import pytest

from hpo_envs.benchmarks.performance.tables import large_spaces


@pytest.mark.parametrize("name", ["bo", "smac-like"])
def test_the_cost_of_suggestions(name: str) -> None:
    slowest, median, mean, peak = large_spaces.measure(name, rows=40, steps=6)
    assert slowest >= max(median, mean) > 0
    assert peak >= 0


def test_who_takes_no_so_many_is_named(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    given = ["large_spaces", "--agents", "graph-ei-rbf", "random", "--rows", "100001", "--steps", "4"]
    monkeypatch.setattr("sys.argv", given)
    assert large_spaces.main() == 0
    _, refused, measured = capsys.readouterr().out.splitlines()
    assert refused == "graph-ei-rbf              a graph must have at most 100000 candidates, got 100001"
    assert measured.startswith("random ")

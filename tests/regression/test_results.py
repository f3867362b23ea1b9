"""Every committed result names the commit that made it, and changes with it only."""

import re
from pathlib import Path

import pytest

from tests.regression import results


def test_each_committed_result_has_its_commit_and_its_bytes() -> None:
    rows = results.listed()
    assert [*rows] == results.files(), "python tests/regression/results.py note FILE..."
    assert len(rows) > 25
    for file, row in rows.items():
        assert re.fullmatch(r"[0-9a-f]{10,40}", row["commit"]), file
        assert row["sha256"] == results.sha256(file), f"python tests/regression/results.py note {file}"


def test_a_number_that_differs_is_found(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    before = {"a": [1.0, {"b": 2.0}], "c": "x"}
    assert not [*results.differences(before, {"a": [1.0 + 1e-12, {"b": 2.0}], "c": "x"})]
    assert [*results.differences(before, {"a": [1.0, {"b": 2.1}], "c": "x"})] == ["/a/1/b: 2.0, now 2.1"]
    assert [*results.differences(before, {"a": [1.0], "c": "y"})] == [
        "/a: [1.0, {'b': 2.0}], now [1.0]", "/c: 'x', now 'y'",
    ]  # fmt: skip
    monkeypatch.setattr(results, "RANDOM", ("NMTHPO-zhen-v0",))
    monkeypatch.setattr(results, "ROOT", tmp_path)
    (tmp_path / "benchmarks").mkdir()
    cell = '{"agent": "random", "environment": "NMTHPO-zhen-v0 (subsample=0.8)", "anytime": [0.5], "final": [0.5]}'
    (tmp_path / "benchmarks" / "leaderboard.json").write_text(f'{{"cells": [{cell}]}}')
    assert [said.split(":")[0] for said in results.leaderboard(tmp_path)] == [
        f"leaderboard.json, random on NMTHPO-zhen-v0 (subsample=0.8), {key}" for key in ("anytime", "final")
    ]

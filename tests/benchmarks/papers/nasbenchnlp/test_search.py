"""Comparisons of search agents on recurrent cells."""

from __future__ import annotations

from pathlib import Path

import pytest

from hpo_envs.benchmarks.papers.common import Reproduction
from hpo_envs.benchmarks.papers.nasbenchnlp import search, settings


def test_a_small_comparison_runs_and_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    quick = tuple(m for m in settings.SENSIBLE if m.agent in ("random", "asha"))
    monkeypatch.setitem(settings.PRESETS, "sensible", quick)
    monkeypatch.setattr(settings, "BUDGET", 4)
    rows = search.compare(Reproduction(tmp_path, trials=2), "sensible")
    assert [r["method"] for r in rows] == ["RS 50E", "RS 10E", "ASHA", "ASHA, 4 workers"]
    assert all(float(r["final regret"]) >= 0 for r in rows)
    files = {p.name for p in tmp_path.iterdir()}
    assert {"figure10-wikitext2-sensible.png", "figure12-wikitext2-sensible.svg", "wikitext2-sensible.csv"} <= files
    monkeypatch.setattr(search, "run_method", lambda *a: pytest.fail("runs on disk are not run again"))
    assert search.compare(Reproduction(tmp_path, trials=2), "sensible") == rows

"""The comparison of speed, with a stand-in for the authors' package."""

from __future__ import annotations

import sys
import types
from typing import Any

import pytest

from hpo_envs.benchmarks.papers.fiesta import speed
from hpo_envs.tables import store


def test_without_the_package_it_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "fiesta", None)
    with pytest.raises(ModuleNotFoundError, match="fiesta-nlp==0.0.1"):
        speed.measure(0)


def test_both_select_on_the_same_scores(monkeypatch: pytest.MonkeyPatch) -> None:
    scores = store.load("fiesta/tdsa8", "surrogate").values[:, :, 0, 0]
    seen = []

    def package(data: Any, models: Any, split: Any, delta: float) -> tuple[Any, Any, int, Any]:
        seen.append((len(models), delta, all(m(None, None) in scores[i] for i, m in enumerate(models))))
        return None, None, 30, None

    monkeypatch.setattr(speed, "_scores", lambda: scores)
    monkeypatch.setitem(sys.modules, "fiesta", types.SimpleNamespace(TTTS=package))
    rows = speed.measure(0, runs=2)
    assert seen == [(len(scores), 0.05, True)] * 2
    assert [quantity for _, quantity, _ in rows] == ["ms an evaluation", "ms an evaluation", "times faster"]
    assert all(value > 0 for *_, value in rows)

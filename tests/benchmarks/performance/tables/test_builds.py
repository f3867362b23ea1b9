"""What building tables costs can be measured."""

from __future__ import annotations

from pathlib import Path

import pytest

from hpo_envs.benchmarks.performance.tables import builds
from hpo_envs.tables import store


def test_tables_that_are_there_are_loaded(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    loaded: list[tuple[str, str]] = []
    monkeypatch.setattr(store, "load", lambda *given: loaded.append(given))
    monkeypatch.setattr(store, "missing", lambda name: [tmp_path] if name == "nmthpo/zhen" else [])
    count, seconds = builds.measure("nmthpo")
    assert count == len(loaded) == len(store.names("nmthpo")) - 1
    assert ("nmthpo/swen", "measured") in loaded
    assert seconds >= 0

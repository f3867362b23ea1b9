"""Fixtures of several test files."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture
def empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty data folder, and no source to fetch from."""
    monkeypatch.setenv("HPO_ENVS_DATA", str(tmp_path / "data"))
    for name in ("HPO_ENVS_MIRROR", "HPO_ENVS_SOURCE"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path / "data"

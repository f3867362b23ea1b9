"""Fixtures shared by several test files."""

from pathlib import Path

import pytest

from hpo_envs.tables import user


@pytest.fixture
def empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty data folder, and no saved tables."""
    monkeypatch.setenv("HPO_ENVS_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("HPO_ENVS_TABLES", str(tmp_path / "tables"))
    monkeypatch.setattr(user, "_remembered", {})
    return tmp_path / "data"

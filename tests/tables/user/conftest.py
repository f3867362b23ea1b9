"""A folder for tables, and a table of a sweep."""

from pathlib import Path

import pytest

from hpo_envs.tables import user
from hpo_envs.tables.table import Table
from tests.tables.user.helpers import SWEEP, write


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HPO_ENVS_TABLES", str(tmp_path / "tables"))
    monkeypatch.setattr("hpo_envs.tables.user._remembered", {})
    return tmp_path / "tables"


@pytest.fixture
def table(tmp_path: Path) -> Table:
    return user.from_csv(write(tmp_path, SWEEP), "accuracy", "max", cost="seconds")

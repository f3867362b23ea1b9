"""`hpo-envs fetch`: what there is, and where it goes."""

from __future__ import annotations

from pathlib import Path

import pytest

from hpo_envs.commands import main
from hpo_envs.tables import catalogue


def test_fetch_list(empty: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main.main(["fetch", "--list"]) == 0
    out = capsys.readouterr().out
    assert [line.split()[0] for line in out.splitlines()[1:-1]] == catalogue.datasets()
    assert out.endswith(f"folder: {empty}\n")

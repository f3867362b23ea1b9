"""The command writes tables and figures, those that are committed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hpo_envs.benchmarks.papers.charhpo import settings
from hpo_envs.commands import main


def test_the_command_writes_what_is_committed_and_figures(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main.main(["reproduce", "charhpo", "--only", "tables", "--out", str(tmp_path)]) == 0
    assert "Table all   997 of 1000" in capsys.readouterr().out
    committed = Path(settings.__file__).parent / "results" / "tables.json"
    assert json.loads((tmp_path / "tables.json").read_text()) == json.loads(committed.read_text())
    assert len((tmp_path / "verdicts.csv").read_text().splitlines()) == 1001
    assert main.main(["reproduce", "charhpo", "--only", "figures", "--out", str(tmp_path)]) == 0
    assert (tmp_path / "figure2.svg").is_file()
    assert (tmp_path / "figure1.png").is_file()

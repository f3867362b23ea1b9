"""The command writes tables and figures, those that are committed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hpo_envs.benchmarks.papers.charhpo import settings
from hpo_envs.commands import main


def test_committed_results_are_what_the_commands_give(tmp_path: Path) -> None:
    folder = Path(settings.__file__).parent / "results"
    assert main.main(["reproduce", "charhpo", "--only", "tables", "--out", str(tmp_path)]) == 0
    assert json.loads((tmp_path / "tables.json").read_text()) == json.loads((folder / "tables.json").read_text())


def test_the_command_writes_tables_and_figures(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main.main(["reproduce", "charhpo", "--only", "tables", "--out", str(tmp_path)]) == 0
    printed = capsys.readouterr().out
    assert "Table all   997 of 1000" in printed
    assert len((tmp_path / "verdicts.csv").read_text().splitlines()) == 1001
    assert main.main(["reproduce", "charhpo", "--only", "figures", "--out", str(tmp_path)]) == 0
    assert (tmp_path / "figure2.svg").is_file()
    assert (tmp_path / "figure1.png").is_file()

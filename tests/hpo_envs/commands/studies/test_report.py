"""`hpo-envs report`: what is no comparison is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from hpo_envs.commands.main import main


def test_what_is_no_comparison_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "x.json").write_text('{"title": 1}')
    (tmp_path / "y.json").write_text("[")
    for path, message in {
        "empty": "runs must be at least one",
        "x.json": "must be a summary with",
        "y.json": "must be a folder of runs or a summary",
        "none": "no such file",
    }.items():
        assert main(["report", str(tmp_path / path)]) == 2
        assert message in capsys.readouterr().err

"""`hpo-envs tune`: a function by name, a space in TOML."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hpo_envs.commands.main import main
from hpo_envs.commands.tune import space_of

SPACE = """
x = { low = 0.0, high = 1.0 }
kind = ["good", "bad"]
depth = { low = 1, high = 3, if = { kind = ["good"] } }
"""
FUNCTION = "tests.hpo_envs.tuning.helpers:train"


@pytest.fixture
def words(tmp_path: Path) -> list[str]:
    (tmp_path / "space.toml").write_text(SPACE, encoding="utf-8")
    return ["tune", FUNCTION, "--space", str(tmp_path / "space.toml"), "--out", str(tmp_path / "out")]


def test_it_tunes_and_goes_on(words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "points.json").write_text('[{"x": 0.3, "kind": "good", "depth": 3}]', encoding="utf-8")
    words += ["--points", str(tmp_path / "points.json")]
    assert main([*words, "--budget", "4"]) == 0
    assert f"4 evaluations of {FUNCTION} by auto (box-bo), 0 without a score; best: score" in capsys.readouterr().out
    assert main([*words, "--budget", "6", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["evaluations"] == 6
    assert set(facts["metrics"]) == {"score"}
    assert facts["config"] == {"x": 0.3, "kind": "good", "depth": 3}  # the best one is where it began
    (tmp_path / "points.json").write_text("[{", encoding="utf-8")
    assert main(words) == 2
    assert "--points must be a JSON list of configurations, got" in capsys.readouterr().err


def test_mistakes_are_named(words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(FileNotFoundError, match="--space must be a TOML file"):
        space_of(tmp_path / "none.toml")
    (tmp_path / "bad.toml").write_text("x = ", encoding="utf-8")
    with pytest.raises(ValueError, match="must be a TOML file, got"):
        space_of(tmp_path / "bad.toml")
    words[1] = "tests.hpo_envs.tuning.helpers:trian"
    assert main(words) == 2
    assert "function must be importable as module:name" in capsys.readouterr().err

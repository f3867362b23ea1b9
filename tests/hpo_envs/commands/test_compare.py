"""`hpo-envs compare`: what it says, refuses and goes on from."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from hpo_envs.benchmarks.study import store
from hpo_envs.commands.main import main


def test_the_command_line_says_what_it_did(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    given = ["compare", "--env", "NMTHPO-zhen-v0", "--budget", "4", "--table", "surrogate", "--out", str(tmp_path)]
    assert main([*given, "--agents", "random", "--seeds", "3"]) == 0
    assert main([*given, "--agents", "random,graph-ei-rbf", "--seeds", "4"]) == 0
    said = capsys.readouterr().out
    assert "5 runs made" in said
    assert "3 found" in said
    assert (tmp_path / "summary.csv").read_text().startswith("environment,agent,n,anytime,")
    everything = store.digest(store.read(tmp_path))
    assert f"sha256 of all results: {everything}" in said
    assert main([*given, "--agents", "random", "--budget", "5"]) == 2
    assert "Choose another folder" in capsys.readouterr().err
    monkeypatch.setitem(sys.modules, "distributed", None)
    assert main([*given, "--scheduler", "local"]) == 2
    assert 'pip install "hpo_envs[dask]"' in capsys.readouterr().err
    (tmp_path / "s.toml").write_text("seeds = 3")
    assert main(["compare", str(tmp_path / "s.toml"), "--seeds", "3"]) == 2
    assert "--seeds must be written into" in capsys.readouterr().err

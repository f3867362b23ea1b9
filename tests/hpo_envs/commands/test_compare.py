"""`hpo-envs compare`: output, refused input and resumption."""

import html
import re
from pathlib import Path
from typing import Any

import pytest

from hpo_envs.benchmarks import Comparison
from hpo_envs.benchmarks.report import numbers, sentences
from hpo_envs.benchmarks.study import store
from hpo_envs.commands.main import main


def test_compare_reports_what_it_did(tmp_path: Path, capsys: pytest.CaptureFixture[str], cli: Any) -> None:
    given = ["compare", "--env", "NMTHPO-zhen-v0", "--budget", "4", "--out", str(tmp_path)]
    assert main([*given, "--agents", "random", "--seeds", "3"]) == 0
    said = cli([*given, "--agents", "random,graph-ei-rbf", "--seeds", "4"])
    assert "5 runs made" in said
    assert "3 already stored" in said
    assert (tmp_path / "summary.csv").read_text().startswith("environment,agent,n,anytime,")
    everything = store.digest(store.read(tmp_path))
    assert f"sha256 of all results: {everything}" in said
    assert "Choose another folder" in cli([*given, "--agents", "random", "--budget", "5"], 2)
    assert "--tolerance must be a finite number >= 0" in cli([*given, "--agents", "random", "--tolerance", "nan"], 2)
    (tmp_path / "s.toml").write_text("seeds = 3")
    assert main(["compare", str(tmp_path / "s.toml"), "--budget", "3"]) == 2
    assert "--budget must be left out with a study file" in capsys.readouterr().err


def test_compare_and_report_agree(tmp_path: Path, cli: Any) -> None:
    ids = "NMTHPO-zhen-v0,NMTHPO-ruen-v0,FIESTA-gaussian-v0"
    given = ["compare", "--env", ids, "--seeds", "6", "--out", str(tmp_path)]
    printed = cli([*given, "--agents", "random,bo-ei-rbf,bagged-trees,sh,ttts"])
    reported, page = cli(["report", str(tmp_path)]), html.unescape((tmp_path / "report.html").read_text("utf-8"))
    tracks = Comparison.load(tmp_path).summary()["tracks"]
    assert [t["name"] for t in tracks] == ["FIESTA", "NMTHPO"]
    for track in tracks:
        sentence = " ".join(sentences.verdict(track))
        assert sentence in printed
        assert f"{track['name']}: {sentence}\n" in reported
        first, *others = sentences.verdict(track)
        assert f"<b>{first}</b> {' '.join(others)}" in page
        for r in track["ranking"]:
            values = (sentences.score(r), r["here"], numbers.interval(r["final"]))
            rows = [line for line in printed.splitlines() if re.match(rf"{r['agent']} +\d+ ", line)]
            assert any(all(f"  {value}" in row for value in values) for row in rows)
            assert all(value in page for value in values)
    assert "Within this budget bagged-trees is random search" in printed
    assert "wrong with 204" in printed
    assert "wrong with 204" in page
    for target in ("ftb", "ftc", "fb "):
        assert target not in printed + reported
    assert "ftb: evaluations until the table's best" in cli([*given, "--agents", "random", "--scores", "targets"])


def test_a_new_study_has_its_own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "wide.toml").write_text('seeds = 1\nbudget = 2\nenvironments = ["NMTHPO-zhen-v0"]\nagents = ["random"]')
    assert main(["compare", "wide.toml"]) == 0
    assert main(["compare", "--env", "NMTHPO-zhen-v0", "--budget", "2", "--seeds", "1"]) == 0
    assert {p.name for p in (tmp_path / "studies").iterdir()} == {"wide", "NMTHPO-zhen-v0"}

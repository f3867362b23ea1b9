"""`hpo-envs report` and `hpo-envs reproduce`."""

from __future__ import annotations

import functools
import importlib
from pathlib import Path

import pytest

from hpo_envs.benchmarks.papers import common
from hpo_envs.commands import main as command
from hpo_envs.commands import reproduce
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


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["reproduce", "chars"], "did you mean 'charhpo'"),
        (["reproduce", "charhpo", "--only", "table"], "--only must be one of"),
        (["reproduce", "charhpo", "--trials", "0"], "--trials must be an int >= 1, got 0"),
        (["reproduce", "charhpo", "--seed", "-1"], "--seed must be an int >= 0, got -1"),
        (["reproduce", "fiesta", "--quick", "--trials", "3"], "--quick chooses the trials itself"),
        (["reproduce", "all", "--only", "table2"], "--only needs one paper, got all and 'table2'"),
    ],
)
def test_commands_say_what_is_wrong(words: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(words) == 2
    assert message in capsys.readouterr().err


def test_all_papers_are_on_one_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = {}

    def main(name: str, out: Path, **options: object) -> int:
        seen[name] = options
        common.reproduce(name, {"x": lambda r: r.compare_published("Table 1", name, "1", "1", "agrees")}, out)
        return 0

    for paper, folder in reproduce.PAPERS.items():
        module = importlib.import_module(f"hpo_envs.benchmarks.{folder}.reproduce")
        monkeypatch.setattr(module, "main", functools.partial(main, paper))
    assert command.main(["reproduce", "all", "--quick", "--jobs", "2", "--seed", "4", "--out", str(tmp_path)]) == 0
    assert sorted(seen) == ["charhpo", "cushlepor", "fiesta", "nasbenchnlp", "nmthpo"]
    assert seen["fiesta"]["jobs"] == 2
    assert seen["fiesta"]["trials"] < 500
    text = (tmp_path / "index.html").read_text(encoding="utf-8")
    assert "hpo-envs reproduce all --quick --seed 4" in text
    assert text.count("<summary>Table 1: 1 agrees</summary>") == 5


@pytest.mark.parametrize("folder", reproduce.PAPERS.values())
def test_printed_parts_exist(folder: str) -> None:
    module = importlib.import_module(f"hpo_envs.benchmarks.{folder}.reproduce")
    assert set(getattr(module, "PRINTED", ())) <= set(module.PARTS)
    assert module.QUICK >= 1

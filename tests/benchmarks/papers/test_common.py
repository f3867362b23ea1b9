"""Shared parts of reproductions; that all papers have the same form; and their page."""

import csv
import math
import typing
from pathlib import Path

import pytest

from hpo_envs.benchmarks.papers import common
from hpo_envs.benchmarks.papers.common import Reproduction
from hpo_envs.commands.reproduce import PAPERS, write_page
from hpo_envs.tables.files import atomic

HERE = Path(common.__file__).parent
FOLDERS = [folder.partition(".")[2] for folder in PAPERS.values() if folder.startswith("papers.")]


@pytest.mark.parametrize("folder", FOLDERS)
def test_every_folder_has_same_files(folder: str) -> None:
    names = {p.name for p in (HERE / folder).iterdir()}
    assert {"reproduce.py", "expected.csv", "mechanisms.csv", "results"} <= names
    assert common.expected(folder)


def test_committed_verdicts_are_words_of_vocabulary() -> None:
    words = {*typing.get_args(common.Verdict), "holds", "fails"}
    seen = set()
    for path in HERE.glob("*/results/*.csv"):
        with open(path, newline="", encoding="utf-8") as stream:
            seen |= {row[k] for row in csv.DictReader(stream) for k in ("verdict",) if row.get(k)}
    assert seen <= words
    assert {"agrees", "differs"} <= seen


def test_rows_of_parts_are_printed_and_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def rows(r: Reproduction) -> list[dict[str, int]]:
        """Some rows."""
        return [{"a": 1}, {"a": 2, "b": 3}, {"a": len(r.seeds(7))}]

    parts: common.Parts = {"rows": rows, "none": lambda r: None}
    assert common.reproduce("x", parts, tmp_path / "out", seed=3) == 0
    assert (tmp_path / "out" / "rows.csv").read_text() == "a,b\n1,\n2,3\n7,\n"
    assert "rows: Some rows." in capsys.readouterr().out
    common.reproduce("x", parts, tmp_path, only="rows", trials=2)
    assert (tmp_path / "rows.csv").read_text() == "a,b\n1,\n2,3\n2,\n"
    with pytest.raises(ValueError, match="only must be one of rows, none, got 'row'"):
        common.reproduce("x", parts, tmp_path, only="row")


def test_verdicts_follow_printed_digits() -> None:
    def judged(text: str, *ours: float) -> str:
        return common.Published(text).judge(*ours)

    assert [judged("9.2M", n) for n in (9.151e6, 9.249e6, 9.26e6)] == ["agrees", "agrees", "differs"]
    assert [judged("6.84k", n) for n in (6836, 6844, 6846)] == ["agrees", "agrees", "differs"]
    assert [judged("0.24", low, high) for low, high in ((0.17, 0.26), (0.07, 0.13))] == ["agrees", "differs"]
    assert common.Published("1e53").value == 1e53


@pytest.mark.parametrize("jobs", [1, 2])
def test_map_keeps_order(jobs: int, tmp_path: Path) -> None:
    with Reproduction(tmp_path, jobs=jobs) as r:
        assert (r.map(math.comb, [(4, 2), (1, 1), (3, 1)], "x"), list(r.seeds(2))) == ([6, 1, 3], [0, 1])


def test_published_numbers_are_written_with_mechanism_of_what_differs(tmp_path: Path) -> None:
    def part(r: Reproduction) -> None:
        r.compare_published("Table 2", "ttts delta 0.05 mean", "130", "150", "differs")
        r.compare_published("Table 2", "nonadaptive delta 0.05 mean", "281", "280", "agrees")
        r.compare_published("Table 9", "x", "1", "", "not at hand", "There.")

    common.reproduce("fiesta", {"part": part}, tmp_path)
    rows = atomic.read_csv(tmp_path / "compared.csv")
    assert [row["verdict"] for row in rows] == ["differs", "agrees", "not at hand"]
    assert [row["mechanism"][:14] for row in rows] == ["The authors' n", "", "There."]


@pytest.mark.parametrize("folder", ["charhpo", "cushlepor", "fiesta", "nasbenchnlp", "nmtlc"])
def test_every_committed_difference_has_mechanism(folder: str) -> None:
    rows = atomic.read_csv(HERE / folder / "results" / "compared.csv")
    assert [row for row in rows if row["verdict"] != "agrees" and not row["mechanism"]] == []
    assert rows


def test_page_shows_numbers_mechanisms_and_figures(tmp_path: Path) -> None:
    def part(r: Reproduction) -> None:
        r.compare_published("Table 1", "<b>first</b>", "1", "1", "agrees")
        r.compare_published("Table 2", "second", "2", "3", "differs", "Another & reason.")
        (r.out / "figure_1.png").write_bytes(b"")

    for name in ("fiesta", "nmthpo"):
        common.reproduce(name, {"part": part}, tmp_path / name)
    path = write_page(tmp_path, {"fiesta": "First paper", "nmthpo": "Second paper"}, "the command --seed 1")
    text = path.read_text(encoding="utf-8")
    assert path == tmp_path / "index.html"
    assert "the command --seed 1" in text
    assert "&lt;b&gt;first&lt;/b&gt;" in text
    assert "<details><summary>Table 1: 1 agrees</summary>" in text
    assert "<details open><summary>Table 2: 1 differs</summary>" in text
    assert "Another &amp; reason." in text
    assert 'src="nmthpo/figure_1.png" alt="figure 1"' in text
    assert "<td>all</td><td>2</td><td>2</td><td>0</td>" in text

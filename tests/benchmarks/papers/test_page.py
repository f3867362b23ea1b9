"""The page of all reproductions."""

from __future__ import annotations

from pathlib import Path

from hpo_envs.benchmarks.papers import common, page
from hpo_envs.benchmarks.papers.common import Reproduction


def test_page_shows_numbers_mechanisms_and_figures(tmp_path: Path) -> None:
    def part(r: Reproduction) -> None:
        r.compare_published("Table 1", "<b>first</b>", "1", "1", "agrees")
        r.compare_published("Table 2", "second", "2", "3", "differs", "Another & reason.")
        (r.out / "figure_1.png").write_bytes(b"")

    for name in ("fiesta", "nmthpo"):
        common.reproduce(name, {"part": part}, tmp_path / name)
    path = page.write(tmp_path, {"fiesta": "First paper", "nmthpo": "Second paper"}, "the command --seed 1")
    text = path.read_text(encoding="utf-8")
    assert path == tmp_path / "index.html"
    assert "the command --seed 1" in text
    assert "&lt;b&gt;first&lt;/b&gt;" in text
    assert "<details><summary>Table 1: 1 agrees</summary>" in text
    assert "<details open><summary>Table 2: 1 differs</summary>" in text
    assert "Another &amp; reason." in text
    assert 'src="nmthpo/figure_1.png" alt="figure 1"' in text
    assert "<td>all</td><td>2</td><td>2</td><td>0</td>" in text

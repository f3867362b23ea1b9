"""Figures of the paper, reproduced."""

from __future__ import annotations

from pathlib import Path

from hpo_envs.benchmarks.papers.nasbenchnlp import reproduce


def test_reproduce_figure5(tmp_path: Path) -> None:
    assert reproduce.main(tmp_path, trials=None, jobs=1, seed=0, only="figure5") == 0
    assert (tmp_path / "figure5-wikitext2.svg").exists()

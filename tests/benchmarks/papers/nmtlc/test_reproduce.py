"""The study of learning curves runs."""

from __future__ import annotations

from pathlib import Path

from hpo_envs.benchmarks.papers.nmtlc import reproduce as nmtlc


def test_reproduce_nmtlc(tmp_path: Path) -> None:
    assert nmtlc.main(tmp_path, trials=2, jobs=1, seed=0, only="ft-zhen") == 0
    lines = (tmp_path / "summary.csv").read_text().splitlines()
    assert len(lines) == 5
    assert lines[0].startswith("corpus,agent,trials,regret at 1,")
    assert (tmp_path / "regret.png").exists()

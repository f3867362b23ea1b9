"""Pictures of comparisons as files: the same runs give the same bytes."""

from __future__ import annotations

from pathlib import Path

import pytest

from hpo_envs.benchmarks import run
from hpo_envs.benchmarks.report import plots
from hpo_envs.benchmarks.study.block import Block


def test_pictures_of_the_same_runs_are_alike(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    runs = {"random": [Block.of(run("random", "NMTHPO-zhen-v0", range(3)))]}
    track = {"name": "x", "score": "final", "ranking": [{"agent": "random", "mean": [0.5, 0.4, 0.7]}]}
    written = []
    for name in ("a", "b"):
        files = [*plots.best(runs, tmp_path / name / "best", "bleu"), *plots.ranking(track, tmp_path / name / "rank")]
        written.append([file.read_bytes() for file in files if file.suffix == ".png"])
    assert written[0] == written[1]
    assert len(written[0]) == 2
    assert written[0][0].startswith(b"\x89PNG")
    assert b"<svg" in (tmp_path / "a" / "best.svg").read_bytes()

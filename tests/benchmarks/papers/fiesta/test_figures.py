"""Figures 1 to 4 are drawn."""

from __future__ import annotations

from pathlib import Path

import pytest

from hpo_envs.benchmarks.papers.common import Reproduction
from hpo_envs.benchmarks.papers.fiesta import reproduce


def test_figures_are_drawn(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    r = Reproduction(tmp_path, trials=2)
    reproduce.note(r, "Figure 4", "sh", None, "correct", 97.0, error=0.2, runs=2)
    reproduce.note(r, "Figure 4", "sh, T=48", None, "correct", 70.0, error=0.5, runs=2)
    reproduce.figures(r)
    for i in range(1, 5):
        assert (tmp_path / f"figure{i}.png").stat().st_size > 5000
        assert (tmp_path / f"figure{i}.svg").exists()

"""Regret against the budget as a picture."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hpo_envs.benchmarks.papers.nmtlc import figures, settings

pytest.importorskip("matplotlib", reason="extra plot is not installed")


@pytest.mark.parametrize("corpora", [1, 5])
def test_the_figure_is_drawn(corpora: int, tmp_path: Path) -> None:
    regret = np.random.default_rng(0).random((6, len(settings.TRAININGS)))
    curves = {f"corpus {i}": {agent: regret for agent in settings.AGENTS} for i in range(corpora)}
    png, svg = figures.plot(curves, tmp_path / "regret")
    assert png.stat().st_size > 5000
    assert "full trainings" in svg.read_text(encoding="utf-8")

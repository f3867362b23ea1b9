"""Figures are drawn from scores and runs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hpo_envs.benchmarks.papers.cushlepor import figures

pytest.importorskip("matplotlib", reason="extra plot is not installed")


def test_figures_are_drawn(tmp_path: Path) -> None:
    scores = np.random.default_rng(0).random((4, 90))
    panels = {"one": {"a": scores[0], "b": scores[1]}, "two": {"a": scores[2]}}
    files = figures.distributions(panels, tmp_path / "distributions")
    files += figures.over_trials({"random": list(scores), "bo": list(scores[:2])}, 0.0, "rmse", tmp_path / "trials")
    assert [f.name for f in files] == ["distributions.png", "distributions.svg", "trials.png", "trials.svg"]
    assert all(f.stat().st_size > 5000 for f in files)

"""The picture of importance has bars and marginals."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from hpo_envs.benchmarks.analysis import forest_importance as fi
from hpo_envs.benchmarks.report import importance


def test_picture_of_ranges_choices_and_logarithms(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    axes = (fi.Axis("a", (0.0, 1.0), labels=("no", "yes")), fi.Axis("b", (), -7.0, 0.0, log=True), fi.Axis("c"))
    x = np.column_stack([rng.integers(2, size=50), rng.uniform(-7, 0, 50), rng.uniform(size=50)])
    found = fi.importance(x, x[:, 0] - x[:, 1], axes, trees=3)
    files = importance.draw(found, "loss", axes, -1.0, tmp_path / "i")
    assert [f.name for f in files] == ["i.png", "i.svg"]
    text = (tmp_path / "i.svg").read_text()
    assert all(f"<!-- {word} -->" in text for word in ("main effects", "interactions", "yes", "mean loss"))

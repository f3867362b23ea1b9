"""Figures are drawn from traces, tables, cells and numbers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hpo_envs.benchmarks.papers.nasbenchnlp import figures
from hpo_envs.benchmarks.papers.nasbenchnlp.analysis import Trace
from hpo_envs.tables import store

pytest.importorskip("matplotlib", reason="extra plot is not installed")


def test_figures_are_drawn(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    traces = {
        name: [Trace(np.arange(1.0, 6.0), 4.6 - 0.1 * np.sort(rng.random(5)), True) for _ in range(3)]
        for name in ("RS", "ASHA")
    }
    table = store.load("nasbenchnlp/wikitext2")
    x = rng.uniform(1.0, 9.0, 40)
    files = [
        *figures.plot_regret(traces, 4.4, "regret", tmp_path / "regret"),
        *figures.plot_final(traces, 4.4, "final", tmp_path / "final"),
        *figures.plot_ranks(table, (1, 10), tmp_path / "ranks"),
        *figures.plot_metrics(1e6 * x, x, np.exp(x), {"LSTM": 0}, tmp_path / "metrics"),
        *figures.plot_pairs(x, x[::-1], ("x", "y"), tmp_path / "pairs"),
        *figures.plot_histogram(np.arange(9), "edges", tmp_path / "histogram"),
    ]
    assert len({f.name for f in files}) == 12
    assert all(f.stat().st_size > 3000 for f in files)

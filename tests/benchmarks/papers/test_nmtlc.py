"""The study of learning curves: analysis, figures and the command."""

from __future__ import annotations

from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest

from hpo_envs.benchmarks.papers.nmtlc import analysis as nmtlc_analysis
from hpo_envs.benchmarks.papers.nmtlc import reproduce as nmtlc
from hpo_envs.tables import store
from tests.benchmarks.papers.test_nasbenchnlp import run_of


def test_nmtlc_regret_by_hand() -> None:
    env = gym.make("NMTLC-ft-zhen-v0", budget=None).unwrapped
    losses = env.table.values[:, 0, :, 0]
    spent, values = nmtlc_analysis.regret(run_of([[3, 1], [4, 0]]), env)
    assert spent.tolist() == [2.0, 3.0]
    assert values[0] == losses[3, :2].min() - np.nanmin(losses)
    assert values[1] == min(losses[3, :2].min(), losses[4, 0]) - np.nanmin(losses)
    at = nmtlc_analysis.at_budgets(run_of([[3, 1], [4, 0]]), env, [1, 2, 9])
    assert at.tolist() == [np.nanmax(losses[:, 0]) - np.nanmin(losses), values[0], values[1]]


def test_early_ranks_by_hand() -> None:
    t = store.load("nmtlc/ft-zhen")
    from scipy.stats import spearmanr

    best = [np.nanmin(v) for v in t.values[:, 0, :, 0]]
    early = [np.nanmin(v[:3]) for v in t.values[:, 0, :, 0]]
    assert nmtlc_analysis.early_ranks(t, (3, 28)) == {"after 3": f"{spearmanr(early, best)[0]:.2f}", "after 28": "1.00"}


pytest.importorskip("matplotlib", reason="extra plot is not installed")


def test_reproduce_nmtlc(tmp_path: Path) -> None:
    assert nmtlc.main(tmp_path, trials=2, jobs=1, seed=0, only="ft-zhen") == 0
    lines = (tmp_path / "summary.csv").read_text().splitlines()
    assert len(lines) == 5
    assert lines[0].startswith("corpus,agent,trials,regret at 1,")
    assert (tmp_path / "regret.png").exists()

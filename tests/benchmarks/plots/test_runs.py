"""Pictures of runs show what the frame has."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from hpo_envs.benchmarks.plots import runs as plots


def frame(**columns: object) -> pd.DataFrame:
    """Two runs of `a` and one of `b`, three evaluations each."""
    return pd.DataFrame(
        {
            "env": "X-v0",
            "agent": ["a"] * 6 + ["b"] * 3,
            "seed": [0, 0, 0, 1, 1, 1, 0, 0, 0],
            "cost": [1.0, 1.0, 2.0, 2.0, 1.0, 1.0, 1.0, 1.0, 1.0],
            "incumbent": [1.0, 3.0, 3.0, 5.0, 5.0, 5.0, 0.0, 0.0, 4.0],
            "regret": [1.0, 0.5, 0.5, 0.0, 0.0, 0.0, 1.0, 1.0, 0.2],
            **columns,
        }
    )


def test_the_incumbent_is_a_mean_over_runs_at_what_was_spent() -> None:
    axes = plots.incumbent(frame())
    a, b = axes.get_lines()
    # Before 2, the second run of a has nothing.
    assert a.get_xdata().tolist() == [2.0, 3.0, 4.0]
    assert a.get_ydata().tolist() == [4.0, 4.0, 4.0]
    assert b.get_ydata().tolist() == [0.0, 0.0, 4.0]
    assert [t.get_text() for t in axes.get_legend().get_texts()] == ["a", "b"]
    assert plots.incumbent(frame(), axes) is axes
    with pytest.raises(ValueError, match="frame must be of one environment and one objective, got 2 environments"):
        plots.incumbent(frame(env=["X-v0"] * 6 + ["Y-v0"] * 3))
    with pytest.raises(ValueError, match="got several objectives"):
        plots.incumbent(frame().drop(columns="incumbent"))


def test_the_share_of_targets_met() -> None:
    axes = plots.ecdf(frame(), targets=[0.5, 0.0])
    a, b = axes.get_lines()
    # The second run of a meets both targets at 2 of 4; the first meets one at 2 of 4.
    assert list(zip(a.get_xdata(), a.get_ydata(), strict=True)) == [(0.5, 0.75), (1.0, 0.75)]
    assert list(zip(b.get_xdata(), b.get_ydata(), strict=True)) == [(0.75, 0.5), (1.0, 0.5)]
    with pytest.raises(ValueError, match="frame must have a regret in each row, got 9 without"):
        plots.ecdf(frame(regret=np.nan))


def test_a_ranking_has_the_best_on_top() -> None:
    ranked = [{"agent": "a", "mean": [0.2, 0.1, 0.3]}, {"agent": "b", "mean": [0.5, 0.4, 0.6]}]
    axes = plots.ranking({"name": "all", "score": "anytime", "ranking": ranked})
    assert [t.get_text() for t in axes.get_yticklabels()] == ["a", "b"]
    assert axes.yaxis_inverted()
    assert axes.get_lines()[0].get_xdata().tolist() == [0.1, 0.3]


def test_a_front_has_what_nothing_dominates() -> None:
    points = frame(reward_x=[1.0, 2, 3, 1, 1, 1, 0, 0, 0], reward_y=[3.0, 2, 1, 1, 0, 2, 0, 1, 0])
    axes = plots.pareto(points)
    front = axes.get_lines()[1]
    assert list(zip(front.get_xdata(), front.get_ydata(), strict=True)) == [(1, 3), (2, 2), (3, 1)]
    with pytest.raises(ValueError, match="frame must have two objectives on one environment, got 1 objectives on 1"):
        plots.pareto(frame())

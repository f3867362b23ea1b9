"""Plots of runs and configurations: they show the data of the frame, and agents look the same in all."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from hpo_envs.agents import AGENTS
from hpo_envs.benchmarks import plots as style
from hpo_envs.benchmarks.plots import configurations, runs
from tests.helpers import rejects


@pytest.fixture(autouse=True)
def without_a_window() -> Iterator[None]:
    pyplot = pytest.importorskip("matplotlib.pyplot")
    pyplot.switch_backend("agg")
    yield
    pyplot.close("all")


def frame(**columns: object) -> pd.DataFrame:
    """Two runs of `a` and one of `b`, three evaluations each."""
    return pd.DataFrame(
        {
            "env": "X-v0",
            "agent": ["a"] * 6 + ["b"] * 3,
            "seed": [0, 0, 0, 1, 1, 1, 0, 0, 0],
            "step": [1, 2, 3] * 3,
            "cost": [1.0, 1.0, 2.0, 2.0, 1.0, 1.0, 1.0, 1.0, 1.0],
            "incumbent": [1.0, 3.0, 3.0, 5.0, 5.0, 5.0, 0.0, 0.0, 4.0],
            "regret": [1.0, 0.5, 0.5, 0.0, 0.0, 0.0, 1.0, 1.0, 0.2],
            **columns,
        }
    )


def test_incumbent_is_mean_over_runs_at_what_was_spent() -> None:
    axes = runs.incumbent(frame())
    a, b = axes.get_lines()
    # Before 2, the second run of a has nothing.
    assert (a.get_xdata().tolist(), a.get_ydata().tolist()) == ([2.0, 3.0, 4.0], [4.0, 4.0, 4.0])
    assert b.get_ydata().tolist() == [0.0, 0.0, 4.0]
    assert [t.get_text() for t in axes.get_legend().get_texts()] == ["a", "b"]
    assert runs.incumbent(frame(), axes) is axes
    with pytest.raises(ValueError, match="frame must be of one environment and one objective, got 2 environments"):
        runs.incumbent(frame(env=["X-v0"] * 6 + ["Y-v0"] * 3))
    rejects("got 0 environments", runs.incumbent, frame()[:0])
    rejects("got several objectives", runs.incumbent, frame().drop(columns="incumbent"))


def test_interval_of_incumbent_is_that_of_few_runs() -> None:
    scores = np.arange(6.0)
    many = pd.DataFrame({"env": "X-v0", "agent": "a", "seed": range(6), "step": 1, "cost": 1.0, "incumbent": scores})
    ends = []
    for runs_of in (many, many[:4]):
        (band,) = runs.incumbent(runs_of).collections
        ends.append(band.get_paths()[0].vertices[:, 1] if band.get_paths() else None)
    half = stats.t.ppf(0.975, 5) * scores.std(ddof=1) / np.sqrt(6)
    assert ends[0].max() - ends[0].min() == pytest.approx(2 * half)
    assert ends[1] is None


def test_subsample_of_targets_met() -> None:
    axes = runs.ecdf(frame(), targets=[0.5, 0.0])
    a, b = axes.get_lines()
    # The second run of a meets both targets at 2 of 4; the first meets one at 2 of 4.
    assert list(zip(a.get_xdata(), a.get_ydata(), strict=True)) == [(0.5, 0.75), (1.0, 0.75)]
    assert list(zip(b.get_xdata(), b.get_ydata(), strict=True)) == [(0.75, 0.5), (1.0, 0.5)]
    rejects("frame must have a regret in each row, got 9 without", runs.ecdf, frame(regret=np.nan))


def test_ranking_has_best_on_top() -> None:
    ranked = [{"agent": "a", "mean": [0.2, 0.1, 0.3]}, {"agent": "b", "mean": [0.5, 0.4, 0.6]}]
    track = {"name": "all", "score": "anytime", "ranking": ranked}
    assert runs.ranking({**track, "raw": True}).get_xlabel().startswith("anytime raw score, ")
    axes = runs.ranking(track)
    assert axes.get_xlabel().startswith("anytime normalised regret, ")
    assert [t.get_text() for t in axes.get_yticklabels()] == ["a", "b"]
    assert axes.yaxis_inverted()
    assert axes.get_lines()[0].get_xdata().tolist() == [0.1, 0.3]


def test_front_has_what_nothing_dominates() -> None:
    points = frame(reward_x=[1.0, 2, 3, 1, 1, 1, 0, 0, 0], reward_y=[3.0, 2, 1, 1, 0, 2, 0, 1, 0])
    axes = runs.pareto(points)
    front = axes.get_lines()[1]
    assert list(zip(front.get_xdata(), front.get_ydata(), strict=True)) == [(1, 3), (2, 2), (3, 1)]
    rejects("frame must have two objectives on one environment, got 1 objectives on 1", runs.pareto, frame())


FRAME = pd.DataFrame(
    {"lr": [1e-4, 1e-3, 1e-2], "layers": [1, 2, 5], "kind": ["b", None, "a"], "same": 1, "reward": [1.0, 3.0, 2.0]}
)


def test_lines_go_through_values_and_best_is_on_top() -> None:
    axes = configurations.parallel_coordinates(FRAME, ["lr", "layers", "kind", "same"])
    (lines,) = axes.collections
    heights = [path.vertices[:, 1].tolist() for path in lines.get_paths()]
    assert (heights[0], heights[1]) == (pytest.approx([0.0, 0.0, 1.0]), pytest.approx([1.0, 1.0, 0.0]))
    assert heights[2] == pytest.approx([0.5, 0.25, configurations.MISSING])  # the best; lr is on a logarithmic scale
    assert [t.get_text() for t in axes.get_xticklabels()] == ["lr", "layers", "kind"]
    named = FRAME.copy()
    named.attrs["configuration"] = ["lr"]
    assert len(configurations.parallel_coordinates(named).get_xticklabels()) == 1
    rejects("columns must be among lr, .*, got 'rl'", configurations.parallel_coordinates, FRAME, ["rl"])
    with pytest.raises(ValueError, match="columns must include at least one that varies, got same"):
        configurations.parallel_coordinates(FRAME, ["same"])


def test_panels_are_saved_twice_and_alike(tmp_path: Path) -> None:
    written = []
    for name in ("a", "b"):
        figure, axes = style.panels(1, 2, (4.0, 2.0), sharey=True)
        assert axes.shape == (1, 2)
        axes[0, 0].plot([1, 2], [3, 4], label=r"a$\frac$")  # a name, not a formula
        axes[0, 0].set_yticks([3, 4], [r"$\b", r"$x$"])
        axes[0, 1].set_xscale("log")
        configurations._bars(axes[0, 1], [r"$\input{x}$", "b"], [0.5, 0.4], "shares")
        figure.legend()
        written.append(style.save(figure, tmp_path / name / "x.y"))
    assert [f.name for f in written[0]] == ["x.y.png", "x.y.svg"]
    assert [f.read_bytes()[:8] for f in written[0]] == [b"\x89PNG\r\n\x1a\n", b"<?xml ve"]
    assert [f.read_bytes() for f in written[0]] == [f.read_bytes() for f in written[1]]


def test_agent_looks_same_in_every_picture() -> None:
    alone, among = style.looks(["bo"]), style.looks(["random", "learned (seen)", "bo", "somebody:Else"])
    assert among["bo"] == alone["bo"] == style.looks(["bo (refit=1)"])["bo (refit=1)"]
    assert (among["learned (seen)"], len(set(among.values()))) == (style.looks(["learned"])["learned"], 4)
    both = style.looks(["bo (1)", "bo (2)"])
    assert both["bo (1)"] != both["bo (2)"]
    assert len(style.looks(map(str, range(40)))) == 40, "more agents than looks share some"


def test_every_agent_of_leaderboard_has_look() -> None:
    assert {n for n, e in AGENTS.items() if e.entrant and e.extra is None} <= style.PLACES.keys()

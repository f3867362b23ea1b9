"""Pictures for papers: their numbers equal those of the runs, their bars those of the verdict."""

from typing import Any

import numpy as np
import pandas
import pytest

from hpo_envs.benchmarks import Comparison, plots
from hpo_envs.benchmarks.plots import paper
from tests.helpers import raises

matplotlib = pytest.importorskip("matplotlib")
figure = pytest.importorskip("matplotlib.figure")
matplotlib.use("agg")


@pytest.fixture(scope="module")
def compared() -> Comparison:
    agents = ["random", "bo-ei-matern52"]
    study = {"environments": ["NMTHPO-zhen-v0", "NMTHPO-jaen-v0"], "agents": agents, "seeds": 5, "budget": 6}
    return Comparison(study).run()


def test_curves_end_at_final_regret(compared: Comparison) -> None:
    final = compared.frame("runs").groupby(["agent", "environment"]).final_regret.mean().groupby("agent").mean()
    for by in ("evaluations", "cost"):
        x, bands = paper.curves(compared.frame("evaluations"), by)
        assert x[-1] == (6 if by == "evaluations" else 1.0)
        assert {a: b[0][-1] for a, b in bands.items()} == pytest.approx(final.to_dict())
        assert not any((low > mean).any() or (mean > high).any() for mean, low, high in bands.values())


def test_ranks_and_bars(compared: Comparison) -> None:
    runs = compared.frame("runs")
    ax = plots.ranks(runs, figure.Figure().subplots())
    said = [t.get_text() for t in ax.get_yticklabels()]
    assert {t.split()[0] for t in said} == {"random", "bo-ei-matern52"}
    assert sum(float(t.split("(")[1][:-1]) for t in said) == pytest.approx(3.0)
    apart: Any = runs.assign(mean_regret=np.where(runs.agent == "random", 0.9, 0.1) + 0.001 * runs.seed)
    bars = [len([li for li in plots.ranks(f).lines if li.get_linewidth() == 3]) for f in (apart, runs)]
    assert bars[0] == 0, "a significant difference has no bar"
    assert bars[1] == (compared.scores["tracks"][0]["pairs"][0]["here"]["verdict"] not in ("better", "worse"))


def test_frames_that_cannot_be_drawn(compared: Comparison) -> None:
    runs, evaluations = compared.frame("runs"), compared.frame("evaluations")
    with raises("frame must have at least two agents, got random"):
        plots.ranks(runs[runs.agent == "random"])
    lacking = runs[(runs.agent == "random") | (runs.environment == "NMTHPO-zhen-v0")]
    with raises("agents must have runs on all environments of the frame, got bo-ei-matern52 without"):
        plots.ranks(lacking)
    twice = "environment NMTHPO-zhen-v0, agent random, seed 0 twice"
    with raises(f"frame must have each run once, with its arguments in its names, got {twice}"):
        plots.ranks(pandas.concat([runs, runs]))
    with raises("frame must have runs with a regret, got none in 120 rows"):
        plots.anytime(evaluations.assign(regret=np.nan))
    with raises("agents must have runs on all environments of the frame, got bo-ei-matern52 without"):
        plots.anytime(evaluations[(evaluations.agent == "random") | (evaluations.environment == "NMTHPO-zhen-v0")])

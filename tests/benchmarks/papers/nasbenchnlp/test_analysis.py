"""Analysis of the searches and of the cells."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

from hpo_envs.benchmarks.papers.nasbenchnlp import analysis
from hpo_envs.benchmarks.papers.nasbenchnlp import cells as study
from hpo_envs.engines.curves.params import CurveParams
from hpo_envs.engines.curves.scalar import CurvesEnv
from hpo_envs.tables import store
from hpo_envs.tables.datasets.nasbenchnlp.paired import paired_losses
from hpo_envs.tables.table import Metric
from tests.benchmarks.papers.nasbenchnlp.helpers import run_of
from tests.hpo_envs.engines.curves.helpers import KWARGS, T1


def test_figure_6_correlation() -> None:
    """.926 and .940 over 270 recipes was found elsewhere; here only architectures with features and finite losses."""
    x, y = paired_losses(store.load(study.WIKITEXT2), store.load(study.FINAL))
    found = analysis.correlations(x, y)
    assert found["n"] == 260
    assert found["r"] == pytest.approx(0.926, abs=0.01)
    assert found["rho"] == pytest.approx(0.940, abs=0.01)


def test_table_2_generated_rows_and_ranks() -> None:
    top = analysis.top_architectures(store.load(study.FINAL), 2)
    assert [t["parameters"] for t in top] == ["9.2M", "11.0M"]
    assert top[0]["architecture"] == "1007537"
    assert top[0]["test_perplexity"] == pytest.approx(83.8, abs=0.05)
    ranks = {r["cell"]: r["rank"] for r in analysis.ranks_of_examples(store.load(study.WIKITEXT2))}
    assert ranks["LSTM"] == 1
    assert ranks["GRU"] == 3


def curves_env(*args: Any, **kwargs: Any) -> CurvesEnv:
    return CurvesEnv(CurveParams.of(*args, **kwargs))


def test_trace_is_the_test_loss_of_the_best_by_validation() -> None:
    env = curves_env("x", table=T1, budget=None, **KWARGS)
    found = analysis.trace(run_of([[0, 4], [0, 9], [5, 2]]), env)
    hours = np.cumsum([T1.cost[0, 0, 4], T1.cost[0, 0, 9] - T1.cost[0, 0, 4], T1.cost[5, 0, 2]]) / 3600
    assert np.allclose(found.hours, hours)
    for k, seen in enumerate([[(0, 4)], [(0, 9)], [(0, 9), (5, 2)]]):
        _, loss = min((T1.values[r, 0, e, 0], T1.values[r, 0, e, 1]) for r, last in seen for e in range(last + 1))
        assert found.loss[k] == loss
    losses = np.where(np.isnan(T1.values[:, 0, :, 1]), np.inf, T1.values[:, 0, :, 1])
    assert losses[analysis.best_row(T1)].min() == losses.min()
    assert analysis.lowest(T1) == np.nanmin(T1.values[..., 1])
    half = analysis.trace(run_of([[0, 4]], workers=2), env)
    assert half.hours[0] == pytest.approx(hours[0] / 2)


def test_exact_random_search_of_one_row_is_the_mean_and_of_all_rows_the_best() -> None:
    env = curves_env("x", table=T1, budget=None, **KWARGS)
    params = env.params
    tests = np.array([params.peak_hidden[(r + 1) * len(params.levels) - 1, 0] for r in range(params.rows)])
    peaks = [params.peaks[(r + 1) * len(params.levels) - 1, 0] for r in range(params.rows)]
    column = params.held_out.index("test_loss")
    assert column == 0
    assert analysis.exact_random(params, 1) == pytest.approx(tests.mean())
    assert analysis.exact_random(params, params.rows) == pytest.approx(tests[int(np.argmax(peaks))])


def named(t: Any) -> Any:
    metrics = (Metric("validation_loss", "nat", "min", 0, 20), Metric("test_loss", "nat", "min", 0, 20), t.metrics[2])
    return dataclasses.replace(t, metrics=metrics, provenance=dataclasses.replace(t.provenance, sha256=""))


def test_rank_correlations_by_hand() -> None:
    t = named(T1)
    rows = analysis.epoch_correlations(t, (1, 10))
    assert [r["cells"] for r in rows] == [3, 3], "rows 1, 2 and 3 did not reach the last epoch"
    whole = [0, 4, 5]
    for r, epoch in zip(rows, (0, 9), strict=True):
        a, b = (np.argsort(np.argsort(v)) for v in (t.values[whole, 0, epoch, 0], t.values[whole, 0, 9, 1]))
        assert float(r["rho"]) == pytest.approx(1 - 6 * ((a - b) ** 2).sum() / 24, abs=1e-3)

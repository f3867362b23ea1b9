"""The analysis of cushLEPOR against slow definitions."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from hpo_envs.benchmarks.papers.cushlepor import analysis
from hpo_envs.tables import hlepor, store
from hpo_envs.tables.datasets.cushlepor import agreement

TABLE = "cushlepor/ted-ende"


def test_mean_of_documents_is_the_weighted_mean_of_correlations(corpus):
    x = corpus.basis.scores(hlepor.preset("default").vector())
    want, size = 0.0, 0
    for d in (1, 3):
        rows = corpus.document == d
        want += rows.sum() * stats.pearsonr(x[rows], corpus.human[rows]).statistic
        size += rows.sum()
    assert analysis.mean_of_documents({"x": x}, corpus, [1, 3])["x"] == pytest.approx([want / size], rel=1e-10)


def test_bootstrap_weights_are_resamples_of_segments(corpus):
    x = corpus.basis.scores(hlepor.preset("default").vector())
    weights = analysis.resamples(corpus, 3, seed=1)
    rows = corpus.document == 2
    assert (weights[:, rows].sum(axis=1) == rows.sum()).all()
    for segment in (200, 250):
        drawn = weights[:, corpus.segment == segment]
        assert (drawn == drawn[:, :1]).all()
    repeated = np.repeat(np.flatnonzero(rows), weights[0, rows].astype(int))
    want = stats.pearsonr(x[repeated], corpus.human[repeated]).statistic
    assert analysis.mean_of_documents({"x": x}, corpus, [2], weights)["x"][0] == pytest.approx(want, rel=1e-9)
    assert np.array_equal(weights, analysis.resamples(corpus, 3, seed=1))


def test_differences_of_a_metric_to_itself_are_ties_and_to_noise_are_not(corpus):
    x = corpus.basis.scores(hlepor.preset("default").vector())
    noise = np.random.default_rng(0).random(len(x))
    same, other = analysis.differences(
        x, {"same": x, "noise": noise}, corpus, range(5), analysis.resamples(corpus, 200)
    )
    assert (same["difference"], same["low"], same["high"], same["verdict"]) == (0, 0, 0, "tie")
    assert other["verdict"] == "better"
    assert other["low"] < other["difference"] < other["high"]


def test_evaluations_to():
    runs = [np.array([0.1, 0.995, 1.0]), np.array([0.2, 0.3, 0.4]), np.array([0.99, 0.0, 0.0])]
    found = analysis.evaluations_to(runs, 1.0, 0.01)
    assert found == {"reached": 2 / 3, "median": 2.0, "quartile 3": np.inf}
    assert analysis.evaluations_to([np.array([-0.2, -0.1005])], -0.1, 0.01)["median"] == 2.0


def test_agreement_of_both_splits_is_what_the_environment_says(corpus):
    table = store.load(TABLE)
    vector = hlepor.preset("cushlepor-lm-en-de").vector()
    (record,) = analysis.both_splits({"x": corpus.basis.scores(vector)}, corpus)
    parts = agreement.prepare(table, "released", None).evaluate(np.array([vector]), kendall=True)
    for split, found in zip(("train", "held-out"), parts, strict=True):
        for name, values in found.items():
            assert record[f"{name} {split}"] == pytest.approx(values[0], rel=1e-9)


def test_committed_results_are_of_this_table():
    summary = json.loads((Path(analysis.__file__).parent / "results" / "summary.json").read_text(encoding="utf-8"))
    table = store.load(TABLE)
    assert summary["table"]["sha256"] == table.provenance.sha256
    corpus = analysis.Corpus.of(table)
    for record in summary["settings"]:
        if record["metric"] in hlepor.PRESETS:
            scores = corpus.basis.scores(hlepor.preset(record["metric"]).vector())
            (again,) = analysis.both_splits({record["metric"]: scores}, corpus)
            assert {k: record[k] for k in again if k != "metric"} == pytest.approx(
                {k: v for k, v in again.items() if k != "metric"},
                rel=1e-9,
                abs=1e-5,  # some ties more or less move tau
            )

"""The analysis of cushLEPOR against slow definitions, the best setting, and what the parts write."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from hpo_envs.benchmarks.comparison import targets
from hpo_envs.benchmarks.papers import common
from hpo_envs.benchmarks.papers.cushlepor import analysis, optimum, reproduce, settings
from hpo_envs.benchmarks.runs import run
from hpo_envs.tables import hlepor, store
from hpo_envs.tables.datasets.cushlepor import agreement, text_metrics
from hpo_envs.tables.datasets.cushlepor.space import BOUNDS, ParameterBox

TABLE = "cushlepor/ted-ende"


@pytest.fixture(scope="module")
def corpus():
    return analysis.Corpus.of(store.load(TABLE))


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


@pytest.mark.parametrize("objective", ["pearson", "rmse"])
def test_the_best_found_beats_presets_and_random_points(corpus, objective):
    table = store.load(TABLE)
    best, vector = optimum.of_env({"objective": objective}, table)
    prepared, box = agreement.prepare(table, "released", None), ParameterBox("published")
    assert ((vector >= box.low) & (vector <= box.high)).all()
    sign = 1 if objective == "pearson" else -1
    assert sign * prepared.evaluate(vector[None])[0][objective][0] == pytest.approx(best, rel=1e-12)
    points = box.natural(np.random.default_rng(5).uniform(-1, 1, (500, 6)))
    presets = np.array([p.vector() for p in hlepor.PRESETS.values()])
    for vectors in (points, presets):
        assert (sign * prepared.evaluate(vectors)[0][objective]).max() <= best


def test_compare_scores_runs_against_the_best_found():
    runs = run("random", settings.ENV, [0], budget=15)
    best = optimum.of_env({"objective": "pearson"}, store.load(TABLE))[0]
    found = targets.score(runs[0], 0.5)
    assert found["fb"] == pytest.approx(best - runs[0].rewards.max())
    assert found["ftc"] == 1
    two = run("random", settings.ENV, [0], budget=2, env_kwargs={"objective": ("pearson", "rmse")})
    with pytest.raises(ValueError, match="must be one name on CushLEPOR-ted-ende-v0, whose Pareto front"):
        targets.score(two[0])


def test_parts_write_what_they_say(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(settings, "PROBLEMS", settings.PROBLEMS[:1])
    monkeypatch.setattr(settings, "AGENTS", ("random",))
    monkeypatch.setattr(settings, "BOOTSTRAP", 20)
    # A rough search will do: what is tested is that parts run and say what they did.
    monkeypatch.setattr(optimum, "of_env", _rough)
    monkeypatch.setattr(agreement, "NAMES", ("pearson",))
    monkeypatch.setattr(reproduce, "BOUNDS", {"published": BOUNDS["published"]})
    for part in ("published", "validation", "agents"):
        assert reproduce.main(tmp_path, trials=2, only=part) == 0
        summary = json.loads((tmp_path / f"{part}.json").read_text(encoding="utf-8"))
        assert summary["table"]["sha256"] == store.load(TABLE).provenance.sha256
        assert summary[part]
    with open(tmp_path / "validation.csv", newline="", encoding="utf-8") as stream:
        assert {r["against"] for r in csv.DictReader(stream)} == {
            *settings.PRESETS,
            *text_metrics.NAMES,
        }
    assert "package example cities" in capsys.readouterr().out


def _rough(env_kwargs, table):
    held_out = env_kwargs.get("held_out")
    corpus = agreement.Agreement(table, held_out=held_out)
    vectors = ParameterBox("published").natural(np.random.default_rng(0).uniform(-1, 1, (30, 6)))
    rewards = corpus.evaluate(vectors)[0][env_kwargs["objective"]]
    return float(rewards.max()), vectors[int(rewards.argmax())]


def test_rmses_to_psqm_need_labels_alone() -> None:
    corpus = analysis.Corpus.of(store.load(TABLE))
    found = reproduce.rmses(corpus)
    default = corpus.basis.scores(hlepor.preset("default").vector())
    assert found["RMSE to pSQM of hLEPOR"] == pytest.approx(np.sqrt(np.mean((default - corpus.human) ** 2)))
    assert set(found) < {k for (k,) in common.expected("cushlepor")}
    if store.missing(reproduce.PSQM):
        assert reproduce.to_psqm() == {}

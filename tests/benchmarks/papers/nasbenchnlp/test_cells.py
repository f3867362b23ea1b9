"""The reproduction's parts on cells: analysis on hand-made data, and the published numbers on the measured tables."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

from hpo_envs.benchmarks.papers.common import Reproduction
from hpo_envs.benchmarks.papers.nasbenchnlp import analysis, predictability
from hpo_envs.benchmarks.papers.nasbenchnlp import cells as study
from hpo_envs.tables import cells, store
from hpo_envs.tables.datasets.nasbenchnlp.paired import paired_losses


def test_checks_find_a_signal_and_no_signal() -> None:
    rng = np.random.default_rng(0)
    x = rng.random((400, 3))
    assert predictability.auc_of_divergence(x, x[:, 0] > 0.8, 3, 0).min() > 0.95
    assert abs(predictability.auc_of_divergence(x, rng.random(400) > 0.8, 6, 0).mean() - 0.5) < 0.12
    scores, true, predicted = predictability.r2_of_loss(x, 2 * x[:, 1], 3, 0)
    assert scores.min() > 0.8
    assert len(true) == len(predicted) == 200
    assert predictability.r2_of_loss(x, rng.random(400), 3, 0)[0].max() < 0.1


def test_halves_are_halves() -> None:
    strata = np.arange(50) < 6
    for mask in predictability.half_splits(50, 4, 0, strata):
        assert mask.sum() == 25
        assert (mask & strata).sum() == 3


def test_parts_write_numbers_and_pictures(tmp_path: Path) -> None:
    for name, trials in (("figure2", None), ("figure7", 3), ("figure11", None)):
        study.PARTS[name](Reproduction(tmp_path, trials=trials))
        assert list(csv.DictReader((tmp_path / f"{name}.csv").open()))
        assert (tmp_path / f"{name}.png").stat().st_size > 5000
        assert (tmp_path / f"{name}.svg").is_file()


@pytest.mark.measured
def test_figure_6_correlation() -> None:
    """.926 and .940 over 270 recipes was found elsewhere; here only architectures with features and finite losses."""
    x, y = paired_losses(store.load(study.FINAL, "measured"))
    found = analysis.correlations(x, y)
    assert found["n"] == 260
    assert found["r"] == pytest.approx(0.926, abs=0.01)
    assert found["rho"] == pytest.approx(0.940, abs=0.01)


@pytest.mark.measured
def test_section_4_checks_on_ptb() -> None:
    table = store.load(study.FINAL, "measured")
    records = {r["check"]: r for r in predictability.feature_checks(table, range(10), "released 10-D", 2, 0)}
    assert records["auc_diverged"]["value"] == pytest.approx(0.98, abs=0.01)
    assert records["r2_loss<=6"]["value"] == pytest.approx(0.24, abs=0.05)


@pytest.mark.measured
def test_table_2_generated_rows_and_ranks() -> None:
    top = analysis.top_architectures(store.load(study.FINAL, "measured"), 2)
    assert [t["parameters"] for t in top] == ["9.2M", "11.0M"]
    assert top[0]["architecture"] == "1007537"
    assert top[0]["test_perplexity"] == pytest.approx(83.8, abs=0.05)
    ranks = {r["cell"]: r["rank"] for r in analysis.ranks_of_examples(store.load(study.WIKITEXT2, "measured"))}
    assert ranks["LSTM"] == 1
    assert ranks["GRU"] == 3


def test_ranks_count_a_computation_once() -> None:
    ranks = analysis.ranks_of_examples(store.load(study.WIKITEXT2, "surrogate"))
    assert [r["cell"] for r in ranks] == list(cells.EXAMPLES)
    assert all(1 <= r["rank"] <= r["of"] for r in ranks)

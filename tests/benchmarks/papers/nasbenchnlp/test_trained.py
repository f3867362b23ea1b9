"""CellMini beside the surrogate of NASBenchNLP-cell: correlations, favourites, and what searches recommend."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from hpo_envs.benchmarks.papers.nasbenchnlp import trained
from hpo_envs.tables import cells, store
from hpo_envs.tables.datasets.cellmini import build
from tests.tables.datasets.cellmini.test_build import arrays


def test_losses_are_the_cap_from_divergence_on() -> None:
    found = trained.losses(build.assemble(arrays()))
    assert found.shape == (3, 2, 15)
    assert found[0, 1].tolist() == pytest.approx([2.0 + 1.0 / e for e in range(1, 7)] + [50.0] * 9)


def test_predictions_are_those_of_the_surrogate() -> None:
    keys = store.load(build.TABLE).keys[:3]
    mean, one, seconds = trained.predicted(keys)
    env_like = [trained.model.simulate(cells.Cell.from_text(key), 0, key) for key in keys]
    assert one.tolist() == [run.losses[-1, 0] for run in env_like]
    assert np.abs(mean - one).max() > 0
    assert (seconds > 0).all()


def test_correlations_have_intervals() -> None:
    rng = np.random.default_rng(1)
    a = rng.standard_normal(60)
    rho, low, high, tau = trained.correlation(a, a + 0.5 * rng.standard_normal(60))
    assert 0.5 < low < rho < high < 1.0
    assert 0.0 < tau < rho
    assert trained.correlation(a, -a)[0] == pytest.approx(-1.0)


def test_favourites_of_the_truth_are_the_best() -> None:
    values = np.arange(40.0)
    worse, among = trained.favourites(values, values)
    assert among == 1.0
    assert worse == pytest.approx(np.mean([39, 38, 37, 36]) / 40)
    assert trained.favourites(-values, values)[1] == 0.0


def test_a_fit_out_of_fold_finds_what_features_say() -> None:
    keys = store.load(build.TABLE).keys[:30]
    nodes = np.array([float(len(cells.Cell.from_text(key).nodes)) for key in keys])
    assert trained.correlation(trained.refitted(keys, nodes), nodes)[0] > 0.3


def test_searches_recommend_a_cell_that_is_trained(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch")
    asked: list[Any] = []

    def begin(key: str, seed: int) -> None:
        asked.append((key, seed))

    monkeypatch.setattr(trained, "SEARCH", {"cells": 3, "seeds": 1})
    monkeypatch.setattr(trained.measure, "begin", begin)
    monkeypatch.setattr(trained, "record", lambda task, training, epochs: {"task": task, "epochs": epochs})
    made = [trained.train(task) for task in trained.tasks()]
    assert len(made) == 4
    assert [seed for _, seed in asked] == [0, 1, 0, 1]
    assert all(r["cell"] == cells.key(cells.Cell.from_text(r["cell"])) for r in made)
    assert asked[0][0] == asked[1][0]

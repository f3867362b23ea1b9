"""Predicting losses from cells: a signal is found where there is one."""

from __future__ import annotations

import numpy as np
import pytest

from hpo_envs.benchmarks.papers.nasbenchnlp import cells as study
from hpo_envs.benchmarks.papers.nasbenchnlp import predictability
from hpo_envs.tables import store


def test_checks_find_a_signal_and_no_signal() -> None:
    rng = np.random.default_rng(0)
    x = rng.random((400, 3))
    assert predictability.auc_of_divergence(x, x[:, 0] > 0.8, 3, 0).min() > 0.95
    assert abs(predictability.auc_of_divergence(x, rng.random(400) > 0.8, 6, 0).mean() - 0.5) < 0.12
    scores, true, predicted = predictability.r2_of_loss(x, 2 * x[:, 1], 3, 0)
    assert scores.min() > 0.8
    assert len(true) == len(predicted) == 200
    assert predictability.r2_of_loss(x, rng.random(400), 3, 0)[0].max() < 0.1


def test_section_4_checks_on_ptb() -> None:
    table = store.load(study.FINAL)
    records = {r["check"]: r for r in predictability.feature_checks(table, range(10), "released 10-D", 2, 0)}
    assert records["auc_diverged"]["value"] == pytest.approx(0.98, abs=0.01)
    assert records["r2_loss<=6"]["value"] == pytest.approx(0.24, abs=0.05)

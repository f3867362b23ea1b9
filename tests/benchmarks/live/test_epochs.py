"""The benchmark of early stopping: every method gets the same epochs, and is scored by what it found."""

import importlib.util

import numpy as np
import pytest

from hpo_envs.benchmarks.live import curves, epochs
from hpo_envs.benchmarks.live.study import references
from hpo_envs.tables.user.space import Points, space_of

BY_NAME = {p.name: p for p in curves.TRAININGS}
PACKAGES = {
    "tpe": "optuna",
    "tpe-hyperband": "optuna",
    "syne-asha": "syne_tune",
    "syne-bohb": "statsmodels",
    "dehb": "dehb",
}


@pytest.mark.parametrize("problem", curves.TRAININGS, ids=lambda p: p.name)
def test_trainings_are_deterministic_and_not_above_their_reference(problem: curves.CurveProblem) -> None:
    points = Points(space_of(problem.search_space))
    configs = [points.config(row) for row in points.raw(np.random.default_rng(4).random((2, len(points.space))))]
    scores = np.array([[*problem.curve(config)] for config in configs])
    assert scores.shape == (2, curves.EPOCHS)
    assert np.isfinite(scores).all()
    assert [problem.function(config) for config in configs] == scores[:, -1].tolist()
    known = references().loc[problem.name]
    assert known.best > known["median"]
    assert scores[:, -1].max() <= known.best + 1e-6 * abs(known.best)


def test_best_last_score_among_the_longest_trainings_counts() -> None:
    budget = epochs.EpochBudget(BY_NAME["slow"], 0, 32)
    good, bad = (
        {"lr": 0.03, "depth": 5, "drop": 0.2, "decay": 0.003, "act": "relu"},
        {"lr": 1.0, "depth": 1, "drop": 0.6},
    )
    bad |= {"decay": 1.0, "act": "gelu"}
    for config, steps in ((bad, 27), (good, 5)):
        training = budget.begin(config)
        scores = [budget.step(training) for _ in range(steps)]
        assert scores == [*BY_NAME["slow"].curve(config)][:steps]
    with pytest.raises(epochs.SpentError):
        budget.step(training)
    assert budget.final(32) == BY_NAME["slow"].function(bad) < BY_NAME["slow"].function(good)


@pytest.mark.parametrize("optimiser", epochs.METHODS)
def test_methods_use_all_epochs(optimiser: str) -> None:
    if optimiser in PACKAGES and importlib.util.find_spec(PACKAGES[optimiser]) is None:
        pytest.skip("package not installed")
    (row,) = epochs.play(BY_NAME["noisy"], optimiser, 81, 1)
    again = epochs.play(BY_NAME["noisy"], optimiser, 81, 1)
    assert (row.problem, row.optimiser, row.budget, row.seed, [row]) == ("noisy", optimiser, 81, 1, again)
    assert row.final <= references().loc["noisy"].best

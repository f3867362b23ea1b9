"""The search for the best setting."""

from __future__ import annotations

import numpy as np
import pytest

from hpo_envs.benchmarks.comparison import targets
from hpo_envs.benchmarks.papers.cushlepor import optimum, settings
from hpo_envs.benchmarks.runs import run
from hpo_envs.tables import hlepor, store
from hpo_envs.tables.datasets.cushlepor import agreement, model
from hpo_envs.tables.datasets.cushlepor.space import ParameterBox

TABLE = "cushlepor/ted-ende"


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


def test_planted_weights_are_nearly_the_best_of_the_stand_in():
    """On its training talks the stand-in's optimum owes less than 3 % to noise."""
    table = store.load(TABLE)
    best = optimum.of_env({"objective": "pearson"}, table)[0]
    planted = agreement.prepare(table, "released", None).evaluate(np.array([model.PLANTED.vector()]))[0]
    assert 0.97 * best < planted["pearson"][0] <= best


def test_compare_scores_runs_against_the_best_found():
    runs = run("random", settings.ENV, [0], budget=15)
    best = optimum.of_env({"objective": "pearson"}, store.load(TABLE))[0]
    found = targets.score(runs[0], 0.5)
    assert found["fb"] == pytest.approx(best - runs[0].rewards.max())
    assert found["ftc"] == 1
    two = run("random", settings.ENV, [0], budget=2, env_kwargs={"objective": ("pearson", "rmse")})
    with pytest.raises(ValueError, match="must be one name on CushLEPOR-ted-ende-v0, whose Pareto front"):
        targets.score(two[0])

"""The search for the best setting."""

from __future__ import annotations

import numpy as np
import pytest

from hpo_envs.benchmarks.comparison import targets
from hpo_envs.benchmarks.papers.cushlepor import optimum, settings
from hpo_envs.benchmarks.runs import run
from hpo_envs.tables import hlepor, store
from hpo_envs.tables.datasets.cushlepor import agreement
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


def test_compare_scores_runs_against_the_best_found():
    runs = run("random", settings.ENV, [0], budget=15)
    best = optimum.of_env({"objective": "pearson"}, store.load(TABLE))[0]
    found = targets.score(runs[0], 0.5)
    assert found["fb"] == pytest.approx(best - runs[0].rewards.max())
    assert found["ftc"] == 1
    two = run("random", settings.ENV, [0], budget=2, env_kwargs={"objective": ("pearson", "rmse")})
    with pytest.raises(ValueError, match="must be one name on CushLEPOR-ted-ende-v0, whose Pareto front"):
        targets.score(two[0])

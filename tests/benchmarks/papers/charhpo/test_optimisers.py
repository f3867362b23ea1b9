"""The comparison of optimisers on the sweeps."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hpo_envs.benchmarks.papers.charhpo import optimisers
from hpo_envs.benchmarks.papers.common import Reproduction
from hpo_envs.benchmarks.runs import run
from hpo_envs.tables import store
from tests.benchmarks.papers.charhpo.helpers import z_values


def test_the_agent_is_that_random_search() -> None:
    name = "charhpo/inflection-hun-lstm"
    runs = run("random", optimisers.id_of(name), range(300), budget=200, env_kwargs={"table": "surrogate"})
    best = np.array([np.maximum.accumulate(r.rewards) for r in runs])
    assert np.abs(z_values(best, store.load(name, "surrogate").final("accuracy"))).max() < 3


def test_the_study_is_consistent() -> None:
    tasks = ("charhpo/inflection-hun-lstm", "charhpo/g2p-hun-transformer", "charhpo/g2p-geo-lstm")
    agents = ("random", "regularized-evolution", "bo")
    s = optimisers.study(Reproduction(Path(), trials=3), agents, tasks, budget=24, kind="surrogate")
    assert s.best.shape == s.seconds.shape == (3, 3, 3, 24)
    assert (np.diff(s.best, axis=-1) >= 0).all()
    assert (np.diff(s.seconds, axis=-1) > 0).all()
    records = optimisers.against_evaluations(s, "surrogate")
    assert len(records) == 24
    assert records[0]["random, closed form"] == pytest.approx(records[0]["random, with replacement"])
    assert all(records[-1][k] <= records[0][k] for k in records[0] if k != "evaluations")
    shares = [optimisers.exhausted(s, share, "surrogate") for share in (1.0, 10.0, 100.0)]
    assert (shares[0] == 0).all()
    assert (shares[2] == 1).all()
    early, late = optimisers.best_at(s, 3.0, "surrogate"), optimisers.best_at(s, 100.0, "surrogate")
    assert (early <= late).all()
    assert np.array_equal(late, s.best[..., -1].mean(axis=2))
    check = optimisers.simulation_check(s, "surrogate")
    assert check["within two standard errors"] > 0.8
    assert set(optimisers.rankings(s, "surrogate")) >= {"10 evaluations", "20 evaluations"}

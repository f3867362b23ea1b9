"""The benchmark of live tuning: problems, stored runs, regret."""

import logging
import sys

import numpy as np
import pytest

from hpo_envs.benchmarks.live import study
from hpo_envs.benchmarks.live.optimisers import make
from hpo_envs.benchmarks.live.problems import PROBLEMS
from hpo_envs.tables.user.space import Points, space_of

BY_NAME = {p.name: p for p in PROBLEMS}


@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda p: p.name)
def test_problem_scores_configurations_deterministically_and_not_above_its_reference(problem):
    points = Points(space_of(problem.search_space))
    raw = points.raw(np.random.default_rng(3).random((3, len(points.space))))
    configs = [points.config(row) for row in raw]
    scores = [problem.function(config) for config in configs]
    assert scores == [problem.function(config) for config in configs]
    assert np.isfinite(scores).all()
    known = study.references().loc[problem.name]
    assert known.best > known["median"]
    assert max(scores) <= known.best + 1e-6 * abs(known.best)


def test_noise_depends_on_seed_and_evaluation_only():
    problem = BY_NAME["hartmann6-noise"]
    config = {f"x{j}": 0.2 for j in range(6)}
    observed, true = problem.observed(config, 1, 2)
    assert (observed, true) == problem.observed(config, 1, 2)
    assert observed != problem.observed(config, 1, 3)[0]
    assert true == problem.function(config) != observed


def test_known_maxima_are_functions_values_there():
    assert BY_NAME["branin"].function({"x": np.pi, "y": 2.275}) == pytest.approx(study.KNOWN["branin"], abs=1e-5)
    best = [0.20169, 0.150011, 0.476874, 0.275332, 0.311652, 0.6573]
    hartmann = BY_NAME["hartmann6"].function({f"x{j}": x for j, x in enumerate(best)})
    assert hartmann == pytest.approx(study.KNOWN["hartmann6"], abs=1e-4)
    assert BY_NAME["levy8"].function({f"x{j}": 1.0 for j in range(8)}) == pytest.approx(0.0, abs=1e-12)
    places = {
        "styblinski5-noise": {f"x{j}": -2.903534 for j in range(5)},
        "policy-noise": {"lr": 10**-3.7, "entropy": 10**-2.3, "gamma": 0.99, "clip": 0.2, "batch": 256, "epochs": 6}
        | {"network": "gru"},
        "tiles6": {"m": 4, "n": 72, "k": 50, "unroll": 1, "threads": 12, "prefetch": 5},
        "sparse30": {"r03": (np.pi + 5) / 15, "r10": 2.275 / 15, "i2": 9, "c5": "c"},
        "training-tree": {"epochs": 14, "lr": 0.1, "optimizer": "sgd", "momentum": 1 - 10**-1.3, "schedule": "cosine"}
        | {"warmup": 0.1, "model": "conv", "width": 48, "kernel_size": 5, "norm": "group", "groups": 4},
    }
    for name, config in places.items():
        assert BY_NAME[name].function(config) == pytest.approx(study.KNOWN[name], abs=1e-5)


@pytest.mark.parametrize("workers", [1, 4])
def test_run_scores_configuration_with_best_observed_score(workers):
    (row,) = study.play(BY_NAME["schedule"], "random", workers, 12, 0)
    optimiser, scores = make("random", BY_NAME["schedule"], 0, 12), []
    for t in range(12):
        handle, config = optimiser.ask()
        scores.append(BY_NAME["schedule"].observed(config, 0, t))
        optimiser.tell(handle, scores[-1][0])
    assert row.final == max(scores)[1]
    assert row.anytime <= max(true for _, true in scores)


def test_runs_are_kept_and_not_repeated(tmp_path, monkeypatch, capsys):
    path, texts = tmp_path / "results.csv", []
    monkeypatch.setattr(study, "RESULTS", path)
    for seeds in ("0-1", "0-2"):
        monkeypatch.setattr(
            sys, "argv", f"x run --optimisers random --problems branin --seeds {seeds} --budget 5".split()
        )
        study.main()
        texts.append(path.read_text())
    assert texts[1].startswith(texts[0])
    assert len(study.load(path)) == 3
    monkeypatch.setattr(sys, "argv", "x table --seeds 0-2 --budget 5 --against random --workers 1".split())
    study.main()
    assert "budget 5" in capsys.readouterr().out
    monkeypatch.setattr(sys, "argv", "x run --problems brainin".split())
    with pytest.raises(ValueError, match="--problems must be one of branin, .*did you mean 'branin'"):
        study.main()
    regrets = study.regrets(study.load(path), 5, range(3))
    assert regrets.final.between(0.0, 1.0).all()
    table = study.table(regrets, "random")
    assert table.loc["random", "final_minus"] == 0.0
    assert table.loc["random", "final"] == pytest.approx(regrets.final.mean())


@pytest.mark.parametrize(("package", "name"), [("optuna", "optuna-tpe"), ("smac", "smac3"), ("ax", "botorch-ax")])
def test_other_packages_are_asked_for_active_hyperparameters_only(package, name):
    pytest.importorskip(package)
    optimiser = make(name, BY_NAME["svm-digits"], 0, 5)
    for _ in range(5):
        trial, config = optimiser.ask()
        assert ("degree" in config) == (config["kernel"] == "poly")
        optimiser.tell(trial, 0.0)
    assert logging.getLogger("other").isEnabledFor(logging.WARNING)

"""Folders and frames written by the trackers themselves, each of a small sweep; `.ci/nightly formats` installs them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from hpo_envs.tables import user

GRID = [(lr, layers) for lr in (0.001, 0.01, 0.1) for layers in (1, 2)]


def loss(lr: float, layers: int, step: int) -> float:
    return abs(lr - 0.01) * layers + 1 / step


def check(table: Any, levels: int) -> None:
    """All six configurations with their own losses; columns that only describe a run are no hyperparameters."""
    assert (sorted(h.name for h in table.space), table.values.shape[:3]) == (["layers", "lr"], (6, 1, levels))
    assert table.metrics[0].goal == "min"
    for row in range(6):
        config = table.config(row)
        expected = loss(float(config["lr"]), int(config["layers"]), 3)
        assert table.values[row, 0, -1, 0] == pytest.approx(expected)


def train_in_ray(config: dict[str, Any]) -> None:
    from ray import tune

    for step in (1, 2, 3):
        tune.report({"loss": loss(config["lr"], config["layers"], step)})


def test_folder_of_ray_tune(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ray = pytest.importorskip("ray")
    from ray import tune

    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    monkeypatch.setenv("TUNE_DISABLE_AUTO_CALLBACK_LOGGERS", "0")
    ray.init(num_cpus=1, include_dashboard=False, log_to_driver=False)
    try:
        space = {"lr": tune.grid_search([0.001, 0.01, 0.1]), "layers": tune.grid_search([1, 2])}
        settings = tune.RunConfig(storage_path=str(tmp_path), name="sweep", verbose=0)
        search = tune.TuneConfig(reuse_actors=True)
        results = tune.Tuner(train_in_ray, param_space=space, run_config=settings, tune_config=search).fit()
        assert len(results) == 6
        frame = results.get_dataframe()
    finally:
        ray.shutdown()
    check(user.from_csv(tmp_path / "sweep", score="loss", goal="min"), 3)
    check(user.from_frame(frame, score="loss", goal="min"), 1)


def test_runs_of_mlflow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mlflow = pytest.importorskip("mlflow")
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")  # a database needs the whole package
    mlflow.set_tracking_uri(f"file:{tmp_path / 'mlruns'}")
    mlflow.set_experiment("sweep")
    for lr, layers in GRID:
        with mlflow.start_run():
            mlflow.log_params({"lr": lr, "layers": layers})
            mlflow.log_metric("world_size", 1.0)  # a constant
            for step in (1, 2, 3):
                mlflow.log_metric("loss", loss(lr, layers, step), step=step)
    frame = mlflow.search_runs(experiment_names=["sweep"])
    check(user.from_frame(frame, score="loss", goal="min"), 1)
    frame.to_csv(tmp_path / "runs.csv", index=False)
    check(user.from_csv(tmp_path / "runs.csv", goal="min"), 1)  # the constant is no score

"""Each evaluation becomes a run of a tracker, with the real packages."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from hpo_envs.tuning import Search, tune
from hpo_envs.tuning.trial import Trial
from tests.hpo_envs.tuning import helpers


def reporting(config: dict[str, Any], trial: Any) -> float:
    if config["x"] > 0.9:
        raise RuntimeError("out of memory")
    trial.report(config["x"], 3)
    return float(config["x"]) + 1.0


GIVEN: dict[str, Any] = {"points": [{"x": 0.25}, {"x": 0.95}], "budget": 2, "progress": False}


def test_evaluations_are_runs_of_mlflow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mlflow = pytest.importorskip("mlflow")
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    before = mlflow.get_tracking_uri()
    mlflow.set_tracking_uri(f"file://{tmp_path}")
    try:
        tune(reporting, {"x": (0.0, 1.0)}, log="mlflow", out=tmp_path / "mine", **GIVEN)
        client = mlflow.MlflowClient()
        experiment = client.get_experiment_by_name("reporting, mine")
        runs = sorted(client.search_runs([experiment.experiment_id]), key=lambda run: run.info.run_name)
        assert [run.info.status for run in runs] == ["FINISHED", "FAILED"]
        assert (runs[0].data.params, runs[0].data.metrics["score"]) == ({"x": "0.25"}, 1.25)
        (report,) = client.get_metric_history(runs[0].info.run_id, "report")
        assert (report.step, report.value) == (3, 0.25)
        for space in ({"x@": (0.0, 1.0)}, {"y": (0.0, 1.0)}):
            tune(
                lambda c: {"f1@5": 2.0, "b": 1.0, "cost": 12.5},
                space,
                objective="f1@5",
                log="mlflow",
                budget=1,
                progress=False,
            )
        found = client.search_experiments(filter_string="name LIKE '%lambda%'")
        runs = [run for experiment in found for run in client.search_runs([experiment.experiment_id])]
        assert sorted(key for run in runs for key in run.data.params) == ["x_", "y"]
        assert [(run.data.metrics["f1_5"], run.data.metrics["cost"]) for run in runs] == [(2.0, 12.5)] * 2
        assert len(found) == len(runs) == 2
        monkeypatch.setattr(mlflow.MlflowClient, "log_param", lambda *_: 1 / 0)
        with pytest.warns(UserWarning, match="evaluation [01] is not wholly in mlflow, got division by zero"):
            assert len(tune(reporting, {"x": (0.0, 1.0)}, log="mlflow", **GIVEN)) == 2
    finally:
        mlflow.set_tracking_uri(before)


def test_evaluations_are_runs_of_wandb(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("wandb")
    for name, value in {"WANDB_MODE": "offline", "WANDB_DIR": str(tmp_path), "WANDB_SILENT": "true"}.items():
        monkeypatch.setenv(name, value)
    tune(reporting, {"x": (0.0, 1.0)}, log="wandb", **GIVEN)
    assert len([*tmp_path.glob("wandb/offline-run-*")]) == 2


def test_other_trackers_are_named() -> None:
    with pytest.raises(ValueError, match="log must be one of mlflow, wandb, got 'mlflo', did you mean 'mlflow'"):
        tune(helpers.train, helpers.SPACE, log="mlflo")


def test_slow_tracker_keeps_no_other_process_waiting(tmp_path: Path) -> None:
    given: dict[str, Any] = {"out": tmp_path, "join": True, "agent": "random", "budget": 4}
    with (
        Search({"x": (0.0, 1.0)}, **given) as search,
        Search({"x": (0.0, 1.0)}, **given) as other,
        ThreadPoolExecutor(1) as pool,
    ):
        begun: list[Trial] = []
        search._log = lambda *_: begun.append(pool.submit(other.ask).result(timeout=20))
        search.tell(search.ask(), 1.0)
        assert [trial.number for trial in begun] == [1]

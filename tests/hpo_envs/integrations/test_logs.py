"""Runs as others read them, by their own readers."""

import json
from pathlib import Path

import numpy as np
import pytest

from hpo_envs.benchmarks import run
from hpo_envs.integrations.logs import to_carps, to_coco, to_ioh, to_studies
from hpo_envs.tables import user
from hpo_envs.tables.table import STATUSES


@pytest.mark.parametrize(
    "env_id, budget",
    [("NMTHPO-zhen-v0", 6), ("CharHPO-v0", 6), ("NMTHPO-zhen-mo-v0", 6), ("NMTLC-ft-zhen-v0", 200)],
)
def test_study_has_what_run_has(env_id: str, budget: int) -> None:
    optuna = pytest.importorskip("optuna", reason="extra optuna is not installed")
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    runs = run("random", env_id, [0, 1], budget=budget)
    studies = to_studies(runs)
    assert [s.study_name for s in studies] == [f"{env_id}-random-{i}" for i in range(2)]
    for one, study in zip(runs, studies, strict=True):
        assert len(study.trials) == len(one)
        np.testing.assert_array_equal([t.values for t in study.trials], one.rewards.reshape(len(one), -1))
        assert [t.user_attrs["cost"] for t in study.trials] == one.costs.tolist()
        assert study.user_attrs["header"]["sha256"] == one.header["sha256"]
        if env_id.startswith("NMTHPO"):
            frame = runs[:1].to_frame() if one is runs[0] else runs[1:].to_frame()
            assert [t.params for t in study.trials] == frame[[*study.trials[0].params]].to_dict("records")
            assert len(user.from_study(study, "again")) == len(one)


def test_carps_reads_its_logs(tmp_path: Path) -> None:
    runs = run("random", "NMTHPO-zhen-v0", [0, 1], budget=5)
    places = to_carps(runs, tmp_path)
    lines = [json.loads(line) for line in (places[1] / "trial_logs.jsonl").read_text().splitlines()]
    assert [line["trial_value"]["cost"] for line in lines] == (-runs[1].rewards).tolist()
    gather = pytest.importorskip("carps.analysis.gather_data_utils", reason="carps is not installed")
    frame = gather.load_log(places[1])
    assert frame["trial_value__cost"].tolist() == (-runs[1].rewards).tolist()
    assert frame["trial_value__cost_inc"].tolist() == (-np.maximum.accumulate(runs[1].rewards)).tolist()
    assert set(frame["optimizer_id"]) == {"random"}
    assert set(frame["task_id"]) == {"NMTHPO-zhen-v0"}
    assert set(frame["status"]) == {"COMPLETED"}


def test_ioh_reads_its_logs(tmp_path: Path) -> None:
    runs = run("random", "NMTHPO-zhen-v0", [0, 3], budget=5)
    runs += run("bo", "NMTHPO-jaen-v0", [0], budget=4)
    files = to_ioh(runs, tmp_path)
    assert [f.parent.name for f in files] == ["random", "bo"]
    meta = json.loads(files[0].read_text())
    assert (meta["function_id"], meta["function_name"], meta["maximization"]) == (2, "NMTHPO-zhen-v0", True)
    inspector = pytest.importorskip("iohinspector", reason="iohinspector is not installed")
    manager = inspector.DataManager()
    manager.add_folder(str(tmp_path))
    assert len(manager.overview) == 3
    frame = manager.load(monotonic=False, include_meta_data=True).to_pandas()
    mine = frame[(frame["algorithm_name"] == "random") & (frame["instance"] == 3)]
    np.testing.assert_allclose(mine["raw_y"], runs[1].rewards, atol=1e-9)


def test_carps_has_one_objective(tmp_path: Path) -> None:
    runs = run("random", "NMTHPO-zhen-mo-v0", [0], budget=3)
    with pytest.raises(ValueError, match="runs must have one objective for carps, got bleu, "):
        to_carps(runs, tmp_path)


def test_failed_run_is_crashed_trial(tmp_path: Path) -> None:
    runs = run("random", "NASBenchNLP-ptb-final-v0", [0], budget=60)
    failed = [STATUSES[int(s)] in ("failed", "diverged") for s in runs[0].evaluated["status"]]
    assert 0 < sum(failed) < len(failed)
    lines = (to_carps(runs, tmp_path)[0] / "trial_logs.jsonl").read_text().splitlines()
    assert [json.loads(line)["trial_value"]["status"] == 2 for line in lines] == failed


def test_coco_reads_its_logs(tmp_path: Path) -> None:
    runs = run("random", "NMTHPO-zhen-v0", [0, 3], budget=5)
    runs += run("bo", "NMTHPO-jaen-v0", [0, 1], budget=5)
    files = to_coco(runs, tmp_path)
    assert [str(f.relative_to(tmp_path)) for f in files] == ["random/bbobexp_f2.info", "bo/bbobexp_f1.info"]
    header, name, data = files[0].read_text().splitlines()
    regrets = runs[:2].to_frame()["regret"].to_numpy().reshape(2, 5)
    assert "funcId = 2, DIM = 10," in header  # seven hyperparameters
    assert name == "% NMTHPO-zhen-v0"
    assert data == f"data_f2/bbobexp_f2_DIM10.dat, 1:5|{regrets[0, -1]:.1e}, 4:5|{regrets[1, -1]:.1e}"
    cocopp = pytest.importorskip("cocopp", reason="cocopp is not installed")
    (read,) = cocopp.load(str(tmp_path / "random"))
    assert (read.funcId, read.dim, read.instancenumbers) == (2, 10, [1, 4])
    np.testing.assert_allclose(read.finalfunvals, regrets[:, -1], atol=1e-9)


def test_coco_has_one_objective(tmp_path: Path) -> None:
    runs = run("random", "NMTHPO-zhen-mo-v0", [0], budget=3)
    with pytest.raises(ValueError, match="runs must have one objective and a known optimum for COCO, got NMTHPO-zhen"):
        to_coco(runs, tmp_path)

"""Files as users have them, mostly made by the tools (see exports/README.md), are read at the first attempt."""

import collections
import gzip
import json
import re
import shutil
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import feather

from hpo_envs.commands.main import main
from hpo_envs.tables import user
from hpo_envs.tables.frames import natural
from hpo_envs.tables.table import STATUSES
from tests.helpers import ROOT, rejects, started

HERE = Path(__file__).parent / "exports"


def place(name: str, tmp_path: Path) -> Path:
    """Path of an export; a folder is unpacked first."""
    if name == "syne_tune":
        for file in HERE.glob("syne_tune.*.*"):
            shutil.copy(file, tmp_path / file.name.removeprefix("syne_tune."))
        return tmp_path
    if not (HERE / f"{name}.folder.json").is_file():
        return HERE / name
    for path, text in json.loads((HERE / f"{name}.folder.json").read_text()).items():
        (tmp_path / name / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name / path).write_text(text)
    return tmp_path / name


CRASHED = {"ok": 8, "failed": 2, "diverged": 2}
SECONDS, EACH = "seconds", "evaluations"
SGD = "momentum: active only while optimizer is sgd"
OPTUNA = ("layers lr momentum optimizer", (12, 1, 1), {"ok": 10, "failed": 1, "truncated": 1}, SECONDS)

# name, options, hyperparameters, (rows, repeats, levels), statuses of the runs, unit of cost, sentences
CASES: list[tuple[str, dict[str, Any], str, tuple[int, int, int], dict[str, int], str, list[str]]] = [
    ("optuna.csv", {"goal": "max"}, *OPTUNA, ["export of Optuna", "params_" + SGD, "1 run still going on, left out"]),
    ("optuna_multi_index.csv", {"goal": "max"}, *OPTUNA, ["Unnamed: 0, datetime_start"]),
    ("optuna.parquet", {"goal": "max"}, *OPTUNA, ["params_" + SGD]),
    ("optuna.jsonl", {"goal": "max"}, *OPTUNA, ["datetime_start"]),
    ("optuna_two_objectives.csv", {"score": ["values_accuracy", "latency"]}, "dropout width", (9, 1, 1), {"ok": 9},
     SECONDS, ["values_latency: score, min"]),
    ("mlflow.csv", {}, "layers lr momentum optimizer", (9, 1, 1), {"ok": 7, "failed": 2}, SECONDS,
     ["params.dataset: always small, left out", "metrics.train_loss: measured", "tags.mlflow.note.content"]),
    ("mlflow.json", {}, "layers lr momentum optimizer", (9, 1, 1), {"ok": 7, "failed": 2}, SECONDS, ["MLflow"]),
    ("mlflow_ui.csv", {}, "C kernel", (5, 1, 1), {"ok": 3, "failed": 2}, SECONDS,
     ["train_auc: measured, not set", "rows: always 5000", "1 run still going on", "variant: empty, left out",
      "mlflow.log-model.history: bookkeeping", "log_likelihood: apostrophes before signs left out"]),
    ("ray.csv", {}, "layers lr", (8, 1, 1), {"ok": 7, "failed": 1}, SECONDS, ["export of Ray Tune", "pid, hostname"]),
    ("ray_all_results.csv", {}, "layers lr", (8, 1, 3), {"ok": 7, "failed": 1}, SECONDS, ["training_iteration: the c"]),
    ("ray_results", {}, "layers lr", (3, 1, 3), {"ok": 3}, SECONDS,
     ["training_iteration: the checkpoint, 3 different", "trial_id: names the runs"]),
    ("sklearn_grid.csv", {}, "criterion max_depth max_features", (18, 1, 1), {"ok": 18}, SECONDS,
     ["max_depth: choice of 3: 2, 4, none; `none` is one of the choices (--fill max_depth=VALUE"]),
    ("sklearn_random.csv", {"score": "mean_test_accuracy"}, "C penalty solver", (14, 1, 1), {"ok": 13, "failed": 1},
     SECONDS, ["mean_test_neg_log_loss: measured, not set", "mean_test_accuracy: score, max"]),
    ("sklearn_two_grids.csv", {}, "C gamma kernel", (9, 1, 1), {"ok": 9}, SECONDS,
     ["param_gamma: active only while kernel is rbf"]),
    ("sklearn_halving.csv", {}, "max_depth min_samples_leaf", (12, 1, 3), {"ok": 12}, SECONDS, ["n_resources: the ch"]),
    ("syne_tune.csv", {}, "layers lr optimizer", (9, 1, 4), {"ok": 9}, SECONDS, ["epoch: the checkpoint, 4 different"]),
    ("syne_tune", {}, "layers lr optimizer", (9, 1, 4), {"ok": 9}, SECONDS, ["config_epochs: always 4", "score, max"]),
    ("wandb_api.csv", {}, "layers lr momentum optimizer", (8, 1, 1), {"ok": 8}, SECONDS,
     ["summary.val/accuracy: score, max", "config.dataset: always small", "name: names the runs"]),
    ("wandb_ui.csv", {}, "batch_size dropout optimizer.lr optimizer.name", (8, 1, 1),
     {"ok": 3, "failed": 3, "diverged": 1, "truncated": 1}, SECONDS,
     ["Name, Notes, User, Tags, Created, Sweep, _step, epoch: bookkeeping", "1 run failed with a score"]),
    ("wandb_history.csv", {}, "lr width", (4, 1, 3), {"ok": 3, "diverged": 1}, SECONDS,
     ["_step: the checkpoint", "epoch: changes from one checkpoint of a run to the next"]),
    ("wandb_config.csv", {}, "layers lr", (3, 1, 1), {"ok": 2, "failed": 1}, SECONDS, ["test_f1: score, max"]),
    ("hydra", {}, "layers optimizer.lr optimizer.name", (12, 1, 1), CRASHED, EACH,
     ["export of Hydra", "metrics.seconds: measured"]),
    ("hydra_submitit", {}, "layers optimizer.lr optimizer.name", (12, 1, 1), CRASHED,
     EACH, ["export of Hydra"]),
    ("job_files", {}, "lr wd", (4, 1, 1), {"ok": 3, "failed": 1}, EACH, ["error_rate: score, min", "host: not"]),
    ("runs.jsonl", {}, "lr model.act model.layers", (4, 1, 1), {"ok": 2, "failed": 1, "diverged": 1}, EACH, []),
    ("by_name.json", {}, "bs lr", (3, 1, 1), {"ok": 2, "failed": 1}, EACH, ["name: names the runs"]),
    ("words.csv", {"cost": "gpu_hours"}, "batch lr", (11, 1, 1), {"ok": 3, "failed": 6, "diverged": 2}, "gpu_hours",
     ["gpu_hours: empty for 4 failed runs: taken as 0.75, the median of failed runs"]),
    ("notes.csv", {"drop": ["who ran it"]}, "lr warmup", (6, 1, 1), {"ok": 6}, EACH,
     ["run name: names the runs", "date: when, not what", "comment: a note", "model: always bert"]),
    ("states.csv", {"cost": "time_taken"}, "lr units", (6, 1, 1), {"ok": 2, "failed": 2, "diverged": 1, "truncated": 1},
     "time_taken", ["time_taken: empty for 1 failed run", "1 run still going on"]),
    ("measured.csv", {}, "heads lr params", (6, 1, 1), {"ok": 5, "failed": 1}, EACH,
     ["train_loss: measured, not set", "tokens: empty only where a run failed, so measured"]),
    ("doubled.csv", {}, "layers lr", (4, 1, 1), {"ok": 4}, EACH, ["2 line(s), the first line 5, say what"]),
    ("doubled_plain.csv", {}, "layers lr", (3, 1, 1), {"ok": 3}, EACH, ["one run each, not repeats"]),
    ("rounded_repeats.csv", {}, "layers lr", (2, 3, 1), {"ok": 6}, EACH, ["kept as repeats, like the others"]),
    ("rounded_repeats.csv", {"duplicates": True}, "layers lr", (2, 2, 1), {"ok": 4}, EACH, ["one run each"]),
    ("seeds.csv", {}, "layers lr", (2, 3, 1), {"ok": 5, "failed": 1}, EACH, ["seed: tells runs of one"]),
    ("curves.csv", {"cost": "elapsed"}, "lr width", (3, 2, 3), {"ok": 3, "diverged": 1}, "elapsed",
     ["epoch: the checkpoint", "seed: tells runs"]),
    ("none_choice.csv", {}, "criterion max_depth", (6, 1, 1), {"ok": 6}, EACH,
     ["max_depth: choice of 3: 3, 5, none; `none` is one of the choices (--fill max_depth=VALUE makes it a number)"]),
    ("none_choice.csv", {"fill": {"max_depth": 99}}, "criterion max_depth", (6, 1, 1), {"ok": 6}, EACH,
     ["2 cells without a value filled with 99", "max_depth: int, 3 to 99, 3 values"]),
    ("none_missing.csv", {}, "decay lr scheduler", (6, 1, 1), {"ok": 6}, EACH,
     ["decay: active only while scheduler is step; else stored as 0; `none` is a missing value (--categorical makes"]),
    ("none_missing.csv", {"categorical": ["decay"]}, "decay lr scheduler", (6, 1, 1), {"ok": 6}, EACH,
     ["decay: choice of 4: 0.1, 0.25, 0.5, none"]),
    ("holes.csv", {}, "layers lr schedule", (5, 1, 1), {"ok": 5}, EACH,
     ["lr: float, 0.005 to 0.1, logarithmic (ratios are even); empty in 1 line, which is left out",
      "where it is empty the choice is none"]),
    ("german.csv", {"score": "genauigkeit", "goal": "max", "cost": "sekunden"}, "dropout lr optimierer", (4, 1, 1),
     {"ok": 3, "failed": 1}, "sekunden",
     ["lr: decimal commas read as points", "genauigkeit: decimal commas read as points, percent signs left out"]),
    ("percent.tsv", {}, "lr width", (4, 1, 1), {"ok": 4}, EACH, ["accuracy: score, max, 69 to 82.5"]),
    ("trailing.csv", {}, "lr width", (4, 1, 1), {"ok": 4}, EACH, ["loss: score, min"]),
]  # fmt: skip


@pytest.mark.parametrize(("name", "options", "space", "shape", "statuses", "unit", "sentences"), CASES)
def test_export_is_read_at_first_try(
    tmp_path: Path,
    name: str,
    options: dict[str, Any],
    space: str,
    shape: tuple[int, int, int],
    statuses: dict[str, int],
    unit: str,
    sentences: list[str],
) -> None:
    said: list[str] = []
    table = user.from_csv(place(name, tmp_path), explain=said.append, **options)
    assert (sorted(h.name for h in table.space), table.values.shape[:3]) == (space.split(), shape)
    runs = ~np.isnan(table.cost[:, :, 0])
    assert dict(collections.Counter(STATUSES[s] for s in table.status[runs])) == statuses
    assert table.cost_unit == (unit if shape[2] == 1 or unit != "evaluations" else table.level_unit)
    for sentence in sentences:
        assert sentence in "\n".join(said)
    env = started(gym.make("TableHPO-v0", table=table, disable_env_checker=True))
    assert np.isfinite(env.step(0)[1])


def test_numbers_are_those_of_file(tmp_path: Path) -> None:
    table = user.from_csv(HERE / "optuna.csv", goal="max")
    frame = pd.read_csv(HERE / "optuna.csv").set_index("number")
    for row, key in enumerate(table.keys):
        trial = frame.loc[int(key)]
        assert table.config(row)["lr"] == trial["params_lr"]
        assert table.config(row)["optimizer"] == trial["params_optimizer"]
        assert np.isnan(table.values[row]).all() if np.isnan(trial["value"]) else table.values[row] == trial["value"]
        assert table.cost[row, 0, 0] == pytest.approx(pd.to_timedelta(trial["duration"]).total_seconds())
    halving = natural(user.from_csv(HERE / "sklearn_halving.csv"))
    spent = pd.read_csv(HERE / "sklearn_halving.csv").groupby("params")["mean_fit_time"].sum()
    assert np.nanmax(halving.cost, axis=2).sum() == pytest.approx(spent.sum()), "each rung fits anew"


def test_formats_of_one_frame_agree(tmp_path: Path) -> None:
    frame = pd.read_csv(HERE / "seeds.csv", sep="|")
    text = (HERE / "seeds.csv").read_bytes().replace(b"|", b"\t")
    (tmp_path / "a.tsv").write_bytes(text.decode().encode("utf-16"))
    with gzip.open(tmp_path / "a.csv.gz", "wb") as stream:
        stream.write(text)
    frame.to_parquet(tmp_path / "a.parquet")
    feather.write_feather(pa.Table.from_pandas(frame), tmp_path / "a.arrow")
    frame.to_json(tmp_path / "a.json", orient="columns")
    frame.to_json(tmp_path / "b.json", orient="records")
    wanted = user.from_csv(HERE / "seeds.csv", name="a")
    made = [user.from_csv(p, name="a") for p in sorted(tmp_path.glob("*.*"))]
    made += [user.from_frame(f, name="a") for f in (frame, pa.Table.from_pandas(frame))]
    assert len(made) == 8
    for table in made:
        assert table.provenance.sha256 == wanted.provenance.sha256


def test_frames_with_mappings_in_cells_are_exports_too() -> None:
    params = [{"depth": d, "kind": k} for d in (2, 4, None) for k in "ab"]
    frame = pd.DataFrame({"mean_fit_time": 1.0, "params": params, "mean_test_score": np.arange(6) / 10})
    for key in ("depth", "kind"):
        frame[f"param_{key}"] = np.array([p[key] for p in params], dtype=object)
    assert user.from_frame(frame).space[0].values == (2, 4, "none")
    runs = pd.DataFrame({"config": params, "summary": [{"acc": i / 9} for i in range(6)], "name": [*"uvwxyz"]})
    assert len(user.from_frame(runs, fill={"depth": 9}).space) == 2


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("wandb_chart.csv", {}, "must have hyperparameters, got the export of a Weights & Biases chart"),
        ("optuna.csv", {}, "goal of value must be max or min, got none"),
        ("mlflow.csv", {"score": "val_acc"}, "column must be one of .*, got 'val_acc', did you mean 'val_accuracy'"),
        ("words.csv", {"status": "batch"}, "line 2, column batch: must be a state such as .*, got '32'"),
        ("holes.csv", {"fill": {"lr": "fast"}}, "line 5, column lr: must be a number like 5 others .*, got 'fast'"),
        ("notes.csv", {"hyperparameters": ["comment"], "categorical": ["comment"]}, None),
    ],
)
def test_what_is_wrong_is_named(name: str, options: dict[str, Any], message: str | None) -> None:
    if message is None:
        assert user.from_csv(HERE / name, **options).space[0].name == "comment"
        return
    rejects(f"{name}: .*{message}", user.from_csv, HERE / name, **options)


@pytest.mark.parametrize("name", ["ray_results", "optuna.parquet"])
def test_command_line_takes_folders_and_parquet(name: str, tmp_path: Path, cli: Any) -> None:
    goal = ["--goal", "max"] if "optuna" in name else []
    said = cli(["table", "from-csv", str(place(name, tmp_path)), *goal])
    assert f"TableHPO-{name.split('.')[0].replace('_', '-')}-v0" in said
    assert ("TableLC-ray-results-v0" in said) == (name == "ray_results")


GUIDE = {
    "wandb_export.csv": "wandb_ui.csv", "mlflow.csv": "mlflow.csv", "optuna.csv": "optuna.csv", "ray.csv": "ray.csv",
    "~/syne-tune/my-experiment": "syne_tune", "search.csv": "sklearn_grid.csv",
    "multirun/2026-01-31/12-00-00": "hydra",
}  # fmt: skip
"""File of a command in the guide -> the export that represents it."""


def test_each_line_of_guide_works(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = (ROOT / "docs" / "guides" / "adding-a-table.md").read_text(encoding="utf-8")
    lines = re.findall(r"\| `hpo-envs (table from-csv .*)` \|$", text, re.M)
    assert {line.split()[2] for line in lines} == set(GUIDE)
    for line in lines:
        words = line.split()
        words[2] = str(place(GUIDE[words[2]], tmp_path))
        assert main([*words, "--dry-run"]) == 0, line
        assert "read as an export of" in capsys.readouterr().out


def ray_folder(folder: Path, reports: int = 1) -> Path:
    """An experiment of Ray Tune 2.60: six trials, two of which failed before their first report."""
    (folder / "sweep").mkdir()
    (folder / "sweep" / "basic-variant-state-2026-11-22_08-12-29.json").write_bytes(b"\x80\x05\x95\x10\x00}\x94.")
    (folder / "sweep" / "experiment_state-2026-11-22_08-12-29.json").write_text('{"trial_data": [], "stats": {}}')
    (folder / "sweep" / "tuner.pkl").write_bytes(b"\x80\x05")
    for i, (lr, layers) in enumerate((lr, layers) for lr in (0.001, 0.01, 0.1) for layers in (2, 4)):
        trial = folder / "sweep" / f"trainable_7_0000{i}_{i}_layers={layers},lr={lr}_2026-11-22_08-12-29"
        trial.mkdir()
        config = {"lr": lr, "layers": layers}
        (trial / "params.json").write_text(json.dumps(config, indent=2))
        (trial / "params.pkl").write_bytes(b"\x80\x05")
        lines = [
            {"loss": 3 * lr + layers / 100 + 1 / (k + 1), "accuracy": 1 - lr, "timestamp": 17 + k, "done": False,
             "checkpoint_dir_name": None, "training_iteration": k + 1, "trial_id": f"7_0000{i}", "date": "x",
             "time_this_iter_s": 0.5, "time_total_s": 0.5 * (k + 1), "pid": 17, "hostname": "vm", "node_ip": "x",
             "config": config, "time_since_restore": 0.5, "iterations_since_restore": k + 1}
            for k in range(0 if lr == 0.1 else reports)
        ]  # fmt: skip
        if i < 5:  # a trial that fails early may have no results at all
            (trial / "result.json").write_text("".join(json.dumps(line) + "\n" for line in lines))
        else:
            (trial / "error.txt").write_text("CUDA out of memory")
    return folder / "sweep"


@pytest.mark.parametrize("reports", [1, 3])
def test_folder_of_ray_tune_has_run_for_each_trial(tmp_path: Path, reports: int) -> None:
    table = user.from_csv(ray_folder(tmp_path, reports), score="loss")
    assert (sorted(h.name for h in table.space), table.values.shape[:3]) == (["layers", "lr"], (6, 1, reports))
    assert collections.Counter(STATUSES[s] for s in table.status[:, 0]) == {"ok": 4, "failed": 2}
    assert table.metrics[0].goal == "min"
    assert "accuracy: measured, not set" in table.provenance.notes
    assert any(n.startswith("checkpoint_dir_name, ") or n.startswith("timestamp") for n in table.provenance.notes)
    by_config = {tuple(table.config(i).values()): table.values[i, 0, -1, 0] for i in range(6)}
    assert by_config[(0.01, 2)] == pytest.approx(0.05 + 1 / reports)


def test_metric_that_is_same_in_all_runs_is_not_guessed_to_be_score(tmp_path: Path) -> None:
    head = "run_id,status,start_time,end_time,metrics.dataset_score,params.lr"
    rows = [f"a{i},FINISHED,2026-01-01 10:00:0{i},2026-01-01 10:01:00,5.0,0.{i}" for i in range(1, 6)]
    (tmp_path / "mlflow.csv").write_text("\n".join([head, *rows]))
    rejects("--score must name the score among the columns dataset_score", user.from_csv, tmp_path / "mlflow.csv")
    quality = [f"{row},{i}" for i, row in enumerate(rows)]
    (tmp_path / "mlflow.csv").write_text("\n".join([f"{head},metrics.f1", *quality]))
    table = user.from_csv(tmp_path / "mlflow.csv")
    assert (table.metric_names, sorted(table.cost[:, 0, 0])) == (("f1",), [55.0, 56.0, 57.0, 58.0, 59.0])


def test_parents_of_runs_of_mlflow_are_no_runs(tmp_path: Path) -> None:
    head = "run_id,status,start_time,end_time,tags.mlflow.parentRunId,metrics.acc,params.lr,params.layers"
    rows = [f"b{i},FINISHED,2026-01-01 10:00:0{i},2026-01-01 10:01:00,sweep,0.{i},0.{i},{i % 3}" for i in range(1, 7)]
    rows.insert(2, "sweep,FINISHED,2026-01-01 10:00:00,2026-01-01 12:01:00,None,0.6,None,None")
    (tmp_path / "mlflow.csv").write_text("\n".join([head, *rows]))
    table = user.from_csv(tmp_path / "mlflow.csv")
    assert ([h.name for h in table.space], len(table), table.space[0].kind) == (["lr", "layers"], 6, "float")
    assert any("parentRunId: names 1 parent of other runs: left out" in note for note in table.provenance.notes)


@pytest.mark.parametrize("seed", [{}, {"seed": 0}])
def test_instances_of_smac_are_repeats(seed: dict[str, int]) -> None:
    runs: dict[str, Any] = {"config_id": np.repeat(np.arange(6), 2), "instance": ["a", "b"] * 6, "status": "SUCCESS"}
    runs |= {"cost": np.arange(12) / 10, "config.lr": np.repeat(np.arange(6), 2) / 10}
    assert user.from_frame(pd.DataFrame(runs | seed)).values.shape == (6, 2, 1, 1)


@pytest.mark.parametrize("quote", [json.dumps, str], ids=["JSON", "Python"])
def test_column_of_mappings_becomes_columns(tmp_path: Path, quote: Any) -> None:
    params = [{"lr": 0.1 * i, "opt": {"name": "ab"[i % 2]}, "layers": i % 3} for i in range(1, 7)]
    pd.DataFrame({"params": map(quote, params), "acc": np.arange(6) / 10}).to_csv(tmp_path / "a.csv", index=False)
    table = user.from_csv(tmp_path / "a.csv")
    assert [h.name for h in table.space] == ["lr", "opt.name", "layers"]
    (tmp_path / "b.csv").write_text((tmp_path / "a.csv").read_text().replace('"{', '"[{', 2).replace('"[{', '"{', 1))
    rejects("b.csv: line 3, column params: must be a mapping, got ", user.from_csv, tmp_path / "b.csv")

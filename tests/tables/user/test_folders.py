"""Runs in folders, and documents of several tables, as tools write them."""

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hpo_envs.tables import user
from hpo_envs.tables.user.reading import documents, folders
from tests.helpers import rejects

RNG = np.random.default_rng(1)
RUNS = [(float(10 ** RNG.uniform(-5, -2)), int(RNG.choice([16, 32, 64]))) for _ in range(12)]


def loss(lr: float, bs: int, epoch: int) -> float:
    return abs(math.log10(lr) + 3) + 1 / (epoch + 1) + bs / 1000


def put(path: Path, content: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content))


def lightning(at: Path, i: int, lr: float, bs: int) -> None:
    put(at / f"version_{i}" / "hparams.yaml", f"lr: {lr}\nbs: {bs}\nmodel:\n  name: lstm\n")
    lines = [f"{e},{10 * e + 5},1.5,\n{e},{10 * e + 9},,{loss(lr, bs, e)}\n" for e in range(3)]
    put(at / f"version_{i}" / "metrics.csv", "epoch,step,train_loss,val_loss\n" + "".join(lines))


def trainer(at: Path, i: int, lr: float, bs: int) -> None:
    log: list[dict[str, Any]] = []
    for e in range(3):
        log.append({"loss": 1.5, "learning_rate": lr / (e + 1), "epoch": e, "step": 10 * e})
        log.append({"eval_loss": loss(lr, bs, e), "eval_runtime": 1.5 + i, "epoch": e, "step": 10 * e})
    for e in range(3):
        state = {"best_metric": 1.0, "log_history": log[: 2 * e + 2], "trial_params": {"lr": lr, "bs": bs}}
        put(at / f"run-{i}" / f"checkpoint-{10 * e}" / "trainer_state.json", state)
        put(at / f"run-{i}" / f"checkpoint-{10 * e}" / "tokenizer.json", {"added_tokens": [{"id": 1}, {"id": 2}]})


def keras(at: Path, i: int, lr: float, bs: int) -> None:
    metrics = {"val_loss": {"direction": "min", "observations": [{"value": [loss(lr, bs, 2)], "step": 2}]}}
    trial = {"trial_id": f"{i:02d}", "hyperparameters": {"space": [], "values": {"lr": lr, "bs": bs}}}
    trial |= {"metrics": {"metrics": metrics}, "score": loss(lr, bs, 2), "best_step": 2, "status": "COMPLETED"}
    put(at / f"trial_{i:02d}" / "trial.json", trial)
    oracle = {"hyperparameters": trial["hyperparameters"], "start_order": ["00"], "end_order": ["00"], "display": {}}
    put(at / "oracle.json", oracle | {"seed": 3, "run_times": {"00": 1}, "retry_queue": [], "tried_so_far": ["x"]})
    put(at / "tuner0.json", {})


def mlflow(at: Path, i: int, lr: float, bs: int) -> None:
    put(at / "0" / f"r{i}" / "meta.yaml", "run_id: x\n")
    put(at / "0" / f"r{i}" / "params" / "lr", str(lr))
    put(at / "0" / f"r{i}" / "params" / "bs", str(bs))
    put(at / "0" / f"r{i}" / "metrics" / "val_loss", "".join(f"1700 {loss(lr, bs, e)} {e}\n" for e in range(3)))


def wandb(at: Path, i: int, lr: float, bs: int) -> None:
    config = f"wandb_version: 1\n\nlr:\n  desc: null\n  value: {lr}\nbs:\n  desc: null\n  value: {bs}\n"
    put(at / f"run-{i}" / "files" / "config.yaml", config)
    put(at / f"run-{i}" / "files/wandb-summary.json", {"val_loss": loss(lr, bs, 2), "_runtime": 10 + i, "_step": 30})
    put(at / f"run-{i}" / "files" / "wandb-metadata.json", {"os": "x", "host": "h"})


@pytest.mark.parametrize(
    ("write", "levels"),
    [(lightning, 3), (trainer, 3), (keras, 1), (mlflow, 1), (wandb, 1)],
    ids=["lightning", "trainer", "keras", "mlflow", "wandb"],
)
def test_each_run_of_tree_is_read_once(write: Any, levels: int, tmp_path: Path) -> None:
    for i, (lr, bs) in enumerate(RUNS):
        write(tmp_path / "runs", i, lr, bs)
    table = user.from_csv(tmp_path / "runs")
    assert sorted(h.name for h in table.space) == ["bs", "lr"]
    assert all(h.log for h in table.space)
    assert (table.metrics[0].goal, table.values.shape[:3]) == ("min", (12, 1, levels))
    found = {table.config(i)["lr"]: table.values[i, 0, -1, 0] for i in range(12)}
    assert found == pytest.approx({lr: loss(lr, bs, 2) for lr, bs in RUNS})
    assert write is not keras or any(n.startswith("oracle.json: ") for n in table.provenance.notes)


def test_states_and_times_of_mlflow(tmp_path: Path) -> None:
    for i, (lr, bs) in enumerate(RUNS):
        mlflow(tmp_path, i, lr, bs)
        times = f"start_time: {1000 * i}\n" + (f"end_time: {1000 * i + 2500 + i}\n" if i else "end_time: null\n")
        state = {0: 1, 1: 4}.get(i, 3)
        put(tmp_path / "0" / f"r{i}" / "meta.yaml", f"run_id: x\n{times}status: {state}\n")
    (tmp_path / "0" / "r1" / "metrics" / "val_loss").unlink()
    put(tmp_path / "0" / "meta.yaml", "experiment_id: 0\nname: sweep\n")
    table = user.from_csv(tmp_path)
    seconds = {key: table.cost[row, 0, 0] for row, key in enumerate(table.keys)}
    assert seconds == pytest.approx({f"r{i}": 2.5 + i / 1000 for i in range(1, 12)})  # r0 is still running
    assert ([table.keys[row] for row in np.flatnonzero(table.status[:, 0])], table.cost_unit) == (["r1"], "seconds")
    put(tmp_path / "0" / "r3" / "meta.yaml", "run_id: x\nstatus: [1]\n")
    rejects(r"0/r3, column status: must be a state .*, got '\[1\]'", user.from_csv, tmp_path)


def test_other_experiment_of_folder_is_asked(tmp_path: Path) -> None:
    for i, (lr, bs) in enumerate(RUNS):
        lightning(tmp_path, i, lr, bs)
    for i in range(20, 25):
        put(tmp_path / f"version_{i}" / "hparams.yaml", f"depth: {i}\nsmoothing: 0.{i}\n")
        put(tmp_path / f"version_{i}" / "metrics.csv", f"epoch,step,train_nll,val_acc\n0,5,1.5,\n0,9,,0.{i}\n")
    found = user.decide(user.read(tmp_path))
    assert ([h.name for h in found.space], len(user.build(found))) == (["lr", "bs"], 12)
    (other,) = (d for d in found.uncertain if "another experiment" in d.text)
    assert [name.partition("/")[0] for name in other.columns] == [f"version_{i}" for i in range(20, 25)]


def history(form: str) -> dict[str, Any]:
    """A run history of SMAC3 1, 2.0 or 2.3, whose first run crashed."""
    data: list[Any] = []
    for i, (lr, bs) in enumerate(RUNS):
        cost = loss(lr, bs, 2) if i else 2147483647.0
        if form == "1":
            state = {"__enum__": f"StatusType.{'SUCCESS' if i else 'CRASHED'}"}
            data.append([[i + 1, None, 0, 0.0], [cost, 1.2, state, 17.0, 18.0, {}]])
        elif form == "2.0":
            data.append([i + 1, None, 0, None, cost, 1.2, 1 if i else 2, 17.0, 18.0, {}])
        else:
            names = ("config_id", "instance", "seed", "budget", "cost", "time", "cpu_time", "status")
            data.append(dict(zip(names, (i + 1, None, 0, None, cost, 1.2, 1.1, 1 if i else 2), strict=True)))
    configs = {str(i + 1): {"lr": lr, "bs": bs} for i, (lr, bs) in enumerate(RUNS)}
    return {"stats": {}, "data": data, "config_origins": dict.fromkeys(configs, "Random"), "configs": configs}


@pytest.mark.parametrize("form", ["1", "2.0", "2.3"])
def test_history_of_smac_is_joined_by_configuration(form: str, tmp_path: Path) -> None:
    put(tmp_path / "smac" / "runhistory.json", history(form))
    put(tmp_path / "smac" / "scenario.json", {"name": "x", "n_trials": 12})
    put(tmp_path / "smac" / "configspace.json", {"hyperparameters": [{"name": "lr"}, {"name": "bs"}]})
    table = user.from_csv(tmp_path / "smac")
    assert sorted(h.name for h in table.space) == ["bs", "lr"]
    assert (table.metrics[0].name, table.metrics[0].goal, table.cost_unit) == ("cost", "min", "seconds")
    assert np.bincount(table.status.ravel()).tolist() == [11, 1]
    assert np.nanmin(table.values) == pytest.approx(min(loss(lr, bs, 2) for lr, bs in RUNS[1:]))
    said = "\n".join(table.provenance.notes)
    assert "configs: joined to data by config_id" in said
    assert "scenario.json" in said


def test_tables_of_document_are_joined_and_others_named(tmp_path: Path) -> None:
    experiments = [{"id": i, "lr": lr, "bs": bs} for i, (lr, bs) in enumerate(RUNS)]
    results = [{"experiment_id": i, "val_loss": loss(lr, bs, 2)} for i, (lr, bs) in enumerate(RUNS)]
    put(tmp_path / "a.json", {"experiments": experiments, "results": results, "authors": [{"name": a} for a in "ab"]})
    table = user.from_csv(tmp_path / "a.json")
    assert ([h.name for h in table.space], len(table)) == (["experiment.lr", "experiment.bs"], 12)
    assert any(n.startswith("authors: ") and "ignored" in n for n in table.provenance.notes)


ONE_STEP = [lambda lr, e=e: f"{e},{e},,{lr + 1 / (e + 1)}\n{e},{e},{e},\n" for e in range(3)]
BETWEEN = [lambda lr, s=s: f"{s // 4},{s},{lr + 1 / (s + 2)},\n" for s in range(12)]
BETWEEN += [lambda lr, e=e: f"{e},{4 * e + 3},,{lr + 1 / (e + 1)}\n" for e in range(3)]


@pytest.mark.parametrize("lines", [ONE_STEP, BETWEEN], ids=["two lines of one step", "steps between scores"])
def test_lines_without_score_are_no_checkpoints(lines: list[Any], tmp_path: Path) -> None:
    for i, lr in enumerate((0.1, 0.2, 0.3)):
        put(tmp_path / f"version_{i}" / "hparams.yaml", f"lr: {lr}\n")
        head = "epoch,step,train_loss,val_loss\n"
        put(tmp_path / f"version_{i}" / "metrics.csv", head + "".join(line(lr) for line in lines))
    table = user.from_csv(tmp_path, "val_loss")
    assert (table.values.shape, np.isnan(table.values).any()) == ((3, 1, 3, 1), False)
    assert [h.name for h in table.space] == ["lr"]


def test_snapshot_of_ax_has_its_metrics(tmp_path: Path) -> None:
    def data(i: int) -> dict[str, Any]:
        frame = {
            "arm_name": {"0": f"{i}_0"},
            "metric_name": {"0": "loss"},
            "mean": {"0": i**2},
            "trial_index": {"0": i},
        }
        value = [[17, {"df": {"__type": "DataFrame", "value": json.dumps(frame)}, "__type": "Data"}]]
        return {"__type": "OrderedDict", "value": value}

    def trial(i: int) -> dict[str, Any]:
        return {"status": {"name": "COMPLETED"}, "generator_run": {"arms": [{"parameters": {"lr": i / 10}}]}}

    trials = {str(i): trial(i) for i in range(1, 5)}
    experiment = {"trials": trials, "data_by_trial": {key: data(int(key)) for key in trials}}
    put(tmp_path / "ax.json", json.dumps({"_type": "AxClient", "experiment": experiment}))
    table = user.from_csv(tmp_path / "ax.json")
    assert sorted((table.config(i)["lr"], table.values[i, 0, 0, 0]) for i in range(4)) == [
        (0.1, 1), (0.2, 4), (0.3, 9), (0.4, 16),
    ]  # fmt: skip


def test_curves_and_configurations_of_sacred(tmp_path: Path) -> None:
    for i, (lr, bs) in enumerate(RUNS, 1):
        config = {"lr": lr, "bs": bs, "opt": {"name": ("adam", "sgd")[i % 2]}, "seed": i}
        curve = {"steps": [1, 2, 3], "timestamps": ["2026-01-01"] * 3, "values": [loss(lr, bs, e) for e in range(3)]}
        put(tmp_path / str(i) / "config.json", config)
        put(tmp_path / str(i) / "metrics.json", {"dev.loss": curve})
        run = {"status": "COMPLETED", "meta": {"config_updates": config}, "result": loss(lr, bs, 2)}
        put(tmp_path / str(i) / "run.json", run)
    assert ("result",) in [d.columns for d in user.decide(user.read(tmp_path)).uncertain]
    table = user.from_csv(tmp_path, drop=["result"])
    assert (sorted(h.name for h in table.space), table.values.shape) == (["bs", "lr", "opt.name"], (12, 1, 3, 1))
    expected = sorted(loss(lr, bs, e) for lr, bs in RUNS for e in range(3))
    assert sorted(table.values.ravel()) == pytest.approx(expected)


def test_mlflow_runs_without_parameters_have_no_hyperparameters(tmp_path: Path) -> None:
    for run, value in (("a1", 0.5), ("a2", 0.7)):  # Git keeps no empty folder `params`
        (tmp_path / "1" / run / "metrics").mkdir(parents=True)
        (tmp_path / "1" / run / "meta.yaml").write_text(f"run_id: {run}\nstatus: 3\n")
        (tmp_path / "1" / run / "metrics" / "acc").write_text(f"1731484365931 {value} 0\n")
    with pytest.raises(ValueError, match="must have hyperparameters, got an export of MLflow without"):
        user.read(tmp_path)


@pytest.mark.hostile
def test_spaces_and_blank_lines_are_read_once(tmp_path: Path) -> None:
    many = 300_000  # each was compared with every other
    inner = f"x{' ' * many}y"
    assert folders.of_yaml(f"lr: .1  \r\na:{' ' * many}x\nb: {inner}\n") == {"lr": ".1", "a": "x", "b": inner}
    for i in range(3):
        text = f"- '+wd=0.{i}'\n" + "\n" * many + f"-{' ' * many}x\n"
        put(tmp_path / str(i) / ".hydra" / "overrides.yaml", text)
        put(tmp_path / str(i) / "result.json", {"acc": 0.1 * i})
    table = user.from_csv(tmp_path, score="acc", goal="max")
    assert {h.name: [h.low, h.high] for h in table.space} == {"wd": [0.0, 0.2]}


@pytest.mark.hostile
def test_tables_beyond_fifty_are_not_compared() -> None:
    tables = {f"t{i}": [{"id": i, "lr": 0.1, "acc": 0.2}] for i in range(5_000)}
    found = documents.of_json("a.json", json.dumps(tables).encode())
    assert len(found.lines) == 1
    assert [d.text for d in found.decisions] == ["no key joins it"]


def test_deleted_runs_of_mlflow_are_left_out_and_the_last_step_counts(tmp_path: Path) -> None:
    for i in range(6):
        run = tmp_path / "1" / f"r{i}"
        stage = "deleted" if i == 5 else "active"
        put(run / "meta.yaml", f"run_id: r{i}\nstatus: 3\nlifecycle_stage: {stage}\n")
        put(run / "params" / "lr", f"0.{i + 1}")
        put(run / "metrics" / "acc", f"17 0.5 1\n19 0.{i}7 2\n18 0.1 0\n")
    table = user.from_csv(tmp_path, "acc", "max")
    assert sorted(table.final("acc")) == [0.07, 0.17, 0.27, 0.37, 0.47]

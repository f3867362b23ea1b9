"""Runs for other people's analysers: as Optuna studies, in the formats of carps, of the IOHprofiler and of COCO."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np

from hpo_envs.benchmarks.runs import Runs
from hpo_envs.tables.checks import extra_module
from hpo_envs.tables.table import STATUSES, Table

COCO_DIMENSIONS = (2, 3, 5, 10, 20, 40)
"""Dimensions of COCO's suite `bbob`."""

COCO_FUNCTIONS = 24
"""Functions of COCO's suite `bbob`."""


def to_studies(runs: Runs) -> list[Any]:
    """An in-memory Optuna study for each run, named ENV-AGENT-SEED; its trials are the evaluations in their order.

    Parameters are those of the frame (`runs.to_frame()`), with the table's ranges and logarithms; rewards are
    maximised. Failed and diverged runs are failed trials. User attributes have the cost, of a study the header.

    Args:
        runs: What `benchmarks.run` returned, on rows, grids or boxes.

    Raises:
        ModuleNotFoundError: Optuna is not installed.
    """
    optuna = extra_module("optuna", "optuna", "studies")
    return [_study(optuna, runs[i : i + 1]) for i in range(len(runs))]


def _study(optuna: Any, one: Runs) -> Any:
    run, frame = one[0], one.to_frame()
    h, names = run.header, [c for c in frame.attrs["configuration"] if frame[c].notna().all()]
    study = optuna.create_study(
        study_name=f"{h['env']}-{h['agent']}-{run.seed}", directions=["maximize"] * len(h["objectives"])
    )
    study.set_metric_names(list(h["objectives"]))
    study.set_user_attr("header", json.loads(json.dumps(h)))
    table = one._table(h) if "row" in run.evaluated else None
    axes = {name: _distribution(optuna, name, frame[name].tolist(), table) for name in names}
    for i, rewards in enumerate(run.rewards.reshape(len(run), -1)):
        values = {"state": optuna.trial.TrialState.FAIL} if _lost(run, i) else {"values": rewards.tolist()}
        params = {name: _plain(frame[name].iloc[i]) for name in names}
        trial = optuna.trial.create_trial(
            params=params, distributions=axes, user_attrs={"cost": float(run.costs[i])}, **values
        )
        study.add_trial(trial)
    return study


def _lost(run: Any, step: int) -> bool:
    """Return whether an evaluation failed or diverged."""
    status = run.evaluated.get("status")
    return status is not None and STATUSES[int(status[step])] in ("failed", "diverged")


def _distribution(optuna: Any, name: str, values: list[Any], table: Table | None) -> Any:
    d, known = optuna.distributions, {h.name: h for h in (table.space if table else ())}.get(name)
    plain = [_plain(v) for v in values]
    if known is not None and known.kind == "categorical":
        return d.CategoricalDistribution([_plain(v) for v in known.values])
    if any(isinstance(v, (str, bool)) for v in plain):
        return d.CategoricalDistribution([*dict.fromkeys(plain)])
    low, high = (known.low, known.high) if known is not None else (min(plain), max(plain))
    log = known is not None and known.log and low > 0
    if all(isinstance(v, int) for v in plain):
        return d.IntDistribution(int(low), int(high), log=log)
    return d.FloatDistribution(float(low), float(high), log=log)


def to_carps(runs: Runs, folder: str | Path) -> list[Path]:
    """Write each run as carps logs it: `ENV/AGENT/SEED/trial_logs.jsonl` with `.hydra/config.yaml` next to it.

    `carps.analysis` reads the folder: a trial is an evaluation, costs are negative rewards, a multi-fidelity budget is
    the level, and virtual time is the cost. Failed and diverged runs are crashed trials.

    Args:
        runs: What `benchmarks.run` returned, with one objective.
        folder: Where to write; what it holds of these runs is replaced.

    Returns:
        The folder of each run.

    Raises:
        ValueError: Several objectives.
    """
    out = []
    for i, run in enumerate(runs):
        h, frame = run.header, runs[i : i + 1].to_frame()
        if len(h["objectives"]) != 1:
            raise ValueError(f"runs must have one objective for carps, got {', '.join(h['objectives'])}")
        place = Path(folder) / h["env"] / h["agent"] / str(run.seed)
        (place / ".hydra").mkdir(parents=True, exist_ok=True)
        names = frame.attrs["configuration"] or [c for c in ("key", "action") if c in frame]
        levels = frame["level"].tolist() if "level" in frame else [None] * len(frame)
        rows = [[_plain(v) for v in row] for row in frame[names].itertuples(index=False)]
        lines = [
            {
                "n_trials": k + 1, "n_function_calls": k + 1,
                "trial_info": {"config": rows[k], "instance": None, "seed": int(run.seed), "budget": levels[k],
                               "normalized_budget": None, "name": None, "checkpoint": None},
                "trial_value": {"cost": -float(run.rewards[k]), "time": 0.0, "virtual_time": float(run.costs[k]),
                                "status": 2 if _lost(run, k) else 1,  # crashed, success
                                "starttime": 0.0, "endtime": 0.0, "additional_info": {}},
            }
            for k in range(len(run))
        ]  # fmt: skip
        text = "".join(json.dumps(line) + "\n" for line in lines)
        (place / "trial_logs.jsonl").write_text(text, encoding="utf-8")
        (place / ".hydra" / "config.yaml").write_text(json.dumps(_config(run, len(lines)), indent=1), encoding="utf-8")
        out.append(place)
    return out


def _config(run: Any, trials: int) -> dict[str, Any]:
    """Settings of a run for carps' analysis; JSON is YAML."""
    h = run.header
    resources = {"n_trials": trials, "time_budget": None, "n_workers": 1}
    task = {"name": h["env"], "optimization_resources": resources, "seed": int(run.seed)}
    return {
        "benchmark_id": "hpo_envs", "task_id": h["env"], "task_type": "blackbox", "subset_id": "all",
        "task": task, "seed": int(run.seed), "optimizer_id": h["agent"],
    }  # fmt: skip


def to_ioh(runs: Runs, folder: str | Path) -> list[Path]:
    """Write runs as the experimenter of the IOHprofiler does; `iohinspector` reads them.

    A function is an id, numbered in alphabetical order, an algorithm an agent, an instance a seed; its dimension is the
    number of hyperparameters. What is maximised is the reward.

    Args:
        runs: What `benchmarks.run` returned, with one objective.
        folder: Where to write; what it holds of these runs is replaced.

    Returns:
        The JSON file of each agent on each id.

    Raises:
        ValueError: Several objectives.
    """
    ids, out = sorted({r.header["env"] for r in runs}), []
    for (env, agent), group in runs._groups().items():
        if len(group[0].header["objectives"]) != 1:
            raise ValueError(f"runs must have one objective for IOH, got {', '.join(group[0].header['objectives'])}")
        number, place = ids.index(env) + 1, Path(folder) / agent
        frame = Runs(group[:1], runs.tables).to_frame()
        dimension = max(len(frame.attrs["configuration"]), 1)
        data = f"data_f{number}_{env}/IOHprofiler_f{number}_DIM{dimension}.dat"
        (place / data).parent.mkdir(parents=True, exist_ok=True)
        text = "".join(
            "evaluations raw_y\n" + "".join(f"{k} {y:.10f}\n" for k, y in enumerate(r.rewards.tolist(), 1))
            for r in group
        )
        (place / data).write_text(text, encoding="utf-8")
        done = [
            {
                "instance": int(r.seed),
                "evals": len(r),
                "best": {"evals": int(np.argmax(r.rewards)) + 1, "y": float(r.rewards.max()), "x": []},
            }
            for r in group
        ]
        meta = {
            "version": "0.3.20", "suite": "hpo_envs", "function_id": number, "function_name": env, "maximization": True,
            "algorithm": {"name": agent, "info": f"hpo_envs {group[0].header['versions']['hpo_envs']}"},
            "attributes": ["evaluations", "raw_y"],
            "scenarios": [{"dimension": dimension, "path": data, "runs": done}],
        }  # fmt: skip
        file = place / f"IOHprofiler_f{number}_{env}.json"
        file.write_text(json.dumps(meta, indent=1), encoding="utf-8")
        out.append(file)
    return out


def to_coco(runs: Runs, folder: str | Path) -> list[Path]:
    """Write runs as COCO's experiments do; `cocopp FOLDER/AGENT FOLDER/AGENT ...` post-processes them.

    COCO knows no suites but its own, so these call themselves `bbob`. A function is an id, numbered in alphabetical
    order (the comment of its .info file has the name), an instance a seed, and the dimension the suite's smallest that
    the hyperparameters fit into. What is minimised is the regret, in units of the metric: COCO's targets, 1e2 to 1e-8,
    are absolute. No variables are written.

    Args:
        runs: What `benchmarks.run` returned, with one objective whose optimum is known, on at most 24 ids.
        folder: Where to write; what it holds of these runs is replaced.

    Returns:
        The .info file of each agent on each id.

    Raises:
        ValueError: More ids, several objectives, or a regret that is not known.
    """
    ids, out = sorted({r.header["env"] for r in runs}), []
    if len(ids) > COCO_FUNCTIONS:
        raise ValueError(f"runs must be on at most {COCO_FUNCTIONS} ids for COCO, got {len(ids)}")
    for (env, agent), group in runs._groups().items():
        done = Runs(group, runs.tables)
        frame = done.to_frame()
        if len(group[0].header["objectives"]) != 1 or frame["regret"].isna().any():
            raise ValueError(f"runs must have one objective and a known optimum for COCO, got {env}")
        size = len(frame.attrs["configuration"])
        dimension = next((d for d in COCO_DIMENSIONS if d >= size), COCO_DIMENSIONS[-1])
        number, place = ids.index(env) + 1, Path(folder) / agent
        data = f"data_f{number}/bbobexp_f{number}_DIM{dimension}.dat"
        (place / data).parent.mkdir(parents=True, exist_ok=True)
        text, instances = "", ""
        for one in group:
            rewards, regrets = one.rewards, frame.loc[frame["seed"] == one.seed, "regret"]
            text += "% f evaluations | g evaluations | best noise-free fitness - Fopt | measured | best measured\n"
            text += "".join(
                f"{k} 0 {left:+.9e} {-y:+.9e} {-best:+.9e}\n"
                for k, left, y, best in zip(
                    range(1, len(one) + 1), regrets, rewards, np.maximum.accumulate(rewards), strict=True
                )
            )
            instances += f", {one.seed + 1}:{len(one)}|{regrets.iloc[-1]:.1e}"
        for file in (place / data, (place / data).with_suffix(".tdat")):
            file.write_text(text, encoding="utf-8")
        info = place / f"bbobexp_f{number}.info"
        info.write_text(
            f"suite = 'bbob', funcId = {number}, DIM = {dimension}, Precision = 1.000e-08, algId = '{agent}', "
            f"coco_version = '2.8.2', logger = 'bbob', data_format = 'bbob-new2'\n% {env}\n{data}{instances}",
            encoding="utf-8",
        )
        out.append(info)
    return out


def _plain(value: Any) -> Any:
    """A value in Python's own types."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, np.ndarray):
        return value.tolist()
    return None if isinstance(value, float) and math.isnan(value) else value

"""Runs as studies of Optuna. Needs the extra `optuna`."""

import json
import math
from typing import Any

import numpy as np

from hpo_envs.benchmarks.runs import Runs
from hpo_envs.tables.checks import extra_module
from hpo_envs.tables.table import LOST, Table


def to_studies(runs: Runs) -> list[Any]:
    """Return an in-memory Optuna study for each run, named ENV-AGENT-SEED; its trials are the evaluations in order.

    Parameters are the hyperparameters in `runs.to_frame()` that all evaluations of the run have, with the ranges and
    logarithms of its table, if it has one; rewards are maximised. Failed and diverged evaluations are failed trials.
    User attributes are the cost of each trial and the header of the study.

    Args:
        runs: Result of `benchmarks.run` on rows, grids or boxes.

    Raises:
        ModuleNotFoundError: Optuna is not installed.
    """
    optuna = extra_module("optuna", "optuna", "studies")
    return [_study(optuna, runs[i : i + 1]) for i in range(len(runs))]


def _study(optuna: Any, one: Runs) -> Any:
    run, frame = one[0], one.to_frame()
    always = set.intersection(*map(set, run.configs)) if run.configs else {*()}  # also with the choice None
    h, columns = run.header, frame.attrs["configuration"]
    names = [c for c in columns if c.removeprefix("config.") in always or frame[c].notna().all()]
    study = optuna.create_study(
        study_name=f"{h['env']}-{h['agent']}-{run.seed}", directions=["maximize"] * len(h["objectives"])
    )
    study.set_metric_names(list(h["objectives"]))
    study.set_user_attr("header", json.loads(json.dumps(h)))
    table = one._table(h) if "row" in run.evaluated else None
    axes = {name: _distribution(optuna, name, frame[name].tolist(), table) for name in names}
    lost = np.isin(run.evaluated.get("status", np.zeros(len(run))), LOST)
    for i, rewards in enumerate(run.rewards.reshape(len(run), -1)):
        values = {"state": optuna.trial.TrialState.FAIL} if lost[i] else {"values": rewards.tolist()}
        params = {name: _plain(frame[name].iloc[i]) for name in names}
        trial = optuna.trial.create_trial(
            params=params, distributions=axes, user_attrs={"cost": float(run.costs[i])}, **values
        )
        study.add_trial(trial)
    return study


def _distribution(optuna: Any, name: str, values: list[Any], table: Table | None) -> Any:
    d, known = optuna.distributions, {h.name: h for h in (table.space if table else ())}.get(name)
    plain = [_plain(v) for v in values]
    if known is not None and known.kind == "categorical":
        return d.CategoricalDistribution([_plain(v) for v in known.values])
    if any(v is None or isinstance(v, (str, bool)) for v in plain):
        return d.CategoricalDistribution([*dict.fromkeys(plain)])
    low, high = known.bounds if known is not None else (min(plain), max(plain))
    log = known is not None and known.log and not known.complement and low > 0
    if all(isinstance(v, int) for v in plain):
        return d.IntDistribution(int(low), int(high), log=log)
    return d.FloatDistribution(float(low), float(high), log=log)


def _plain(value: Any) -> Any:
    """Convert a value to a Python type; NaN becomes None."""
    value = value.tolist() if isinstance(value, (np.generic, np.ndarray)) else value
    return None if isinstance(value, float) and math.isnan(value) else value

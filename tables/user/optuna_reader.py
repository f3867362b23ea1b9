"""An Optuna study as a Table. Takes the study object, so that nothing here depends on Optuna."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from hpo_envs.tables.table import Hyperparameter, Provenance, Table
from hpo_envs.tables.user import assemble, infer
from hpo_envs.tables.user.infer import Column
from hpo_envs.tables.user.reading.outcomes import DIVERGED, FAILED, OK, TRUNCATED
from hpo_envs.tables.user.runs import Runs


def from_study(
    study: Any,
    name: str | None = None,
    *,
    bounds: Mapping[str, tuple[float, float]] | None = None,
    explain: Callable[[str], None] = lambda text: None,
) -> Table:
    """Makes a table of an `optuna.Study`.

    Hyperparameters are as the study defines them (range, logarithm, choices); one that some trials lack is
    conditional on the choice that explains when. Complete trials are runs; a pruned one has its last report and the
    status `truncated`, a failed one the status `failed`; running and waiting ones are left out. Costs are the
    trials' seconds. Metrics are named as in `study.metric_names`, else `value` or `value_0`, `value_1`, ...

    Args:
        study: The study.
        name: Of the table; default: the study's name.
        bounds: Metric -> (lowest, highest) value by its definition; default: guessed from its values.
        explain: Called with each decision, in words.

    Raises:
        ValueError: No finished trial, or parameters missing for no visible reason.
    """
    trials = [t for t in study.get_trials(deepcopy=False) if t.state.is_finished()]
    if not any(t.state.name == "COMPLETE" for t in trials):
        raise ValueError(f"study must have a complete trial, got {len(trials)} finished ones")
    goals = ["min" if d.name == "MINIMIZE" else "max" for d in study.directions]
    several = len(goals) > 1
    names = list(study.metric_names or ([f"value_{i}" for i in range(len(goals))] if several else ["value"]))
    values, status = zip(*(_outcome(t, len(goals)) for t in trials), strict=True)
    parameters = list(dict.fromkeys(p for t in trials for p in t.params))
    scores = np.array([[np.nan if v is None else v for v in each] for each in values])
    columns: dict[str, Column] = {}
    distributions: dict[str, Any] = {}
    for t in trials:
        distributions |= t.distributions
    fixed = {}
    for p in parameters:
        columns[p], fixed[p] = _axis(p, distributions[p], [t.params.get(p) for t in trials])
    metrics, notes = [], []
    for j, (metric, goal) in enumerate(zip(names, goals, strict=True)):
        known = scores[~np.isnan(scores[:, j]), j]
        made, text = infer.metric(metric, known, goal, (bounds or {}).get(metric))  # type: ignore[arg-type]
        explain(f"{metric}: {text}")
        notes.append(f"{metric}: {text}")
        metrics.append(made)
    seconds = [t.duration.total_seconds() if t.duration is not None else 0.0 for t in trials]
    runs = Runs(
        where=lambda i: f"trial {trials[i].number}",
        columns=columns,
        scores=scores,
        metrics=tuple(metrics),
        cost=np.maximum(seconds, 0.0),
        cost_unit="seconds",
        level=None,
        level_unit="full training",
        repeat=None,
        status=np.array(status, np.uint8),
        keys=[f"trial-{t.number}" for t in trials],
        fixed=fixed,
        log={},
    )
    digest = hashlib.sha256(repr([(t.number, sorted(t.params.items()), t.values) for t in trials]).encode()).hexdigest()
    provenance = Provenance(
        "measured", f"Optuna study {study.study_name}", digest[:40], "not stated",
        f"Optuna study {study.study_name}, the user's own measurements",
        notes=tuple(notes),
    )  # fmt: skip
    label = name or "".join(c if c.isascii() and c.isalnum() else "-" for c in study.study_name).strip("-")
    short = "-".join(filter(None, label.split("-")))
    return assemble.table_of(runs, short, provenance, lambda column, text: explain(f"{column}: {text}".lstrip(": ")))


def _outcome(trial: Any, objectives: int) -> tuple[list[float | None], int]:
    state = trial.state.name
    if state == "COMPLETE":
        return [float(v) if math.isfinite(v) else None for v in trial.values], (
            OK if all(map(math.isfinite, trial.values)) else DIVERGED
        )
    if state == "PRUNED" and objectives == 1 and trial.intermediate_values:
        last = float(trial.intermediate_values[max(trial.intermediate_values)])
        if math.isfinite(last):
            return [last], TRUNCATED
    return [None] * objectives, FAILED


def _axis(name: str, distribution: Any, values: list[Any]) -> tuple[Column, Hyperparameter]:
    """Values and definition of a parameter; choices that are neither text, number nor truth are shown as text."""
    kind = type(distribution).__name__
    if kind == "CategoricalDistribution":
        choices = tuple(_plain(c) for c in distribution.choices)
        h = Hyperparameter(name, "categorical", 0.0, float(len(choices) - 1), values=choices)
        index = [None if v is None and None not in distribution.choices else choices.index(_plain(v)) for v in values]
        return Column(np.array([np.nan if i is None else i for i in index], np.float64), choices), h
    step = getattr(distribution, "step", None)
    low, high = float(distribution.low), float(distribution.high)
    listed: tuple[Any, ...] = ()
    if step is not None and not distribution.log and (high - low) / step < infer.FEW:
        count = int((high - low) / step + 1e-9) + 1
        listed = tuple(distribution.low + i * step for i in range(count))
    # Trials of an earlier, wider range stay in the table.
    numbers = np.array([np.nan if v is None else v for v in values], np.float64)
    low, high = float(np.nanmin([low, *numbers])), float(np.nanmax([high, *numbers]))
    whole = kind == "IntDistribution"
    h = Hyperparameter(name, "int" if whole else "float", low, high, bool(distribution.log), listed)
    return Column(numbers, whole=whole), h


def _plain(choice: Any) -> Any:
    return choice if isinstance(choice, (bool, int, float, str)) else str(choice)

"""An Optuna study as a Table. Takes the study object, so that nothing here depends on Optuna."""

import dataclasses
import hashlib
import re
from collections.abc import Callable, Mapping
from typing import Any

import pandas as pd

from hpo_envs.tables.table import Hyperparameter, Table
from hpo_envs.tables.user import reader, trackers
from hpo_envs.tables.user.sheet import of_frame
from hpo_envs.tables.user.space import space_of


def from_study(
    study: Any,
    name: str | None = None,
    *,
    bounds: Mapping[str, tuple[float, float]] | None = None,
    explain: Callable[[str], None] = lambda text: None,
) -> Table:
    """Build a table from an `optuna.Study`.

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
    metrics = [f"value_{i}" for i in range(len(goals))] if len(goals) > 1 else ["value"]
    metrics = list(study.metric_names or metrics)
    space: dict[str, Any] = {}
    rows: list[dict[str, Any]] = []
    for t in trials:
        space |= t.distributions
        values = t.values or [None] * len(goals)  # those of a pruned one are its last report
        rows.append({f"values_{m}": v for m, v in zip(metrics, values, strict=True)})
        rows[-1] |= {f"params_{k}": v if _is_plain(v) else str(v) for k, v in t.params.items()}
        seconds = t.duration.total_seconds() if t.duration is not None else 0.0
        rows[-1] |= {"number": f"trial-{t.number}", "state": t.state.name, "duration": max(seconds, 0.0)}
    digest = hashlib.sha256(repr([(t.number, sorted(t.params.items()), t.values) for t in trials]).encode()).hexdigest()
    frame = pd.DataFrame(rows, dtype=object)
    sheet = of_frame(frame, f"Optuna study {study.study_name}", digest, "trial", [t.number for t in trials])
    short = "-".join(re.findall(r"[A-Za-z0-9]+", name or study.study_name))
    axes = tuple(_axis(n, d, [t.params[n] for t in trials if n in t.params]) for n, d in space.items())
    return reader.table_of(
        trackers.read(sheet),
        name=short,
        explain=explain,
        score=[f"values_{m}" for m in metrics],
        goal=goals,
        status="state",
        bounds={f"values_{k}": v for k, v in (bounds or {}).items()},
        space=axes,
    )


def _is_plain(choice: Any) -> bool:
    return isinstance(choice, (bool, int, float, str))


def _axis(name: str, distribution: Any, values: list[Any]) -> Hyperparameter:
    """The definition of a parameter; choices that are neither text, number nor truth are shown as text."""
    if hasattr(distribution, "choices"):
        distribution = {"choices": [c if _is_plain(c) else str(c) for c in distribution.choices]}
    (h,) = space_of({f"params_{name}": distribution})
    if h.kind == "categorical":
        return h
    # Trials of an earlier, wider range stay in the table.
    low, high = float(min(h.low, *values)), float(max(h.high, *values))
    listed = h.values if all(v in h.values for v in values) and len(h.values) <= 12 else ()
    return dataclasses.replace(h, low=low, high=high, values=listed)

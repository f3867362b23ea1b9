"""Prior observations of a search space, as an agent's `Source`."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from hpo_envs.agents import Source
from hpo_envs.core.engines.function.params import FunctionParams
from hpo_envs.tables.table import Table, feature_matrix
from hpo_envs.tuning.tuned import Tuned, load

Known = tuple[Mapping[str, Any], Mapping[str, Any], float]
"""An observation: configuration, metrics in native units, cost."""


def source(given: Any, params: FunctionParams) -> Source:
    """The observations of another search in the same space, as a source.

    Args:
        given: A `Source`; a `Tuned` or its folder; a `Table`; a pandas DataFrame with a column for each hyperparameter
            and objective; or a study of Optuna, whose values are the objectives.
        params: The search that learns from it; configurations outside of its space are left out.

    Raises:
        ValueError: Something else, or nothing in it that has the space's hyperparameters and the objectives.
    """
    if isinstance(given, Source):
        return given
    name, known = _read(given, params.objectives)
    points, rows, rewards, costs, problem = params.points, [], [], [], ""
    names = {h.name for h in points.space}
    for config, metrics, cost in known:
        try:
            row = points.row({k: v for k, v in config.items() if k in names})
            reward = [m.sign * float(metrics[m.name]) for m in params.rewarded]
        except (ValueError, KeyError, TypeError) as error:
            problem = problem or (f"no {error}" if isinstance(error, KeyError) else str(error))
            continue
        if np.isfinite(reward).all():
            rows.append(row)
            rewards.append(reward)
            costs.append(cost)
    if not rows:
        raise ValueError(f"source {name} must have evaluations in this search space, got none: {problem or 'empty'}")
    raw = np.array(rows)
    features = 2.0 * points.unit(raw) - 1.0 if params.kind == "box" else feature_matrix(points.space, raw)[1]
    return Source(name, features, np.array(rewards), np.array(costs))


def _read(given: Any, objectives: tuple[str, ...]) -> tuple[str, Iterator[Known]]:
    if isinstance(given, (str, Path)):
        given = load(given)
    if isinstance(given, Tuned):
        called = str(given.folder or given.header["function"])
        return called, ((e.config, e.metrics, e.spent) for e in given if e.rewards is not None)
    if isinstance(given, Table):
        return given.name, _of_table(given, objectives)
    if hasattr(given, "to_dict") and hasattr(given, "columns"):
        return "DataFrame", ((r, r, float(r.get("cost", 1.0))) for r in given.to_dict("records"))
    if hasattr(given, "get_trials"):
        trials = [t for t in given.get_trials(deepcopy=False) if t.state.name == "COMPLETE"]
        return f"study {given.study_name}", (
            (t.params, dict(zip(objectives, t.values, strict=False)), 1.0) for t in trials
        )
    raise ValueError(
        f"source must be a Table, a DataFrame, a study of Optuna, a search or its folder, got {str(given)[:80]!r}"
    )


def _of_table(table: Table, objectives: tuple[str, ...]) -> Iterator[Known]:
    scores = {name: table.final(name) for name in objectives}
    for row in range(len(table)):
        costs = table.cost[row, 0]
        cost = float(costs[np.isfinite(costs)][-1]) if np.isfinite(costs).any() else 0.0
        yield table.config(row), {name: values[row] for name, values in scores.items()}, cost

"""Source tasks of a search, from earlier searches, tables, frames and Optuna studies; their best configurations."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from hpo_envs.agents import Source
from hpo_envs.core.engines.function.params import FunctionParams
from hpo_envs.tables.table import Table, feature_matrix, is_number
from hpo_envs.tables.user.space import Points, raw_of
from hpo_envs.tuning.constraints import breaks, violations
from hpo_envs.tuning.record import Evaluation, encoded
from hpo_envs.tuning.tuned import Tuned, load

Known = tuple[Mapping[str, Any], Mapping[str, Any], Any]
"""An observation: configuration, metrics in native units, cost (a number, unless a user's data are wrong)."""


def source(given: Any, params: FunctionParams) -> Source:
    """Return the observations of another search as a source task.

    Args:
        given: A `Source`, returned as it is; a `Tuned` or its folder; a `Table`; a pandas DataFrame with a column for
            each hyperparameter and objective; or a study of Optuna, whose values are the objectives.
        params: The search that learns from it; configurations outside of its space, and those without a finite score
            or with an invalid cost, are left out.

    Raises:
        ValueError: `given` has another type or goal, or holds no evaluation in this space with all objectives.
        FileNotFoundError: The folder holds no search.
    """
    if isinstance(given, Source):
        return given
    name, known = _read(given, params)
    points, found, problem = params.points, [], ""
    names = {h.name for h in points.space}
    for config, metrics, cost in known:
        try:
            row = points.row({k: v for k, v in config.items() if k in names})
            *scores, price = [*(float(metrics[m.name]) for m in params.rewarded), float(cost)]
            if not (np.isfinite([*scores, price]).all() and price >= 0.0):
                raise ValueError(f"scores and cost must be finite numbers, cost >= 0, got {scores} and {price}")
            found.append((row, [m.sign * score for m, score in zip(params.rewarded, scores, strict=True)], price))
        except (ValueError, KeyError, TypeError) as error:
            problem = problem or (f"no {error}" if isinstance(error, KeyError) else str(error))
    if not found:
        raise ValueError(f"source {name} must have evaluations in this search space, got none: {problem or 'empty'}")
    raw, rewards, costs = map(np.array, zip(*found, strict=True))
    features = 2.0 * points.unit(raw) - 1.0 if params.kind == "box" else feature_matrix(points.space, raw)[1]
    return Source(name, features, rewards, costs)


def bests(
    given: Any, params: FunctionParams, count: int, constraints: Mapping[str, Any]
) -> tuple[list[dict[str, Any]], list[str]]:
    """Return the best configurations of another search, clipped to this space, and a text for each clipped value.

    Configurations without a finite score or any hyperparameter of this space, or with an invalid value, are left out,
    and so are those whose metrics are known to violate a constraint.

    Args:
        given: See `source`.
        params: The new search; hyperparameters that `given` lacks are set to the middle of their range.
        count: Largest number of distinct configurations.
        constraints: Constraints of the new search, see `constraints.checked`.

    Raises:
        ValueError: `given` has another type or goal.
        FileNotFoundError: The folder holds no search.
    """
    points = params.points
    if isinstance(given, Source):
        units = (given.features + 1.0) / 2.0
        raw = points.raw(units) if units.shape[1] == len(points.space) else np.empty((0, len(points.space)))
        scored = [(float(r.sum()), points.config(row)) for r, row in zip(given.rewards, raw, strict=False)]
    else:
        known = _read(given, params)[1]
        scored = [
            (_total(metrics, params), dict(config)) for config, metrics, _ in known if _meets(metrics, constraints)
        ]
    found, said = list[dict[str, Any]](), list[str]()
    for score, config in sorted(scored, key=lambda pair: -pair[0]):
        moved = list[str]()
        fitted = _fitted(config, points, moved) if np.isfinite(score) else None
        if fitted is not None and fitted not in found:
            found.append(fitted)
            said += moved
        if len(found) == count:
            break
    return found, said


def _meets(metrics: Mapping[str, Any], constraints: Mapping[str, Any]) -> bool:
    known = {name: rule for name, rule in constraints.items() if is_number(metrics.get(name))}
    return all(v <= 0.0 for v in violations(known, metrics))


def _total(metrics: Mapping[str, Any], params: FunctionParams) -> float:
    """Return the sum of the rewards; minus infinity if a reward is missing or not finite."""
    try:
        total = sum(m.sign * float(metrics[m.name]) for m in params.rewarded)
    except (KeyError, TypeError, ValueError):
        return -np.inf
    return total if np.isfinite(total) else -np.inf


def _fitted(config: Mapping[str, Any], points: Points, moved: list[str]) -> dict[str, Any] | None:
    """Clip a configuration to a space; None if no name is shared, a choice is unknown or a value is not a number.

    Missing values and NaN are set to the middle of their range. A text for each clipped value is appended to `moved`.
    """
    if not any(h.name in config for h in points.space):
        return None
    raw = np.zeros(len(points.space))
    for j, h in enumerate(points.space):
        if not points.active(raw[None])[0, j]:
            continue
        value: Any = config.get(h.name)
        if (value is None and None not in h.values) or (isinstance(value, float) and np.isnan(value)):
            raw[j] = raw_of(h, np.array([0.5]))[0]
            continue
        try:
            raw[j] = h.stored(value)
        except ValueError:
            if h.kind == "categorical" or not is_number(value):
                return None
            number, ends = float(value), np.array(h.values or (h.low, h.high), np.float64).tolist()
            near = min(ends, key=lambda v: abs(v - number))
            inside = near if h.values or not h.low <= number <= h.high else float(round(number))
            raw[j] = h.stored(int(inside) if h.kind == "int" else inside)
            moved.append(f"{h.name} {number:g} to {inside:g}")
    return points.config(raw)


def _read(given: Any, params: FunctionParams) -> tuple[str, Iterator[Known]]:
    """Return the name and the observations of a source task; ValueError for another type, or another goal."""
    objectives = params.objectives

    def check(name: str, goals: Iterable[tuple[str, str]]) -> None:
        known = dict(goals)
        for m in params.rewarded:
            if known.get(m.name, m.goal) != m.goal:
                raise ValueError(f"source {name} must have the goal {m.goal} of {m.name}, got {known[m.name]}")

    if isinstance(given, (str, Path)):
        given = load(given)
    if isinstance(given, Tuned):
        called = str(given.folder or given.header["function"])
        check(called, zip(given.header["objectives"], given.header["goals"], strict=True))
        texts = {h.name: {encoded(v): v for v in h.values if isinstance(encoded(v), str)} for h in params.points.space}

        def choice(name: str, value: Any) -> Any:  # classes and functions are texts after reading from disk
            return texts.get(name, {}).get(value, value) if isinstance(value, str) else value

        def forecast(e: Evaluation) -> Mapping[str, Any]:  # of a training that was stopped early
            return e.metrics if e.forecast is None else {**e.metrics, objectives[0]: e.forecast}

        least = min((e.left for e in given.successes), default=0)  # scores of different epochs are not comparable
        return called, (
            ({k: choice(k, v) for k, v in e.config.items()}, forecast(e), e.spent)
            for e in given.successes
            if e.left == least
        )
    if isinstance(given, Table):
        check(given.name, ((m.name, m.goal) for m in given.metrics))
        return given.name, _of_table(given, objectives)
    if hasattr(given, "to_dict") and hasattr(given, "columns"):
        return "DataFrame", _of_frame(given, params)
    if hasattr(given, "get_trials"):
        names = given.metric_names or objectives
        if len(given.directions) != len(names) or not {*objectives} <= {*names}:
            raise ValueError(f"source {given.study_name} must have {', '.join(objectives)}, got {', '.join(names)}")
        check(given.study_name, zip(names, (d.name.lower()[:3] for d in given.directions), strict=True))
        trials = [t for t in given.get_trials(deepcopy=False) if t.state.name == "COMPLETE" and not breaks(t)]
        return f"study {given.study_name}", ((t.params, dict(zip(names, t.values, strict=True)), 1.0) for t in trials)
    raise ValueError(
        f"source must be a Table, a DataFrame, a study of Optuna, a search or its folder, got {str(given)[:80]!r}"
    )


def _of_frame(frame: Any, params: FunctionParams) -> Iterator[Known]:
    """Yield the rows of a frame, whose names may be those of `Tuned.to_frame`; NaN is the choice None, if there is."""

    def named(row: Mapping[Any, Any], part: str) -> dict[Any, Any]:
        return {**row, **{k.removeprefix(part): v for k, v in row.items() if isinstance(k, str) and k.startswith(part)}}

    missing = [h.name for h in params.points.space if None in h.values]
    priced = "config.cost" in frame or "cost" not in {h.name for h in params.points.space}
    for row in frame.to_dict("records"):
        config = named(row, "config.")
        config |= {name: None for name in missing if config.get(name) != config.get(name)}
        yield config, named(row, "metrics."), row.get("cost", 1.0) if priced else 1.0


def _of_table(table: Table, objectives: tuple[str, ...]) -> Iterator[Known]:
    scores = {name: table.final(name) for name in objectives}
    for row in range(len(table)):
        costs = table.cost[row, 0]
        cost = float(costs[np.isfinite(costs)][-1]) if np.isfinite(costs).any() else 0.0
        yield table.config(row), {name: values[row] for name, values in scores.items()}, cost

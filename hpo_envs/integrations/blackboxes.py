"""Blackboxes of Syne Tune as our tables, and so as environments. Works on the objects, imports nothing."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from hpo_envs.tables.table import STATUSES, Hyperparameter, Metric, Provenance, Table
from hpo_envs.tables.user import assemble, roles
from hpo_envs.tables.user.cells import Column

Floats = npt.NDArray[np.float64]
Goal = Literal["max", "min"]

TIMES = ("metric_elapsed_time", "elapsed_time", "metric_train_time", "metric_runtime")
"""Objectives of the published blackboxes that are times, the first two since the start of a run."""


def from_blackbox(
    blackbox: Any,
    name: str = "blackbox",
    *,
    score: str | Sequence[str] | None = None,
    goal: Goal | Sequence[Goal] | None = None,
    cost: str | None = None,
    configurations: int = 1000,
    seed: int = 0,
    licence: str = "not stated",
    citation: str | None = None,
    bounds: Mapping[str, tuple[float, float]] | None = None,
    explain: Callable[[str], None] = lambda text: None,
) -> Table:
    """Make a table of a blackbox, for `gym.make("TableHPO-v0", table=...)`, or `TableLC-v0` where it has checkpoints.

    A tabular blackbox is taken as it is: its configurations, seeds as repeats, fidelities as checkpoints, objectives as
    metrics. Any other one (a surrogate, a function) is asked for random configurations of its space, and for each of
    its seeds and fidelities. Search spaces become ours, logarithms included.

    Args:
        blackbox: Of `syne_tune.blackbox_repository`, what its `load_blackbox` returns for each task included.
        name: Of the table.
        score: Objective(s) that are rewarded, the first by default; default: all that are no time.
        goal: `max` or `min` for each; guessed from the name where it is telling: blackboxes do not say.
        cost: Objective that is the cumulative cost in seconds; default: the first of `TIMES` there is; `*runtime` and
            `*train_time` are added up. Without one, an evaluation costs 1.
        configurations: How many to draw where the blackbox lists none.
        seed: Of these draws.
        licence: Of the data.
        citation: Of the data.
        bounds: Metric -> (lowest, highest) value by its definition; default: guessed from its values.
        explain: Called with each decision, in words.

    Raises:
        ValueError: No such objective, one whose goal cannot be guessed, more than one fidelity, or nothing measured.
    """
    listed = hasattr(blackbox, "objectives_evaluations")
    configs, values, levels = _of_table(blackbox) if listed else _asked(blackbox, configurations, seed)
    names = [str(n) for n in blackbox.objectives_names]
    time = next((t for t in TIMES if t in names), None) if cost is None else cost
    scores = [score] if isinstance(score, str) else list(score or (n for n in names if n not in TIMES and n != time))
    if unknown := [n for n in (*scores, *([time] if time else [])) if n not in names]:
        raise ValueError(f"score and cost must be of {', '.join(names)}, got {unknown[0]!r}")
    goals = [goal] * len(scores) if goal is None or isinstance(goal, str) else list(goal)
    rows, repeats, checkpoints, _ = values.shape
    flat = values.reshape(-1, len(names))
    kept = ~np.isnan(flat[:, [names.index(n) for n in scores]]).any(axis=1)
    if not kept.any():
        raise ValueError(f"blackbox must have a measured value of {', '.join(scores)}, got none")
    metrics, notes = _metrics(scores, goals, [flat[kept, names.index(n)] for n in scores], bounds or {}, explain)
    columns, fixed = _space(blackbox.configuration_space, configs)
    index = np.indices((rows, repeats, checkpoints)).reshape(3, -1)[:, kept]
    runs = assemble.Runs(
        where=lambda i: f"configuration {index[0, i]}, seed {index[1, i]}, fidelity {levels[index[2, i]]:g}",
        columns={k: Column(c.values[index[0]], c.choices, c.whole) for k, c in columns.items()},
        scores=flat[kept][:, [names.index(n) for n in scores]],
        metrics=metrics,
        cost=None if time is None else _cost(values[..., names.index(time)], time).reshape(-1)[kept],
        cost_unit="evaluations" if time is None else "seconds",
        level=levels[index[2]] if checkpoints > 1 else None,
        level_unit=blackbox.fidelity_name() if checkpoints > 1 else "full training",
        repeat=index[1],
        status=np.full(int(kept.sum()), STATUSES.index("ok"), np.uint8),
        fixed=fixed,
    )  # fmt: skip
    digest = hashlib.sha256(repr(configs).encode() + values.tobytes()).hexdigest()
    kind: Literal["measured", "surrogate"] = "measured" if listed else "surrogate"
    provenance = Provenance(
        kind, f"Syne Tune blackbox {type(blackbox).__name__}", digest[:40], licence,
        citation or "Syne Tune's blackbox repository, see there for what each blackbox cites", notes=tuple(notes),
    )  # fmt: skip
    return assemble.table_of(runs, name, provenance, lambda column, text: explain(f"{column}: {text}".lstrip(": ")))


def _of_table(blackbox: Any) -> tuple[list[dict[str, Any]], Floats, Floats]:
    """Configurations, (rows, seeds, fidelities, objectives) values and fidelities of a tabular blackbox."""
    configs = blackbox.hyperparameters.to_dict("records")
    values = np.asarray(blackbox.objectives_evaluations, dtype=np.float64)
    return configs, values, np.asarray(blackbox.fidelity_values, dtype=np.float64)


def _asked(blackbox: Any, count: int, seed: int) -> tuple[list[dict[str, Any]], Floats, Floats]:
    """The same of any other, for distinct random configurations of its space."""
    if blackbox.fidelity_space is not None and len(blackbox.fidelity_space) != 1:
        raise ValueError(f"blackbox must have at most one fidelity, got {', '.join(blackbox.fidelity_space)}")
    rng = np.random.RandomState(seed)
    drawn: dict[tuple[Any, ...], dict[str, Any]] = {}
    for _ in range(10 * count):
        config = {
            k: d.sample(random_state=rng) if hasattr(d, "sample") else d
            for k, d in blackbox.configuration_space.items()
        }
        drawn.setdefault(tuple(config.values()), config)
        if len(drawn) == count:
            break
    configs, levels = [*drawn.values()], np.ones(1)
    fidelities: list[Any] = [None]
    if blackbox.fidelity_space is not None:
        (axis,) = blackbox.fidelity_space.values()
        given = blackbox.fidelity_values
        levels = np.arange(axis.lower, axis.upper + 1.0) if given is None else np.asarray(given, dtype=np.float64)
        fidelities = [{blackbox.fidelity_name(): type(axis.lower)(v)} for v in levels]
    seeds = range(getattr(blackbox, "num_seeds", None) or 1)
    values = [[_curve(blackbox, c, fidelities, s) for s in seeds] for c in configs]
    return configs, np.array(values, dtype=np.float64), levels


def _curve(blackbox: Any, config: Mapping[str, Any], fidelities: Sequence[Any], seed: int) -> Any:
    """(fidelities, objectives) answers of a seed.

    A surrogate is asked for all fidelities at once: of one, 0.16 returns the whole row under the first objective's name
    where it fits differences, as it does of elapsed times.
    """
    if hasattr(blackbox, "surrogate_pipeline") and fidelities[0] is not None:
        return np.asarray(blackbox(dict(config), seed=seed), dtype=np.float64)
    answers = [blackbox(dict(config), fidelity=f, seed=seed) for f in fidelities]
    return [[float(said[n]) for n in blackbox.objectives_names] for said in answers]


def _metrics(
    names: Sequence[str],
    goals: Sequence[Goal | None],
    values: Sequence[Floats],
    bounds: Mapping[str, tuple[float, float]],
    explain: Callable[[str], None],
) -> tuple[tuple[Metric, ...], list[str]]:
    metrics, notes = [], []
    for name, goal, column in zip(names, goals, values, strict=True):
        known = goal or roles.goal_of(name)
        if known is None:
            raise ValueError(f"goal of {name} must be given, 'max' or 'min': its name does not say")
        metric, text = roles.metric(name, column[np.isfinite(column)], known, bounds.get(name))
        explain(f"{name}: {text}")
        metrics.append(metric)
        notes.append(f"{name}: {text}")
    return tuple(metrics), notes


def _cost(times: Floats, name: str) -> Floats:
    """(rows, seeds, fidelities) cumulative seconds."""
    if not name.endswith(("runtime", "train_time")):
        return np.maximum.accumulate(np.nan_to_num(times), axis=2)
    return np.cumsum(np.nan_to_num(times), axis=2)


def _space(
    space: Mapping[str, Any], configs: list[dict[str, Any]]
) -> tuple[dict[str, Column], dict[str, Hyperparameter]]:
    """Columns and definitions of the hyperparameters; constants are none."""
    columns, fixed = {}, {}
    for name, domain in space.items():
        if hasattr(domain, "sample"):
            columns[name], fixed[name] = _axis(name, domain, [c[name] for c in configs])
    return columns, fixed


def _axis(name: str, domain: Any, values: list[Any]) -> tuple[Column, Hyperparameter]:
    choices = getattr(domain, "categories", None)
    if choices is not None and not all(type(c) in (int, float) for c in choices):
        plain = tuple(c if isinstance(c, (bool, int, float, str)) else str(c) for c in choices)
        at = [list(choices).index(v) for v in values]
        return Column(np.array(at, np.float64), plain), Hyperparameter(
            name, "categorical", 0.0, float(len(plain) - 1), values=plain
        )
    numbers = np.array(values, np.float64)
    if choices is not None:
        grid = tuple(sorted(choices))
    else:
        grid = tuple(domain.values) if hasattr(domain, "values") else ()
    ends = (grid[0], grid[-1]) if grid else (domain.lower, domain.upper)
    low, high = min(float(ends[0]), float(numbers.min())), max(float(ends[1]), float(numbers.max()))
    whole = all(float(v).is_integer() for v in grid) if grid else type(domain).__name__ == "Integer"
    sampler = type(domain.get_sampler()).__name__
    log = low > 0 and ("LogUniform" in sampler or bool(getattr(domain, "log_scale", False)))
    return Column(numbers, whole=whole), Hyperparameter(name, "int" if whole else "float", low, high, log, grid)

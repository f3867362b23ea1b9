"""Conversion of tables to blackboxes of Syne Tune, for its simulator and schedulers, and of blackboxes to tables.

Needs the extra `syne_tune`.
"""

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from hpo_envs.tables import user
from hpo_envs.tables.checks import extra_module
from hpo_envs.tables.table import LOST, Hyperparameter, Table

LEVEL, SECONDS = "level", "elapsed_time"
"""Names of the resource and of the elapsed time in reports of the blackbox."""

TIMES = ("metric_elapsed_time", "elapsed_time", "metric_train_time", "metric_runtime")
"""Objectives of the published blackboxes that are times; the first two are cumulative."""


def from_blackbox(
    blackbox: Any, name: str = "blackbox", *, score: str | Sequence[str] | None = None,
    goal: str | Sequence[str] | None = None, cost: str | None = None, **options: Any,
) -> Table:  # fmt: skip
    """Convert a blackbox to a table, for `gym.make("TableHPO-v0", table=...)`, or `TableLC-v0` with fidelities.

    Its configurations become rows, seeds repeats, fidelities levels, and objectives metrics; the search space is
    converted, with its logarithms. Evaluations that lack a score are left out.

    Args:
        blackbox: A tabular blackbox of `syne_tune.blackbox_repository`, as returned by `load_blackbox` for each task.
        name: Name of the table.
        score: Objectives that may be rewarded; an id rewards the first. Default: all that are not times.
        goal: `max` or `min`, for all or for each score; default: guessed from names, as blackboxes do not have goals.
        cost: Objective that is the cost in seconds, cumulative, or to be added up if its name ends in `runtime` or
            `train_time`; default: the first of `TIMES` in the blackbox. Without one, an evaluation costs 1.
        **options: See `hpo_envs.tables.user.from_frame`: `licence`, `citation`, `bounds`, `explain`.

    Raises:
        ValueError: An objective does not exist, its goal cannot be guessed, or the blackbox has no list of
            configurations.
    """
    if not hasattr(blackbox, "objectives_evaluations"):
        raise ValueError(f"blackbox must list its configurations (BlackboxTabular), got {type(blackbox).__name__}")
    names = [str(n) for n in blackbox.objectives_names]
    time = next((t for t in TIMES if t in names), None) if cost is None else cost
    scores = [score] if isinstance(score, str) else list(score or (n for n in names if n not in (time, *TIMES)))
    if unknown := [n for n in (*scores, *([time] if time else [])) if n not in names]:
        raise ValueError(f"score and cost must be of {', '.join(names)}, got {unknown[0]!r}")
    values = np.asarray(blackbox.objectives_evaluations, dtype=np.float64)
    row, seed, level = np.indices(values.shape[:3]).reshape(3, -1)
    domains = {k: d for k, d in blackbox.configuration_space.items() if hasattr(d, "sample")}
    frame = blackbox.hyperparameters[[*domains]].iloc[row].reset_index(drop=True)
    space = tuple(_hyperparameter(k, d, frame[k].tolist()) for k, d in domains.items())
    frame[names] = values.reshape(len(frame), -1)
    repeat, unit = (n if n not in {*domains, *names} - {time} else f"blackbox {n}" for n in ("seed", "seconds"))
    options |= {"repeat": repeat, "hyperparameters": [*domains], "space": space}
    frame[repeat] = seed
    if values.shape[2] > 1:
        options["level"] = blackbox.fidelity_name()
        frame[options["level"]] = np.asarray(blackbox.fidelity_values)[level]
    if time is not None:
        spent, options["cost"] = np.nan_to_num(values[..., names.index(time)]), unit
        added = time.endswith(("runtime", "train_time"))
        frame[unit] = (np.cumsum if added else np.maximum.accumulate)(spent, axis=2).ravel()
    goals = [goal] * len(scores) if isinstance(goal, str) else goal
    kept = frame[scores].notna().all(axis=1)
    source = f"Syne Tune blackbox {type(blackbox).__name__}"
    return user.from_frame(frame[kept], scores, goals, name=name, source=source, **options)


def _hyperparameter(name: str, domain: Any, values: list[Any]) -> Hyperparameter:
    choices = getattr(domain, "categories", None)
    if choices is not None and not all(type(c) in (int, float) for c in choices):
        return Hyperparameter(name, "categorical", 0.0, len(choices) - 1.0, values=tuple(choices))
    grid = tuple(sorted(getattr(domain, "values", ()) if choices is None else choices))
    low, high = (grid[0], grid[-1]) if grid else (domain.lower, domain.upper)
    low, high = min(float(low), *map(float, values)), max(float(high), *map(float, values))
    whole = all(float(v).is_integer() for v in grid) if grid else type(domain).__name__ == "Integer"
    log = "LogUniform" in type(domain.get_sampler()).__name__ or bool(getattr(domain, "log_scale", False))
    return Hyperparameter(name, "int" if whole else "float", low, high, log and low > 0, grid)


def to_blackbox(table: Table) -> Any:
    """Convert a table to a `BlackboxTabular`.

    Hyperparameters become choices among the values in the table, because it has results only for these. Objectives are
    the metrics in native units (minimise or maximise by `table.metrics`) and `elapsed_time`, the table's cumulative
    cost in its own unit (`table.cost_unit`; the simulator interprets it as seconds). Fidelities are 1, 2, ...: the k-th
    is `table.levels[k - 1]`. Repeats, and rows with the same hyperparameters, are the blackbox's seeds; if a row has
    fewer than others, they are repeated. Missing values repeat the last measured value, at no further cost, or are the
    metric's worst value if none was measured or the run failed or diverged. Metrics that some successful runs lack,
    such as a test score of only the best one, are left out.

    A table that is not a complete grid lacks some combinations of values: pass its rows to the scheduler
    (`points_to_evaluate`), or use the nearest row, `add_surrogate(blackbox, KNeighborsRegressor(1))`.

    Args:
        table: A table with at least two hyperparameters: Syne Tune 0.16 cannot look up a single one.

    Raises:
        ModuleNotFoundError: Syne Tune, or a package that its blackbox repository needs, is not installed.
        ValueError: The table has no hyperparameters, or a metric named `elapsed_time`.
    """
    blackboxes, spaces = _imported()
    import pandas as pd

    if not table.space:
        raise ValueError(f"table must have hyperparameters, got {table.name} without")
    if SECONDS in table.metric_names:
        raise ValueError(f"metrics must not be named {SECONDS}, as the cost of a blackbox, got {table.name} with it")
    groups: dict[tuple[Any, ...], list[tuple[int, int]]] = {}
    for row in range(len(table)):
        runs = np.flatnonzero(~np.isnan(table.values[row]).all(axis=(1, 2))).tolist()
        key = tuple(table.config(row).values())
        groups.setdefault(key, []).extend((row, repeat) for repeat in runs or [0])
    seeds = max(map(len, groups.values()))
    rows, repeats = np.array([[runs[s % len(runs)] for s in range(seeds)] for runs in groups.values()]).T
    known = np.asarray(~np.isnan(table.values).all(axis=2))
    everywhere = np.all(known[known.any(axis=2) & ~np.isin(table.status, LOST)], axis=0)
    space = {}
    for j, h in enumerate(table.space):
        values = [h.natural(v) for v in np.unique(table.configs[:, j])]
        plain = h.kind == "categorical" or len(values) == 1
        space[h.name] = spaces.choice(values) if plain else spaces.ordinal(values, kind="equal")
    return blackboxes.BlackboxTabular(
        hyperparameters=pd.DataFrame([*groups], columns=[h.name for h in table.space]),
        configuration_space=space,
        fidelity_space={LEVEL: spaces.randint(1, len(table.levels))},
        objectives_evaluations=_evaluations(table, rows.T, repeats.T)[..., np.append(everywhere, True)],
        objectives_names=[*itertools.compress(table.metric_names, everywhere), SECONDS],
    )


def to_backend(table: Table, blackbox: Any = None, **settings: Any) -> Any:
    """Return a `UserBlackboxBackend`, Syne Tune's simulator, with a table as the simulated function.

    Syne Tune's default is a clock that ticks every 5 units of cost, and each tick costs real time; here a tick is the
    smallest positive cost of a first fidelity of the table, else of any fidelity, or 1 if nothing costs.

    Args:
        table: A table with hyperparameters.
        blackbox: The blackbox, for instance `add_surrogate(to_blackbox(table), ...)`; None: `to_blackbox(table)`.
        **settings: Further arguments of `UserBlackboxBackend` (`seed`, `max_resource_attr`, ...).

    Raises:
        ModuleNotFoundError: Syne Tune, or a package that its blackbox repository needs, is not installed.
        ValueError: The table has no hyperparameters, and no blackbox is given.
    """
    _imported()
    from syne_tune.blackbox_repository import UserBlackboxBackend

    paid = next((c[c > 0] for c in (table.cost[:, :, 0], table.cost) if (c > 0).any()), np.ones(1))
    settings = {"tuner_sleep_time": float(paid.min()), "elapsed_time_attr": SECONDS, **settings}
    return UserBlackboxBackend(to_blackbox(table) if blackbox is None else blackbox, **settings)


def _imported() -> tuple[Any, Any]:
    """Import and return Syne Tune's modules of tabular blackboxes and of configuration spaces."""
    names = ("syne_tune.blackbox_repository.blackbox_tabular", "syne_tune.config_space")
    blackboxes, spaces = (extra_module(name, "syne_tune", "blackboxes") for name in names)
    return blackboxes, spaces


def _evaluations(table: Table, rows: npt.NDArray[np.int64], repeats: npt.NDArray[np.int64]) -> Any:
    """Return (configurations, seeds, levels, metrics + 1) float64: metrics, then cumulative cost, without NaN."""
    worst = np.array([m.worst for m in table.metrics])
    cost, lost = np.nan_to_num(table.cost[rows, repeats]), np.isin(table.status[rows, repeats], LOST)
    values = table.values[rows, repeats]
    values = np.where(np.isnan(values) & lost[..., None, None], worst, values)
    for level in range(1, values.shape[2]):
        gap = np.isnan(values[:, :, level])
        values[:, :, level][gap] = values[:, :, level - 1][gap]
    values = np.where(np.isnan(values), worst, values)
    return np.concatenate([values, np.maximum.accumulate(cost, axis=2)[..., None]], axis=3)

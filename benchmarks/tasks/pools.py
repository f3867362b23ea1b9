"""Pools of tasks: the validation scores of the tables that ship, or scores of custom tables."""

import functools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hpo_envs.tables import Floats, catalogue, draws, store
from hpo_envs.tables.checks import one_of
from hpo_envs.tables.table import LOST, Table

FAMILIES = ("NMTHPO", "NMTLC", "CharHPO", "CharMini", "TextMini", "TaskSet", "CellMini", "NASBenchNLP")
"""Families whose tables become tasks, scored by the final results of configurations."""

FEW = 8
"""Fewest configurations of a pool; a task has at least as many configurations as evaluations."""


@dataclass(frozen=True, eq=False)
class TaskPool:
    """A pool of tasks: the configurations of one table and their scores."""

    name: str  # of the table
    group: str  # task group of the table; pools of a group share one weight
    languages: tuple[str, ...]  # of the table
    x: Floats  # (N, d) features in [0, 1]
    y: Floats  # (N,) rewards, higher is better
    feature_names: tuple[str, ...] = ()
    predictions: Floats | None = None  # (J, N) predictions of source tasks
    distances: Floats | None = None  # (J,) distances of their spaces
    fitted: Floats | None = None  # (d,) length-scales of the source tasks; None: unknown
    held_out: tuple[str, ...] = ()  # language or task group, see `catalogue.held_out`; empty for custom tables
    metric: str = ""


def pools(
    families: Sequence[str | Table] = FAMILIES,
    without: Sequence[str] = (),
    objective: str | None = None,
    half: int | None = None,
) -> list[TaskPool]:
    """Return a pool for each table of some families but small or degenerate ones and those without features or metric.

    Args:
        families: Names in `FAMILIES`, or custom tables.
        without: Languages, by any of their codes, and task groups to leave out.
        objective: Metric; default: the validation score, or first metric of a custom table. Tables without it are left
            out.
        half: 0 or 1: only configurations in one half of each space, see `in_half`; None: all.

    Raises:
        ValueError: A family or half is unknown, an entry of `without` is in no table, or no table is left.
    """
    named = [one_of("families", family, FAMILIES).lower() for family in families if not isinstance(family, Table)]
    if half not in (None, 0, 1):
        raise ValueError(f"half must be None, 0 or 1, got {half!r}")
    names = [name for name in shipped() if name.partition("/")[0] in named]
    own = [table for table in families if isinstance(table, Table)]
    given = [*(_shipped(name, objective, half) for name in names), *(_of(table, objective, half) for table in own)]
    every, shown = [pool for pool in given if pool], ", ".join(str(getattr(f, "name", f)) for f in families)
    if not every:
        what = f" with the metric {objective!r}" if objective else ""
        raise ValueError(f"families must have a usable table{what}, got {shown}")
    known = {word for p in every for word in (p.group, *p.languages)}
    left_out = {catalogue.canonical(word) for word in without}
    if left_out - known:
        raise ValueError(
            f"without must be languages or task groups among {', '.join(sorted(known))}, got {sorted(left_out - known)}"
        )
    found = [p for p in every if not left_out & {p.group, *p.languages}]
    if not found:
        raise ValueError(f"without must leave a table of {shown}, got {without!r}")
    return found


def in_half(table: Table, half: int) -> npt.NDArray[np.bool_]:
    """Return the (rows,) mask of configurations in a half of their space, by a hash of their values or features."""
    key = draws.mix_many(np.array([0x48616C66], np.uint64), np.zeros(len(table)))
    values = table.configs if table.space else table.features
    for column in np.asarray(values, np.float64).T + 0.0:  # no negative zero
        key = draws.mix_many(key, column.copy().view(np.uint64))
    return np.asarray((key >> np.array(63, np.uint64)).astype(int) == half)


def shipped() -> list[str]:
    """Return the names of the tables of recorded configurations that ship, one for each set of results."""
    names = [n for n in store.names() if n in catalogue.settings() and not store.files(n)]
    return [n for n in names if store.of_configurations(n) and not n.endswith("-grid")]


def groups() -> dict[str, set[str]]:
    """Return the task groups of shipped tables with validation scores, by family of `FAMILIES`."""
    found: dict[str, set[str]] = {family: set() for family in FAMILIES}
    of = {family.lower(): family for family in FAMILIES}
    for name in shipped():
        setting = catalogue.settings()[name]
        if setting.objective and name.partition("/")[0] in of:
            found[of[name.partition("/")[0]]].add(setting.group)
    return found


def scores(table: Table, metric: str) -> Floats:
    """Return (rows, repeats) final rewards, that of the metric's worst value for failed and diverged runs.

    Repeats that were not made are NaN, so that means are `np.nanmean(..., axis=1)`.
    """
    m, ends, made = table.metrics[table.metric(metric)], table.ends(metric), ~np.isnan(table.cost[:, :, 0])
    rewards = m.sign * np.where(np.isnan(ends) | np.isin(table.status, LOST), m.worst, ends)
    return np.where(made | ~made.any(axis=1, keepdims=True), rewards, np.nan)


@functools.cache
def _shipped(name: str, objective: str | None, half: int | None) -> TaskPool | None:
    return _of(store.load(name), objective, half)


def _of(table: Table, objective: str | None, half: int | None) -> TaskPool | None:
    setting = catalogue.settings().get(table.name)
    metric = objective or (setting.objective if setting else table.metric_names[0])
    if metric not in table.metric_names or not table.feature_names:
        return None
    y, kept = (
        np.nanmean(scores(table, metric), axis=1),
        np.ones(len(table), bool) if half is None else in_half(table, half),
    )
    if kept.sum() < FEW or np.median(y[kept]) >= y[kept].max():
        return None
    group, languages = (setting.group, (setting.language,)) if setting else (table.name, ())
    held_out = (catalogue.held_out()[table.name],) if setting else ()
    x, names = table.features[kept], table.feature_names
    return TaskPool(table.name, group, languages, x, y[kept], names, held_out=held_out, metric=metric)

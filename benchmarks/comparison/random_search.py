"""Random search without replacement, exactly: what the mean over ever more seeds of the agent `random` tends to.

A random order of n rows needs no simulation. The targets of Zhang and Duh (2020) are order statistics and counts of
draws without replacement; curves of regret are sums over the rows, each weighted by the probability that it is the best
so far. `baseline` applies them to the problem of a saved run, so that a comparison with random search has no noise on
that side.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import gymnasium as gym
import numpy as np
import numpy.typing as npt

from hpo_envs.agents.models.acquisition import hypervolume, pareto_front
from hpo_envs.benchmarks.analysis import regret
from hpo_envs.benchmarks.analysis.scales import of_header
from hpo_envs.benchmarks.analysis.statistics import below, expected_best
from hpo_envs.benchmarks.runs import Run
from hpo_envs.benchmarks.runs.episodes import seeds_of
from hpo_envs.core.subsample import View, first_key
from hpo_envs.families import registry
from hpo_envs.tables import store
from hpo_envs.tables.table import LOST, ByHash, Table

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Exact:
    """Mean and standard deviation of a score over the runs of random search."""

    mean: float
    std: float


def first_of(rows: int, wanted: int, least: int = 1) -> Exact:
    """Evaluations until one of the wanted rows is met: ftb, ftc, fto. Mean (n + 1) / (k + 1) with `least` 1.

    Args:
        rows: Number of rows n.
        wanted: How many of them are wanted, k.
        least: Runs count as at least so long (3 in Zhang and Duh 2020, note 18).

    Raises:
        ValueError: `wanted` is not in 1 to `rows`.
    """
    return _moments(_later(rows, wanted), least)


def all_of(rows: int, wanted: int, least: int = 1) -> Exact:
    """Evaluations until all wanted rows are met: fta. Mean k (n + 1) / (k + 1), the mirror image of `first_of`."""
    later = _later(rows, wanted)
    return _moments(1.0 - later[::-1], least)


def count_of(rows: int, wanted: int, budget: int) -> Exact:
    """Wanted rows among the first `budget`: fbp, hypergeometric."""
    share, budget = wanted / rows, min(budget, rows)
    left = (rows - budget) / max(rows - 1, 1)
    return Exact(budget * share, math.sqrt(budget * share * (1.0 - share) * left))


def _later(rows: int, wanted: int) -> Floats:
    """(n + 1,) P(first wanted row comes after t), t = 0 to n: C(n - t, k) / C(n, k)."""
    if not 1 <= wanted <= rows:
        raise ValueError(f"wanted must be in 1 to {rows}, the number of rows, got {wanted}")
    t = np.arange(rows)
    return np.concatenate([[1.0], np.cumprod(np.maximum(rows - wanted - t, 0) / (rows - t))])


def _moments(later: Floats, least: int) -> Exact:
    """Mean and variance of max(T, least), from P(T > t), t = 0, 1, ..."""
    p = np.concatenate([np.ones(least), later[least:]])
    mean = float(p.sum())
    square = float(((2 * np.arange(len(p)) + 1) * p).sum())
    return Exact(mean, math.sqrt(max(square - mean**2, 0.0)))


def of_values(values: npt.ArrayLike, tolerance: float, budget: int, least: int = 1) -> dict[str, Exact]:
    """ftb, ftc and fb of a table with one objective (Zhang and Duh 2020, section 4.1).

    Args:
        values: (n,) rewards.
        tolerance: Below the best that counts as close.
        budget: Evaluations of fb.
        least: See `first_of`.
    """
    v = np.asarray(values, dtype=np.float64)
    close = int((v >= v.max() - tolerance - 1e-9).sum())
    mean, std = expected_best(v, [budget], replacement=False)
    best = int((v == v.max()).sum())
    return {
        "ftb": first_of(len(v), best, least),
        "ftc": first_of(len(v), close, least),
        "fb": Exact(float(v.max() - mean[0]), float(std[0])),
    }


def of_points(points: npt.ArrayLike, budget: int, least: int = 1) -> dict[str, Exact]:
    """fto, fta and fbp of a table with several objectives (section 4.2), whose front has no point twice."""
    p = np.asarray(points, dtype=np.float64)
    rows, front = len(p), int(pareto_front(p).sum())
    return {
        "fto": first_of(rows, front, least),
        "fta": all_of(rows, front, least),
        "fbp": count_of(rows, front, budget),
    }


def selected(criterion: npt.ArrayLike, values: npt.ArrayLike, rows: npt.ArrayLike, budget: int) -> float:
    """Mean value of the best of random rows by another criterion: test loss of the best by validation.

    A row with several repeats gives one of them by chance. The best of b rows is at most c with the probability that
    all are, which is a mean of products over subsets of b rows.

    Args:
        criterion: (k,) of each repeat of each row, higher is better; NaN is worst.
        values: (k,) what is reported.
        rows: (k,) row of each repeat.
        budget: Number of rows b; no more than there are.
    """
    order = np.argsort(np.nan_to_num(np.asarray(criterion, dtype=np.float64), nan=-np.inf), kind="stable")
    row = np.unique(np.asarray(rows)[order], return_inverse=True)[1]
    drawn = np.arange(1, budget + 1)
    # products[c, j]: mean over subsets of j of the rows so far of the probability that all are at most c.
    products = np.zeros((len(order), budget + 1))
    products[:, 0] = 1.0
    for k in range(1, int(row.max()) + 2):
        mine = row == k - 1
        share = np.minimum(drawn / k, 1.0)
        at_most = (np.cumsum(mine) / mine.sum())[:, None]
        products[:, 1:] = (1.0 - share) * products[:, 1:] + share * at_most * products[:, :-1]
    weights = np.diff(products[:, budget], prepend=0.0)
    return float(weights @ np.asarray(values, dtype=np.float64)[order])


def regret_after(regrets: npt.ArrayLike, evaluations: int) -> Floats:
    """(evaluations,) mean regret after 1, 2, ... evaluations, from the regret of each row."""
    r = np.asarray(regrets, dtype=np.float64)
    return np.asarray(-(_chances(len(r), evaluations) @ np.sort(-r)))


@functools.lru_cache(maxsize=4)
def _chances(rows: int, evaluations: int) -> Floats:
    """(evaluations, rows) probability that the i-th lowest row is the best of 1, 2, ... random ones."""
    b = np.minimum(np.arange(1, evaluations + 1), rows)
    return np.diff(below(rows, b, False), prepend=0.0, axis=1)


def volume_after(points: npt.ArrayLike, corner: npt.ArrayLike, evaluations: int) -> Floats:
    """(evaluations,) mean hypervolume after 1, 2, ... evaluations of two objectives, higher is better.

    A cell of the grid that the points span is dominated by c of them, so by one of b random ones with probability
    1 - C(n - c, b) / C(n, b).

    Args:
        points: (n, 2) rewards.
        corner: (2,) reward that bounds the volume.
        evaluations: Length of the curve.
    """
    p, low = np.asarray(points, dtype=np.float64), np.asarray(corner, dtype=np.float64)
    inside = np.maximum(p, low)
    edges = [np.unique(np.append(inside[:, j], low[j])) for j in (0, 1)]
    place = tuple(np.searchsorted(edges[j], inside[:, j]) for j in (0, 1))
    counts = np.zeros((len(edges[0]), len(edges[1])), dtype=np.int64)
    np.add.at(counts, place, 1)
    # Points at or beyond the upper corner of each cell.
    dominating = counts[::-1, ::-1].cumsum(axis=0).cumsum(axis=1)[::-1, ::-1][1:, 1:]
    area = np.diff(edges[0])[:, None] * np.diff(edges[1])[None, :]
    by_count = np.bincount(dominating.ravel(), area.ravel(), minlength=len(p) + 1)
    b = np.minimum(np.arange(1, evaluations + 1), len(p))
    # Column c: all of b are among the n - c rows that do not dominate.
    none = np.column_stack([below(len(p), b, False)[:, ::-1], np.zeros(len(b))])
    return np.asarray((1.0 - none) @ by_count)


def _rows(run: Run) -> Floats | None:
    """(n, m) rewards of the rows that a run searched; None where these are not all that decides a reward.

    They are where actions are rows without repeats, each of which gives one reward.
    """
    h = run.header
    if not store.exists(h["table"]) or run.actions.dtype.kind not in "iu":
        return None
    if set(h["env_kwargs"]) - {"table", "budget", "shuffle", "subsample", "objective"}:
        return None
    try:
        table = table_of(h)
    except store.TableNotInstalled:
        return None
    _, repeats, levels, _ = table.values.shape
    if repeats > 1 or levels > 1 or run.actions.ndim > 1 or h["cost_unit"] != "evaluations":
        return None
    rewards, rows = _ends(ByHash(table), tuple(h["objectives"])), rows_of(table, part_of(h))
    return rewards if rows is None else rewards[rows]


@functools.lru_cache(maxsize=16)
def _ends(known: ByHash, objectives: tuple[str, ...]) -> Floats:
    """(n, m) rewards of a table's rows, NaN where they failed."""
    table = known.table
    ends = np.stack([table.ends(name)[:, 0] for name in objectives], axis=1)
    ends[np.isin(table.status[:, 0], LOST)] = np.nan
    return np.asarray(ends * [table.metrics[table.metric(name)].sign for name in objectives])


def targets_of(run: Run, tolerance: float) -> dict[str, Exact] | None:
    """Targets (`analysis.targets`) of `random` on the problem of a run; None where no exact sum is known.

    Runtimes are those of a search that goes on until it meets the target; `fb`, `best` and `fbp` have the run's budget.
    """
    rewards = _rows(run)
    if rewards is None or np.isnan(rewards).any():
        return None
    budget = min(max(round(run.header["budget"]), 1), len(rewards))
    if rewards.shape[1] > 1:
        return of_points(rewards, budget)
    exact = of_values(rewards[:, 0], tolerance, budget)
    return {"best": Exact(float(rewards.max()) - exact["fb"].mean, exact["fb"].std), **exact}


def baseline(run: Run) -> tuple[float, float] | None:
    """Mean anytime and final regret of `random` on the problem of a run; None where no exact sum is known.

    It takes the table: None where that is not at hand. Nor is anything known where regret is 0/0.
    """
    scale = of_header(run.header)
    known = scale.source == "table" and not (regret.noisy(run) or regret.flat(run))
    rewards = _rows(run) if known else None
    if rewards is None:
        return None
    evaluations = max(round(float(run.header["budget"])), 1)
    if rewards.shape[1] == 2:
        rewards = np.where(np.isnan(rewards), scale.reference, rewards)
        after = 1.0 - volume_after(rewards, scale.reference, evaluations) / hypervolume(-scale.front, -scale.reference)
        return float(after.mean()), float(after[-1])
    width = float(scale.best[0] - scale.reference[0])
    regrets = np.clip((scale.best[0] - np.nan_to_num(rewards[:, 0], nan=-np.inf)) / width, 0.0, 1.0)
    after = regret_after(regrets, evaluations)
    return float(after.mean()), float(after[-1])


def baselines(run: Run, scales: Mapping[int, Mapping[str, Any]]) -> list[tuple[float, float] | None]:
    """`baseline` of problems that differ in their seed alone.

    Args:
        run: On one of them.
        scales: Scale by seed.
    """
    headers = ({**run.header, "seed": seed, "scale": scale} for seed, scale in scales.items())
    return [baseline(dataclasses.replace(run, header=header)) for header in headers]


def table_of(header: Mapping[str, Any]) -> Table:
    """The table that a saved run was made on.

    Raises:
        ValueError: It has changed since.
    """
    spec, arguments = registry.find(header["env"]), header.get("env_kwargs", {})
    arms = {k: v for k, v in arguments.items() if k in ("means", "deviations", "bounds")}
    if spec is not None and (spec.surrogate or arms):  # the environment makes its tables
        made = gym.make(spec.id, **arms).unwrapped.params.tables  # type: ignore[attr-defined]
        table: Table = next(t for t in made if t.name == header["table"])
    else:
        table = store.load(header["table"])
    if table.provenance.sha256 != header["sha256"]:
        raise ValueError(
            f"runs must be scored against the table they were made on: {header['table']} ({header['kind']}) has "
            f"sha256 {table.provenance.sha256}, the runs say {header['sha256']}"
        )
    return table


def part_of(header: Mapping[str, Any]) -> tuple[float, int] | tuple[()]:
    """Fraction of the configurations and the key that draws them; nothing where every seed has the whole table."""
    subsample = float(header.get("subsample", 1.0))
    return (subsample, first_key(seeds_of(header["env"], int(header["seed"]))[0])) if subsample < 1.0 else ()


def subset(table: Table, part: tuple[float, int] | tuple[()]) -> Table:
    """The rows that the episode of a run had, in any order.

    Args:
        table: The whole table.
        part: What `key` says of the run.
    """
    index = rows_of(table, part)
    return table if index is None else table.subset(index)


def rows_of(table: Table, part: tuple[float, int] | tuple[()]) -> npt.NDArray[np.int64] | None:
    """Rows of the subsample; None: all."""
    return View(subsample=part[0]).rows(part[1], len(table)) if part else None

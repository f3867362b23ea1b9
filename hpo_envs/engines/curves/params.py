"""What the two forms of the multi-fidelity environments read: curves as flat arrays, one cell a checkpoint."""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from gymnasium.spaces import Box

from hpo_envs.core.env import Floats
from hpo_envs.engines.lookup.params import ByHash, Objective, check_objective
from hpo_envs.tables.table import STATUSES, Table, nearest

VARIANTS = ("paper", "released")
COST_HIGH = 1e9
"""Cap of the observed cost."""


@dataclass(frozen=True)
class Curves:
    """Cells = rows x repeats x levels, in that order. Cells past a run's end repeat what the run ended with.

    Attributes:
        table: The table.
        rows: Number of rows.
        levels: (L,) resource of each checkpoint that can be asked for.
        objectives: Names of the rewarded metrics.
        shown: Names of the metrics that agents see.
        held_out: Names of those they do not.
        count: (rows,) measured repeats of each row, at least 1.
        repeats: Repeats that the cells make room for.
        ends: (rows * repeats,) int64, the checkpoint at which each run ends.
        costs: (cells,) float64, cumulative cost of training up to each cell; 1 for each evaluation where cost is
            evaluations.
        wide: (cells, m + shown + held out + 1) float64: `rewards`, `seen`, `hidden` (views of it) and the share of a
            full training, for one gather per batched step.
        rewards: (cells, m) float64, oriented: higher is better.
        peaks: (cells, m) float64, best reward at any checkpoint of the table up to the cell.
        peak_levels: (cells,) int64, index in `table.levels` of the best of the first objective.
        seen: (cells, shown) float64, native units, no NaN.
        hidden: (cells, held out) float64.
        peak_hidden: (cells, held out) float64, held-out metrics at `peak_levels`.
        status: (cells,) uint8, index into `STATUSES`.
        templates: (rows, d) float32 observations with the features filled in.
        initial: (d,) float32, observation before the first step.
        low: (m,) lowest possible reward by definition.
        high: (m,) highest possible reward by definition.
        observation_space: Bounds of the observation.
        cost_at: Index of the last cost in the observation; the best rewards follow.
        cost_unit: Unit of `costs`.
    """

    table: Table
    rows: int
    levels: Floats
    objectives: tuple[str, ...]
    shown: tuple[str, ...]
    held_out: tuple[str, ...]
    count: npt.NDArray[np.int64]
    repeats: int
    ends: npt.NDArray[np.int64]
    costs: Floats
    wide: Floats
    rewards: Floats
    peaks: Floats
    peak_levels: npt.NDArray[np.int64]
    seen: Floats
    hidden: Floats
    peak_hidden: Floats
    status: npt.NDArray[np.uint8]
    templates: npt.NDArray[np.float32]
    initial: npt.NDArray[np.float32]
    low: Floats
    high: Floats
    observation_space: Box
    cost_at: int
    cost_unit: str

    def full(self) -> Floats:
        """(rows, repeats) cost of each full training; NaN where there is no such repeat."""
        cost = self.costs.reshape(self.rows, self.repeats, -1)[:, :, -1]
        return np.where(np.arange(self.repeats) < self.count[:, None], cost, np.nan)

    def whole(self) -> float:
        """Cost of training every row to its end, by the dearest repeat of each; one evaluation per checkpoint."""
        if self.cost_unit == "evaluations":
            return float(self.rows * len(self.levels))
        return float(np.nanmax(self.full(), axis=1).sum())

    def budget_of(self, trainings: int) -> float:
        """What so many full trainings cost on average; as many as there are, where each evaluation costs 1."""
        return float(trainings * np.nanmean(self.full()))


def prepare_curves(
    table: Table,
    objective: Objective,
    held_out: tuple[str, ...] = (),
    cost: str | None = None,
    levels: int | None = None,
    variant: str = "paper",
) -> Curves:
    """Prepares a table for stepping; cached, because `make` is called often.

    Args:
        table: Has curves.
        objective: Name of the rewarded metric, or a tuple of names.
        held_out: Names of metrics that agents must not see.
        cost: None = the table's own unit; or that unit, the unit of the levels, or `"evaluations"` (1 for each step
            that trains something).
        levels: None = every checkpoint; k = at most k of them, geometrically spaced, the last included.
        variant: `"paper"`: training up to a checkpoint costs everything up to it. `"released"`: the environment
            released by Klyuchnikov et al. charges the checkpoints before the last one trained, so the first is free.

    Raises:
        ValueError: An argument that the table cannot satisfy.
    """
    if variant not in VARIANTS:
        raise ValueError(f"variant must be one of {', '.join(VARIANTS)}, got {variant!r}{nearest(variant, VARIANTS)}")
    if levels is not None and (isinstance(levels, bool) or not isinstance(levels, (int, np.integer)) or levels < 1):
        raise ValueError(f"levels must be None or an int >= 1, got {levels!r}")
    if cost is not None and not isinstance(cost, str):
        raise ValueError(f"cost must be None or the name of a unit, got {cost!r}")
    return _prepare(ByHash(table), check_objective(objective), held_out, cost, levels, variant)


@functools.lru_cache(maxsize=32)
def _prepare(
    keyed: ByHash, objective: Objective, held_out: tuple[str, ...], cost: str | None, levels: int | None, variant: str
) -> Curves:
    t = keyed.table
    chosen = (objective,) if isinstance(objective, str) else objective
    shown = tuple(name for name in t.metric_names if name not in held_out)
    for name in chosen:
        if name not in shown:
            raise ValueError(f"objective must be one of {', '.join(shown)}, got {name!r}{nearest(name, shown)}")
    if not chosen:
        raise ValueError(f"objective must name at least one metric of {', '.join(shown)}, got ()")
    hidden_at = [t.metric(name) for name in held_out]
    values, ends = _filled(t, t.metric(chosen[0]))
    costs, unit = _costs(t, ends, cost, variant)
    rewarded = [t.metric(name) for name in chosen]
    sign = np.array([t.metrics[j].sign for j in rewarded])
    rewards = values[..., rewarded] * sign
    peaks = np.maximum.accumulate(rewards, axis=2)
    new = np.concatenate([np.ones((*peaks.shape[:2], 1), bool), np.diff(peaks[..., 0], axis=2) > 0], axis=2)
    peak_levels = np.maximum.accumulate(np.where(new, np.arange(len(t.levels)), 0), axis=2)
    hidden = values[..., hidden_at]
    peak_hidden = np.take_along_axis(hidden, peak_levels[..., None], axis=2)
    full_ends = ends.reshape(len(t), -1, 1)
    at = np.minimum(np.arange(len(t.levels)), full_ends)
    status = np.where(at < full_ends, 0, t.status[:, :, None])
    shares = t.levels[at] / t.levels[-1]
    grid = _grid(len(t.levels), levels)
    ends = np.searchsorted(grid, ends).astype(np.int64)

    def flat(a: npt.NDArray) -> npt.NDArray:
        a = np.ascontiguousarray(a[:, :, grid]).reshape(a.shape[0] * a.shape[1] * len(grid), *a.shape[3:])
        a.setflags(write=False)
        return a

    bounds = np.array([[t.metrics[j].low, t.metrics[j].high] for j in rewarded]) * sign[:, None]
    low, high = bounds.min(axis=1), bounds.max(axis=1)
    space, templates, initial = _observations(t, low, high)
    seen = values[..., [t.metric(name) for name in shown]]
    count = np.maximum((~np.isnan(t.values).all(axis=(2, 3))).sum(axis=1), 1)
    wide = flat(np.concatenate([rewards, seen, hidden, shares[..., None]], axis=3))
    m, k = len(chosen), len(chosen) + len(shown)
    return Curves(
        t, len(t), t.levels[grid], chosen, shown, held_out, count, t.repeats, ends, flat(costs), wide, wide[:, :m],
        flat(peaks), flat(peak_levels), wide[:, m:k], wide[:, k:-1], flat(peak_hidden), flat(status.astype(np.uint8)),
        templates, initial, low, high, space, t.features.shape[1] + 1 + m, unit,
    )  # fmt: skip


def _filled(t: Table, objective: int) -> tuple[Floats, npt.NDArray[np.int64]]:
    """Values without NaN, and the checkpoint at which each run ends.

    A run that diverged or failed ends at the checkpoint after its last value, where every metric has its worst
    value; other runs keep their last value.

    Returns:
        (rows, repeats, levels, metrics) values and (rows * repeats,) ends.
    """
    known = (~np.isnan(t.values)).sum(axis=2)
    lost = np.isin(t.status, [STATUSES.index("diverged"), STATUSES.index("failed")])
    ends = np.clip(known[..., objective] - 1 + lost, 0, len(t.levels) - 1)
    last = np.maximum(np.minimum(np.arange(len(t.levels))[:, None], known[:, :, None] - 1), 0)
    values = np.take_along_axis(t.values, last, axis=2)
    worst = np.array([m.worst for m in t.metrics])
    fallen = lost[..., None, None] & (np.arange(len(t.levels))[:, None] >= known[:, :, None])
    return np.where(fallen | np.isnan(values), worst, values), ends.reshape(-1).astype(np.int64)


def _costs(t: Table, ends: npt.NDArray[np.int64], cost: str | None, variant: str) -> tuple[Floats, str]:
    """(rows, repeats, levels) cumulative costs, constant after a run's end, and their unit."""
    last = ends.reshape(len(t), -1, 1)
    at = np.minimum(np.arange(len(t.levels)), last)
    if cost == "evaluations":
        return np.ones(at.shape), "evaluations"
    name = {"s": "seconds"}.get(t.cost_unit, t.cost_unit)
    if cost in (None, t.cost_unit, name):
        known = np.maximum((~np.isnan(t.cost)).sum(axis=2, keepdims=True) - 1, 0)
        costs = np.nan_to_num(np.take_along_axis(t.cost, np.minimum(at, known), axis=2), nan=0.0)
        unit = t.cost_unit
    elif cost == t.level_unit:
        costs, unit = t.levels[at], t.level_unit
    else:
        units = tuple(dict.fromkeys((name, t.level_unit, "evaluations")))
        raise ValueError(f"cost must be one of {', '.join(units)}, got {cost!r}{nearest(str(cost), units)}")
    if variant == "released":
        costs = np.concatenate([np.zeros_like(costs[..., :1]), costs], axis=2)
        costs = np.take_along_axis(costs, at, axis=2)
    return costs, unit


def _grid(count: int, levels: int | None) -> npt.NDArray[np.intp]:
    if levels is None:
        return np.arange(count)
    if levels == 1:
        return np.array([count - 1])
    return np.unique(np.rint(np.geomspace(1, count, levels)).astype(np.intp)) - 1


def _observations(t: Table, low: Floats, high: Floats) -> tuple[Box, npt.NDArray[np.float32], npt.NDArray[np.float32]]:
    """Layout: features | share of a full training | rewards | cost | best rewards | budget left."""
    d, m = t.features.shape[1], len(low)
    zeros, ones = np.zeros(d + 1), np.ones(d + 1)
    space = Box(
        np.concatenate([zeros, low, [0.0], low, [0.0]]).astype(np.float32),
        np.concatenate([ones, high, [COST_HIGH], high, [1.0]]).astype(np.float32),
        dtype=np.float32,
    )
    templates = np.zeros((len(t), d + 2 * m + 3), np.float32)
    templates[:, :d] = t.features
    initial = np.zeros(d + 2 * m + 3, np.float32)
    initial[d + 1 : d + 1 + m] = initial[d + 2 + m : d + 2 + 2 * m] = low
    initial[-1] = 1.0
    return space, templates, initial

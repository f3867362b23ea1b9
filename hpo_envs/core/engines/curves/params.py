"""Learning curves as flat arrays: default budget, cost unit, levels, repeats, keys of `info`, observation space."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from hpo_envs.core.engines.diverged import filled
from hpo_envs.core.infos import STATUS_COLUMN, Info, configs_of
from hpo_envs.core.params import Objectives, Params, bounds_of, box, check_budget, check_int, check_objective, rewarded
from hpo_envs.core.spaces import MaskedMultiDiscrete
from hpo_envs.core.subsample import View
from hpo_envs.tables import Floats, Ints, draws
from hpo_envs.tables.checks import one_of, shown
from hpo_envs.tables.store import load_table
from hpo_envs.tables.table import ByHash, Table

COST_HIGH = 1e9
"""Cap of the observed cost."""
TRAININGS = 20
"""The default budget is the mean cost of this many full trainings."""


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class CurveParams(Params):
    """Parameters and arrays of learning curves, with one cell per row, repeat and level; ended runs keep their values.

    Attributes:
        grid: (L,) index in `table.levels` of each checkpoint that actions can name.
        held_out: Names of the metrics that agents do not see.
        count: (rows,) number of measured repeats of each row, at least 1.
        ends: (rows * repeats,) int64, index in `grid` of the checkpoint at which each run ends.
        costs: (cells,) float64, cumulative cost of training up to each cell, if `released` up to the checkpoint of the
            table before it (0 at the first); 1 in every cell if the cost unit is evaluations.
        peaks: (cells, m) float64, best reward at any checkpoint of the table up to the cell.
        answers: (cells, m + 1 + shown + held out) float64: `rewards`, fraction of a full training, all metrics.
        peak_levels: (cells,) int64, index in `table.levels` of the best first objective up to the cell.
        peak_hidden: (cells, held out) float64, held-out metrics at `peak_levels`.
        status: (cells,) uint8, index into `STATUSES`.
        templates: (rows + 1, width) float32 observations with features and zeros; the last one is the initial one.
    """

    grid: npt.NDArray[np.intp]
    held_out: tuple[str, ...]
    count: npt.NDArray[np.int64]
    ends: npt.NDArray[np.int64]
    costs: Floats
    peaks: Floats
    answers: Floats
    peak_levels: npt.NDArray[np.int64]
    peak_hidden: Floats
    status: npt.NDArray[np.uint8]
    templates: npt.NDArray[np.float32]

    @classmethod
    def of(
        cls, name: str, *, table: Any = None, objective: Objectives, held_out: tuple[str, ...] = (),
        cost: str | None = None, budget: float | str | None = "auto", levels: int | None = None, workers: int = 1,
        variant: str = "paper", shuffle: bool = False, subsample: float = 1.0,
    ) -> CurveParams:  # fmt: skip
        """Make the parameters from arguments; the arrays are cached, because `gymnasium.make` is called often.

        `name`: of the table; `objective`: the rewarded metric, or a tuple for a vector reward; `held_out`: metrics that
        agents must not see, in `info["held_out"]`. For the other arguments see `CurvesEnv`.

        Raises:
            ValueError: An argument is not valid for the table.
        """
        one_of("variant", variant, ("paper", "released"))
        if levels is not None:
            levels = min(check_int("levels", levels, optional=True), 10_000)  # more than any table has
        if cost is not None and not isinstance(cost, str):
            raise ValueError(f"cost must be None or the name of a unit, got {shown(cost)}")
        view = View(shuffle, subsample)
        keyed = ByHash(load_table(name, table))
        p = _prepare(keyed, check_objective(objective), tuple(held_out), cost, levels, variant)
        # By the most expensive repeat of each row; one evaluation per checkpoint.
        full = np.full(p.rows, len(p.levels)) if p.cost_unit == "evaluations" else np.nanmax(p.full, axis=1)
        whole = view.most(full[None, :, None])
        return dataclasses.replace(
            p,
            action_space=MaskedMultiDiscrete([view.size(p.rows), len(p.levels)]),
            budget=check_budget(budget, whole, p.cost_unit, TRAININGS * float(np.nanmean(p.full))),
            workers=check_int("workers", workers, high=1_000_000),
            view=view,
        )

    @property
    def steps(self) -> int:
        """See `Params`."""
        return self.actions * len(self.levels)

    @cached_property
    def levels(self) -> Floats:
        """See `Params`."""
        return self.table.levels[self.grid]

    @cached_property
    def shown(self) -> tuple[str, ...]:
        """Names of the metrics that agents see."""
        return tuple(name for name in self.table.metric_names if name not in self.held_out)

    @cached_property
    def repeats(self) -> int:
        """Number of repeats per row, missing ones included."""
        return self.table.repeats

    @cached_property
    def rewards(self) -> Floats:
        """(cells, m) rewards; higher is better."""
        return self.answers[:, : len(self.rewarded)]

    @cached_property
    def cost_at(self) -> int:
        """Index in the observation of the cost of the step; the best rewards follow it."""
        return int(self.templates.shape[1] - 2 - len(self.rewarded))

    def answer(self, rows: npt.NDArray[np.int64], cells: npt.NDArray[np.int64]) -> tuple[Floats, Floats, Info]:
        """Return (k, m) rewards, (k,) fractions of a full training, and info without costs, of k cells in k rows."""
        found, t, m = self.answers.take(cells, axis=0), self.table, len(self.rewarded)
        codes = self.status.take(cells).astype(np.int64)
        metrics = {name: found[:, m + 1 + j] for j, name in enumerate((*self.shown, *self.held_out))}
        held_out = {name: metrics.pop(name) for name in self.held_out}
        info: Info = {"metrics": metrics, "status": STATUS_COLUMN.take(codes), "status_code": codes}
        if t.space:
            info["config"] = self._configs(t.configs.take(rows, axis=0))
        if held_out:
            info["held_out"] = held_out
        # Rewards of their own: those of episodes that ended are overwritten.
        return found[:, :m].copy(), found[:, m], info

    @cached_property
    def _configs(self) -> Callable[[Floats], Info]:
        return configs_of(self.table.space)

    def truth(self, table: int | Ints, actions: npt.NDArray[Any]) -> Floats:
        """See `Params`."""
        rows, levels = actions.T
        rewards = self.rewards.reshape(self.rows, self.repeats, len(self.levels), -1)[rows, :, levels]
        kept = (np.arange(self.repeats) < self.count[rows, None])[..., None]
        means: Floats = rewards.sum(axis=1, where=kept) / self.count[rows, None]
        return means if self.vector else means[:, 0]

    def repeats_of(self, keys: draws.Keys, table: int | Ints, actions: npt.NDArray[Any]) -> dict[str, Ints]:
        """See `Params`."""
        rows, levels = actions.T
        bits = draws.mix_many(keys, rows)
        return {"row": rows, "level": self.grid[levels], "repeat": draws.below_many(bits, self.count[rows])}

    @cached_property
    def full(self) -> Floats:
        """(rows, repeats) cost of each full training; NaN for missing repeats."""
        cost = self.costs.reshape(self.rows, self.repeats, -1)[:, :, -1]
        return np.where(np.arange(self.repeats) < self.count[:, None], cost, np.nan)


@functools.lru_cache(maxsize=32)
def _prepare(
    keyed: ByHash, objective: Objectives, held_out: tuple[str, ...], cost: str | None, levels: int | None, variant: str
) -> CurveParams:
    t = keyed.table
    shown = tuple(name for name in t.metric_names if name not in held_out)
    chosen = rewarded(objective, tuple(t.metrics[t.metric(name)] for name in shown))
    columns = [t.metric(m.name) for m in chosen]
    hidden_at = [t.metric(name) for name in held_out]
    values, ends = filled(t, columns[0])
    costs, unit = _costs(t, ends, cost, variant)
    rewards = values[..., columns] * np.array([m.sign for m in chosen])
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

    def flat(a: npt.NDArray[Any]) -> npt.NDArray[Any]:
        a = np.ascontiguousarray(a[:, :, grid]).reshape(a.shape[0] * a.shape[1] * len(grid), *a.shape[3:])
        a.setflags(write=False)
        return a

    # Layout: features | share of a full training | rewards | cost | best rewards | budget left.
    (low, high), d, m = bounds_of(chosen).T, t.features.shape[1], len(chosen)
    space = box((d + 1, 0, 1), (m, low, high), (1, 0, COST_HIGH), (m, low, high), (1, 0, 1))
    templates = np.zeros((len(t) + 1, d + 2 * m + 3), np.float32)
    templates[:-1, :d] = t.features
    initial = templates[-1]
    initial[d + 1 : d + 1 + m] = initial[d + 2 + m : -1] = low
    initial[-1] = 1.0
    seen = values[..., [t.metric(name) for name in shown]]
    count = np.maximum((~np.isnan(t.values).all(axis=(2, 3))).sum(axis=1), 1)
    return CurveParams(
        kind="fidelity", tables=(t,), rewarded=chosen, vector=not isinstance(objective, str),
        action_space=MaskedMultiDiscrete([len(t), len(grid)]), observation_space=space, cost_unit=unit, budget=0.0,
        grid=grid, held_out=held_out, count=count, ends=ends, costs=flat(costs), peaks=flat(peaks),
        answers=flat(np.concatenate([rewards, shares[..., None], seen, hidden], axis=3)), peak_levels=flat(peak_levels),
        peak_hidden=flat(peak_hidden), status=flat(status.astype(np.uint8)), templates=templates,
    )  # fmt: skip


def _costs(t: Table, ends: npt.NDArray[np.int64], cost: str | None, variant: str) -> tuple[Floats, str]:
    """Return (rows, repeats, levels) cumulative costs, constant after a run's end (1 for evaluations), and the unit."""
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
        one_of("cost", cost, tuple(dict.fromkeys((name, t.level_unit, "evaluations"))))
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

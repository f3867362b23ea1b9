"""`CurvesEnv` for many episodes side by side."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium.spaces import Box
from gymnasium.vector import AutoresetMode

from hpo_envs.core.env import Floats, HPOVectorEnv, Info, provenance_info
from hpo_envs.engines.curves.params import COST_HIGH, prepare_curves
from hpo_envs.engines.curves.scalar import settings
from hpo_envs.engines.lookup.params import Objective, load_tables
from hpo_envs.tables import draws
from hpo_envs.tables.table import STATUSES


class CurvesVectorEnv(HPOVectorEnv):
    """`CurvesEnv` for `num_envs` episodes side by side, without a loop over them.

    Args:
        num_envs: Number of episodes.
        name: As in `CurvesEnv`, like all other arguments.
        table: See `CurvesEnv`.
        objective: See `CurvesEnv`.
        held_out: See `CurvesEnv`.
        cost: See `CurvesEnv`.
        budget: See `CurvesEnv`.
        levels: See `CurvesEnv`.
        workers: See `CurvesEnv`.
        variant: See `CurvesEnv`.
        autoreset_mode: `NEXT_STEP`, `SAME_STEP` or `DISABLED`.
        copy: False reuses the observation array.
    """

    def __init__(
        self,
        num_envs: int,
        name: str,
        *,
        table: Any = "auto",
        objective: Objective,
        held_out: tuple[str, ...] = (),
        cost: str | None = None,
        budget: float | str | None = "auto",
        levels: int | None = None,
        workers: int = 1,
        variant: str = "paper",
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        copy: bool = True,
    ) -> None:
        self.table = load_tables((name,), table)[0]
        p = self._p = prepare_curves(self.table, objective, tuple(held_out), cost, levels, variant)
        self.cost_unit, self.objectives, self.levels = p.cost_unit, p.objectives, p.levels
        self.budget, action_space = settings(p, budget, workers)
        self.reward_bounds, self.workers = np.stack([p.low, p.high], axis=1), int(workers)
        super().__init__(num_envs, p.observation_space, action_space, autoreset_mode, copy)
        self._vector = not isinstance(objective, str)
        if self._vector:
            self.reward_space, self.reward_dim = Box(p.low, p.high, dtype=np.float64), len(p.low)
        n, m, w = self.num_envs, len(p.low), self.workers
        self._limit = p.rows * len(p.levels)
        self._keys = np.zeros(n, np.uint64)
        self._reached = np.full((n, p.rows), -1, np.int16)
        self._best, self._best_cell = np.zeros((n, m)), np.full(n, -1)
        self._spent, self._committed, self._clock = np.zeros(n), np.zeros(n), np.zeros(n)
        self._count, self._finished, self._open = np.zeros(n, np.int64), np.zeros(n, np.int64), np.ones(n, bool)
        self._finish = np.full((n, w), np.inf)
        self._job = np.zeros((n, w, 5), np.int64)  # number, row, first cell, level, checkpoint reached
        self._job_cost = np.zeros((n, w))
        self._names = np.array(STATUSES, dtype=object)
        self._observations, self._handed_out = np.tile(p.initial, (n, 1)), False

    def _start(self, index: npt.NDArray[np.intp], keys: draws.Keys, options: dict[str, Any] | None) -> Info:
        p = self._p
        self._keys[index] = keys
        self._reached[index] = -1
        self._best[index], self._best_cell[index] = p.low, -1
        for array in (self._spent, self._committed, self._clock, self._count, self._finished, self._job):
            array[index] = 0
        self._open[index] = True
        self._finish[index] = np.inf
        self._own_observations()[index] = p.initial
        return {k: np.full(len(index), v, dtype=object) for k, v in provenance_info(self.table).items()}

    def _advance(self, actions: npt.NDArray[np.int64]) -> tuple[Any, npt.NDArray[np.bool_], Info]:
        rows, levels = actions[:, 0], actions[:, 1]
        if self.workers > 1:
            return self._advance_workers(rows, levels)
        base, reached, cost = self._submit(self._index, rows, levels)
        self._count += 1
        rewards, info = self._complete(self._index, rows, base, levels, reached, cost)
        over = self._spent >= self.budget
        over |= (self._count >= self._limit) | (self._finished == self._p.rows)
        return rewards, over, info

    def _advance_workers(self, rows: Any, levels: Any) -> tuple[Any, npt.NDArray[np.bool_], Info]:
        n = self.num_envs
        i = np.flatnonzero(self._open)
        busy = np.isfinite(self._finish[i])
        same = busy & (self._job[i, :, 1] == rows[i, None])
        start = np.maximum(self._clock[i], np.where(same, self._finish[i], 0.0).max(axis=1))
        base, reached, cost = self._submit(i, rows[i], levels[i])
        slot = np.argmin(busy, axis=1)  # the first idle worker: between two steps there always is one
        self._finish[i, slot] = start + cost
        self._job[i, slot] = np.stack([self._count[i], rows[i], base, levels[i], reached], axis=1)
        self._job_cost[i, slot] = cost
        self._committed[i] += cost
        self._count[i] += 1
        self._open = (self._committed < self.budget) & (self._count < self._limit) & (self._finished < self._p.rows)
        running = np.isfinite(self._finish)
        j = np.flatnonzero(running.any(axis=1) & (~self._open | running.all(axis=1)))
        next_time = self._finish[j].min(axis=1)
        # Jobs that finish together come back in the order of their submission.
        slot = np.where(self._finish[j] == next_time[:, None], self._job[j, :, 0], np.iinfo(np.int64).max).argmin(
            axis=1
        )
        job = self._job[j, slot]
        self._clock[j], self._finish[j, slot] = next_time, np.inf
        part, found = self._complete(j, job[:, 1], job[:, 2], job[:, 3], job[:, 4], self._job_cost[j, slot])
        rewards = np.zeros((n, *part.shape[1:]))
        rewards[j] = part
        action, finished = np.stack([rows, levels], axis=1), np.zeros(n, bool)
        action[j], finished[j] = job[:, [1, 3]], True
        info = _spread(found, j, n) | {"finished": finished, "action": action, "clock": self._clock.copy()}
        return rewards, ~self._open & ~np.isfinite(self._finish).any(axis=1), info

    def _submit(self, i: Any, rows: Any, levels: Any) -> tuple[Any, Any, Any]:
        """`CurvesEnv._submit` for the environments at `i`."""
        p = self._p
        runs = rows * p.repeats
        if p.repeats > 1:
            runs = runs + draws.below_many(draws.mix_many(self._keys[i], rows), p.count[rows])
        base, last = runs * len(p.levels), p.ends.take(runs)
        flat, at = self._reached.reshape(-1), i * p.rows + rows
        before = flat.take(at).astype(np.int64)
        end = np.minimum(levels, last)
        new = end > before
        if p.cost_unit == "evaluations":
            cost = new.astype(np.float64)
        else:
            old = np.where(before >= 0, p.costs.take(base + np.maximum(before, 0)), 0.0)
            cost = np.where(new, p.costs.take(base + end) - old, 0.0)
        reached = np.maximum(before, end)
        flat[at] = reached
        self._finished[i] += new & (end == last)
        return base, reached, cost

    def _complete(self, i: Any, rows: Any, base: Any, levels: Any, reached: Any, cost: Floats) -> tuple[Any, Info]:
        """`CurvesEnv._complete` for the environments at `i`; fills their observations."""
        p, t = self._p, self.table
        cells, tops = base + levels, base + reached
        peak = p.peaks.take(tops, axis=0)
        better = (peak[:, 0] > self._best[i, 0]) | (self._best_cell[i] < 0)
        self._best_cell[i] = np.where(better, tops, self._best_cell[i])
        self._best[i] = best = np.maximum(self._best[i], peak)
        self._spent[i] = spent = self._spent[i] + cost
        wide = p.wide.take(cells, axis=0)
        d, at, m = t.features.shape[1], p.cost_at, len(p.low)
        out = p.templates.take(rows, axis=0)
        out[:, d] = wide[:, -1]
        np.clip(wide[:, :m], p.low, p.high, out=out[:, d + 1 : at], casting="same_kind")
        np.minimum(cost, COST_HIGH, out=out[:, at], casting="same_kind")
        out[:, at + 1 : -1] = best
        out[:, -1] = np.where(spent < self.budget, 1.0 - spent / self.budget, 0.0)
        if i is self._index and self.copy:
            self._observations, self._handed_out = out, False
        else:
            self._own_observations()[i] = out
        info: Info = {
            "cost": cost,
            "metrics": {name: wide[:, m + j] for j, name in enumerate(p.shown)},
            "status": self._names.take(p.status.take(cells)),
            "reached": reached,
            "best": peak if self._vector else peak[:, 0],
        }
        if t.space:
            raw = t.configs.take(rows, axis=0)
            info["config"] = {h.name: _natural(h, raw[:, j]) for j, h in enumerate(t.space)}
        if p.held_out:
            k = m + len(p.shown)
            info["held_out"] = {name: wide[:, k + j] for j, name in enumerate(p.held_out)}
        # Arrays of their own: rewards and infos of episodes that ended are overwritten by the shell.
        return wide[:, :m].copy() if self._vector else wide[:, 0].copy(), info

    def _observe(self) -> npt.NDArray[np.float32]:
        self._handed_out = self.copy
        return self._observations

    def _own_observations(self) -> npt.NDArray[np.float32]:
        """The observations to be written into: not those that a caller holds, unless `copy=False` asks for that."""
        if self._handed_out:
            self._observations, self._handed_out = self._observations.copy(), False
        return self._observations

    def _check_actions(self, actions: Any) -> npt.NDArray[np.int64]:
        array = np.asarray(actions)
        if array.shape != (self.num_envs, 2) or array.dtype.kind not in "iu":
            raise ValueError(
                f"actions must be ints of shape {(self.num_envs, 2)}, got shape {array.shape} and dtype {array.dtype}"
            )
        array = array.astype(np.int64, copy=False)
        limits = (self._p.rows, len(self._p.levels))
        outside = (array < 0) | (array >= limits)
        if outside.any():
            bad = array[outside.any(axis=1)][0].tolist()
            raise ValueError(f"actions must be pairs below {list(limits)} and >= 0, got {bad}")
        return array

    def action_masks(self) -> npt.NDArray[np.bool_]:
        """(num_envs, rows + levels) bool, see `CurvesEnv.action_masks`."""
        p, n = self._p, self.num_envs
        rows = np.arange(p.rows)
        runs = np.tile(rows * p.repeats, (n, 1))
        if p.repeats > 1:
            runs += draws.below_many(draws.mix_many(self._keys[:, None], rows), p.count)
        done = self._reached == p.ends[runs]
        top = len(p.levels) - 1
        floor = np.where(done, top, self._reached).min(axis=1)
        mask = np.concatenate([~done, np.arange(top + 1) > floor[:, None]], axis=1)
        return mask | done.all(axis=1)[:, None]

    @property
    def total_cost(self) -> Floats:
        """(num_envs,) simulated cost of all that was trained, in `cost_unit`."""
        return self._spent.copy()

    @property
    def best_held_out(self) -> dict[str, Floats]:
        """Held-out metrics of the best of each episode, (num_envs,) each; NaN before the first evaluation."""
        found = self._p.peak_hidden[np.maximum(self._best_cell, 0)]
        found = np.where(self._best_cell[:, None] < 0, np.nan, found)
        return {name: found[:, j] for j, name in enumerate(self._p.held_out)}


def _natural(h: Any, raw: Floats) -> npt.NDArray[Any]:
    """(n,) natural values of a hyperparameter; choices of a categorical as objects."""
    return np.array(h.values, dtype=object)[raw.astype(np.intp)] if h.kind == "categorical" else raw


def _spread(value: Any, index: npt.NDArray[np.intp], n: int) -> Any:
    """Spreads (k, ...) values to (n, ...): zeros elsewhere, None for objects."""
    if isinstance(value, dict):
        return {k: _spread(v, index, n) for k, v in value.items()}
    whole = np.zeros((n, *value.shape[1:]), dtype=value.dtype)
    if value.dtype == object:
        whole[:] = None
    whole[index] = value
    return whole

"""`CurvesEnv` for many episodes side by side."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from hpo_envs.core.env import HPOVectorEnv
from hpo_envs.core.history import Rewind
from hpo_envs.core.infos import STATUS_COLUMN, Info, choices_of, scatter
from hpo_envs.core.params import Floats, check_ints
from hpo_envs.engines.curves.params import COST_HIGH, CurveParams
from hpo_envs.engines.workers import VectorWorkers
from hpo_envs.tables import draws

_ALL = slice(None)
"""The episodes of the whole batch: slices are read and written without copies."""


class CurvesVectorEnv(HPOVectorEnv):
    """`CurvesEnv` for `num_envs` episodes side by side, without a loop over them."""

    params: CurveParams

    def __init__(self, num_envs: int, params: CurveParams, *args: Any, **kwargs: Any) -> None:
        super().__init__(num_envs, params, *args, **kwargs)
        p = params
        self._vector = p.vector
        n, m = self.num_envs, len(p.low)
        self._limit = p.steps
        self._view = None if p.view.whole else np.zeros((n, p.actions), np.int64)
        self._reached = np.full((n, p.rows), -1, np.int16)
        self._past = Rewind(self._reached)
        self._first = self._index * p.rows
        self._sizes = np.array([p.actions, len(p.levels)])
        self._best, self._best_cell = np.zeros((n, m)), np.full(n, -1)
        self._spent, self._committed = np.zeros(n), np.zeros(n)
        self._count, self._finished, self._open = np.zeros(n, np.int64), np.zeros(n, np.int64), np.ones(n, bool)
        self._workers = VectorWorkers(n, p.workers, 5)  # row, index of the action, first cell, level, level reached
        self._choices = [choices_of(h) for h in p.table.space]
        self._observations = np.tile(p.initial, (n, 1))

    def _start(self, index: npt.NDArray[np.intp], keys: draws.Keys, options: dict[str, Any] | None) -> Info:
        p = self.params
        if self._view is not None:
            self._view[index] = p.view.rows_many(keys, p.rows)
        self._past.write(index, self._reached[index])
        self._reached[index] = -1
        self._best[index], self._best_cell[index] = p.low, -1
        for array in (self._spent, self._committed, self._count, self._finished):
            array[index] = 0
        self._open[index] = True
        self._workers.reset(index)
        self._observations[index] = p.initial
        return self._said(index)

    def _advance(self, actions: npt.NDArray[np.int64]) -> tuple[Any, npt.NDArray[np.bool_], Info]:
        rows, levels = actions[:, 0], actions[:, 1]
        if self._view is not None:
            rows = self._view[self._index, rows]
        if self.params.workers > 1:
            return self._advance_workers(actions, rows, levels)
        base, reached, cost = self._submit(_ALL, rows, levels)
        self._count += 1
        rewards, info = self._complete(_ALL, rows, base, levels, reached, cost)
        over = self._spent >= self.budget
        over |= (self._count >= self._limit) | (self._finished == self.params.actions)
        return rewards, over, info

    def _advance_workers(self, actions: Any, rows: Any, levels: Any) -> tuple[Any, npt.NDArray[np.bool_], Info]:
        n, workers = self.num_envs, self._workers
        i = np.flatnonzero(self._open)
        start = workers.free(i, rows[i])
        base, reached, cost = self._submit(i, rows[i], levels[i])
        workers.submit(i, np.stack([rows[i], actions[i, 0], base, levels[i], reached], axis=1), start, cost)
        self._committed[i] += cost
        self._count[i] += 1
        self._open = (self._committed < self.budget) & (self._count < self._limit)
        self._open &= self._finished < self.params.actions
        j, job, cost = workers.next(~self._open)
        part, found = self._complete(j, job[:, 0], job[:, 2], job[:, 3], job[:, 4], cost)
        rewards = np.zeros((n, *part.shape[1:]))
        rewards[j] = part
        action, finished = actions.copy(), np.zeros(n, bool)
        action[j], finished[j] = job[:, [1, 3]], True
        info = scatter(found, j, n) | {"finished": finished, "action": action, "clock": workers.clock.copy()}
        return rewards, ~self._open & ~workers.busy, info

    def _submit(self, i: Any, rows: Any, levels: Any) -> tuple[Any, Any, Any]:
        """`CurvesEnv._submit` for the environments at `i`."""
        p = self.params
        runs = rows
        if p.repeats > 1:
            runs = rows * p.repeats + draws.below_many(draws.mix_many(self._keys[i], rows), p.count[rows])
        base, last = runs * len(p.levels), p.ends.take(runs)
        flat, at = self._reached.reshape(-1), self._first[i] + rows
        before = flat.take(at).astype(np.int64)
        end = np.minimum(levels, last)
        new = end > before
        reached = np.maximum(before, end)
        if p.cost_unit == "evaluations":
            cost = new.astype(np.float64)
        else:
            zero = base + runs + 1  # where in `prices` the first checkpoint of the run is
            cost = p.prices.take(zero + reached)
            cost -= p.prices.take(zero + before)
        self._past.write((self._index[i], rows.copy()), before)
        flat[at] = reached
        new &= end == last
        self._finished[i] += new
        return base, reached, cost

    def _complete(self, i: Any, rows: Any, base: Any, levels: Any, reached: Any, cost: Floats) -> tuple[Any, Info]:
        """`CurvesEnv._complete` for the environments at `i`; fills their observations."""
        p, t = self.params, self.params.table
        cells, tops = base + levels, base + reached
        peak = p.peaks.take(tops, axis=0)
        better = peak[:, 0] > self._best[i, 0]
        better |= self._best_cell[i] < 0
        self._best_cell[i] = np.where(better, tops, self._best_cell[i])
        self._best[i] = best = np.maximum(self._best[i], peak)
        self._spent[i] = spent = self._spent[i] + cost
        wide = p.wide.take(cells, axis=0)
        d, at, m = t.features.shape[1], p.cost_at, len(p.low)
        out = p.templates.take(rows, axis=0)
        out[:, d:at] = p.observed.take(cells, axis=0)
        np.minimum(cost, COST_HIGH, out=out[:, at], casting="same_kind")
        out[:, at + 1 : -1] = best
        out[:, -1] = np.maximum(1.0 - spent / self.budget, 0.0)
        if i is _ALL and self.copy:
            self._observations = out
        else:
            self._observations[i] = out
        codes = p.status.take(cells).astype(np.int64)
        info: Info = {
            "cost": cost,
            "metrics": {name: wide[:, m + j] for j, name in enumerate(p.shown)},
            "status": STATUS_COLUMN.take(codes),
            "status_code": codes,
            "reached": reached,
            "best": peak if self._vector else peak[:, 0],
        }
        if t.space:
            raw = t.configs.take(rows, axis=0)
            natural = (
                raw[:, j] if c is None else c.take(raw[:, j].astype(np.intp)) for j, c in enumerate(self._choices)
            )
            info["config"] = {h.name: values for h, values in zip(t.space, natural, strict=True)}
        if self._view is not None:
            info["row"] = rows
        if p.held_out:
            k = m + len(p.shown)
            info["held_out"] = {name: wide[:, k + j] for j, name in enumerate(p.held_out)}
        # Arrays of their own: rewards and infos of episodes that ended are overwritten by the shell.
        return wide[:, :m].copy() if self._vector else wide[:, 0].copy(), info

    def _observe(self) -> npt.NDArray[np.float32]:
        return self._observations.copy() if self.copy else self._observations

    def _check_actions(self, actions: Any) -> npt.NDArray[np.int64]:
        return check_ints(actions, (self.num_envs, 2), self._sizes)

    def _then(self) -> Callable[[], npt.NDArray[np.bool_]]:
        return functools.partial(self._open_parts, self._past.then(), self._keys.copy())

    def _open_parts(self, reached_then: Callable[[], npt.NDArray[Any]], keys: draws.Keys) -> npt.NDArray[np.bool_]:
        """(num_envs, actions + levels) bool as in the scalar form, given the checkpoint that each row had reached."""
        p, rows, reached = self.params, self.params.view.rows_many(keys, self.params.rows), reached_then()
        runs, reached = rows * p.repeats, np.take_along_axis(reached, rows, axis=1)
        if p.repeats > 1:
            runs = runs + draws.below_many(draws.mix_many(keys[:, None], rows), p.count[rows])
        done = reached == p.ends[runs]
        top = len(p.levels) - 1
        floor = np.where(done, top, reached).min(axis=1)
        mask = np.concatenate([~done, np.arange(top + 1) > floor[:, None]], axis=1)
        return mask | done.all(axis=1)[:, None]

    @property
    def total_cost(self) -> Floats:
        """(num_envs,) simulated cost of all that was trained, in `cost_unit`."""
        return self._spent.copy()

    @property
    def best_held_out(self) -> dict[str, Floats]:
        """Held-out metrics of the best of each episode, (num_envs,) each; NaN before the first evaluation."""
        found = self.params.peak_hidden[np.maximum(self._best_cell, 0)]
        found = np.where(self._best_cell[:, None] < 0, np.nan, found)
        return {name: found[:, j] for j, name in enumerate(self.params.held_out)}

"""`CurvesEnv` for many episodes side by side."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from hpo_envs.core.env import HPOVectorEnv
from hpo_envs.core.history import Later, Rewind
from hpo_envs.core.infos import STATUS_COLUMN, Info, choices_of, natural, scatter
from hpo_envs.core.params import Floats, check_ints
from hpo_envs.engines.curves.params import COST_HIGH, CurveParams
from hpo_envs.engines.workers import VectorWorkers
from hpo_envs.tables import draws

_INT, _UINT = np.dtype(np.int64), np.dtype(np.uint64)
_ZERO, _ONE, _HIGH, _NONE, _NEXT = np.array(0.0), np.array(1.0), np.array(COST_HIGH), np.array(0), np.array(1)
"""Arrays without dimensions: faster than Python's numbers where few episodes run."""
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
        # One above the checkpoint that a row is trained to, in as few bytes as will do: by far the largest array.
        self._reached = np.zeros((n, p.rows), np.min_scalar_type(len(p.levels)))
        self._past = Rewind(self._reached)
        self._first = self._index * p.rows
        self._sizes = np.array([p.actions, len(p.levels)])
        self._limits = self._sizes.astype(_UINT)
        self._best, self._best_cell = np.zeros((n, m)), np.full(n, -1)
        self._spent, self._committed = np.zeros(n), np.zeros(n)
        self._count, self._finished, self._open = np.zeros(n, np.int64), np.zeros(n, np.int64), np.ones(n, bool)
        self._whole = np.array(self.budget)
        self._most = 0  # no episode has more steps
        self._workers = VectorWorkers(n, p.workers, 5)  # row, index of the action, first cell, level, level reached
        self._choices = [choices_of(h) for h in p.table.space]
        # What is observed: the last row, its share of a full training, rewards and cost; of the budget left.
        self._last = np.full(n, p.rows)
        self._share, self._shown, self._cost, self._rest = np.zeros(n), np.zeros((n, m)), np.zeros(n), np.ones(n)
        self._observations = np.empty((n, len(p.initial)), np.float32)

    def _start(self, index: npt.NDArray[np.intp], keys: draws.Keys, options: dict[str, Any] | None) -> Info:
        p = self.params
        if self._view is not None:
            self._view[index] = p.view.rows_many(keys, p.rows)
        self._past.write(index, self._reached[index])
        self._reached[index] = 0
        self._best[index], self._best_cell[index] = p.low, -1
        for array in (self._spent, self._committed, self._count, self._finished, self._share, self._cost):
            array[index] = 0
        self._open[index] = True
        self._workers.reset(index)
        self._last[index], self._shown[index], self._rest[index] = p.rows, p.low, 1.0
        return self._said(index)

    def _advance(self, actions: npt.NDArray[np.int64]) -> tuple[Any, npt.NDArray[np.bool_], Info]:
        rows, levels = actions
        if self._view is not None:
            rows = self._view[self._index, rows]
        if self.params.workers > 1:
            return self._advance_workers(actions, rows, levels)
        base, reached, cost, top = self._submit(_ALL, rows, levels)
        self._count += 1
        rewards, info = self._complete(_ALL, rows, base, levels, reached, cost, top)
        over = self._spent >= self._whole
        self._most += 1
        if self._most >= self.params.actions:  # with fewer steps nobody has trained every row
            self._most = int(self._count.max())
            over |= (self._count >= self._limit) | (self._finished == self.params.actions)
        return rewards, over, info

    def _advance_workers(self, actions: Any, rows: Any, levels: Any) -> tuple[Any, npt.NDArray[np.bool_], Info]:
        n, workers = self.num_envs, self._workers
        i = np.flatnonzero(self._open)
        start = workers.free(i, rows[i])
        base, reached, cost, _ = self._submit(i, rows[i], levels[i])
        workers.submit(i, np.stack([rows[i], actions[0, i], base, levels[i], reached], axis=1), start, cost)
        self._committed[i] += cost
        self._count[i] += 1
        self._open = (self._committed < self.budget) & (self._count < self._limit)
        self._open &= self._finished < self.params.actions
        j, job, cost = workers.next(~self._open)
        top = self.params.tops.take(job[:, 2] + job[:, 4], axis=0)
        part, found = self._complete(j, job[:, 0], job[:, 2], job[:, 3], job[:, 4], cost, top)
        rewards = np.zeros((n, *part.shape[1:]))
        rewards[j] = part
        action, finished = actions.T.copy(), np.zeros(n, bool)
        action[j], finished[j] = job[:, [1, 3]], True
        info = scatter(found, j, n) | {"finished": finished, "action": action, "clock": workers.clock.copy()}
        return rewards, ~self._open & ~workers.busy, info

    def _submit(self, i: Any, rows: Any, levels: Any) -> tuple[Any, Any, Any, Floats]:
        """`CurvesEnv._submit` for the environments at `i`, and their (k, 1 + m) `CurveParams.tops`."""
        p = self.params
        runs = rows
        if p.repeats > 1:
            drawn = draws.below_many(draws.mix_many(self._keys[i], rows), p.count.take(rows))
            runs = rows * p.repeats + drawn
        base, last = runs * len(p.levels), p.ends.take(runs)
        flat, at = self._reached.reshape(-1), self._first[i] + rows
        stored = flat.take(at)
        before = stored.astype(np.int64)
        before -= _NEXT
        end = np.minimum(levels, last)
        new = end > before
        reached = np.maximum(before, end)
        top = p.tops.take(base + reached, axis=0)
        if p.cost_unit == "evaluations":
            cost = new.astype(np.float64)
        else:
            cost = top[:, 0] * new
            again = ((before >= _NONE) & new).nonzero()[0]
            if len(again):
                cost[again] -= p.tops.take(base[again] + before[again], axis=0)[:, 0]
        self._past.write((self._index[i], rows), stored)
        flat[at] = (reached + _NEXT).astype(flat.dtype)  # half the time of a write that casts
        new &= end == last
        self._finished[i] += new.astype(np.int64)
        return base, reached, cost, top

    def _complete(
        self, i: Any, rows: Any, base: Any, levels: Any, reached: Any, cost: Floats, top: Floats
    ) -> tuple[Any, Info]:
        """`CurvesEnv._complete` for the environments at `i`; keeps what is observed of them."""
        p, t = self.params, self.params.table
        cells, peak = base + levels, top[:, 1:]
        if p.held_out:
            better = peak[:, 0] > self._best[i, 0]
            better |= self._best_cell[i] < 0
            self._best_cell[i] = np.where(better, base + reached, self._best_cell[i])
        self._best[i] = np.maximum(self._best[i], peak)
        self._spent[i] = spent = self._spent[i] + cost
        answers, m = p.answers.take(cells, axis=0), len(p.low)
        rewards, share = answers[:, :m], answers[:, m]
        left = spent / self._whole
        np.subtract(_ONE, left, out=left)
        np.maximum(left, _ZERO, out=left)
        seen = share, np.maximum(np.minimum(rewards, p.high), p.low), np.minimum(cost, _HIGH), left
        self._last[i] = rows
        if i is _ALL:
            self._share, self._shown, self._cost, self._rest = seen
        else:
            self._share[i], self._shown[i], self._cost[i], self._rest[i] = seen
        codes = p.status.take(cells).astype(np.int64)
        info: Info = {
            "cost": cost,
            "metrics": Later(functools.partial(self._metrics, cells, p.shown, 0)),
            "status": STATUS_COLUMN.take(codes),
            "status_code": codes,
            "reached": reached,
            "best": peak if self._vector else peak[:, 0].copy(),  # without the costs beside it in memory
        }
        if t.space:
            info["config"] = Later(functools.partial(self._configs, rows))
        if self._view is not None:
            info["row"] = rows.copy()
        if p.held_out:
            info["held_out"] = Later(functools.partial(self._metrics, cells, p.held_out, len(p.shown)))
        return rewards if self._vector else rewards[:, 0], info

    def _observe(self) -> npt.NDArray[np.float32]:
        p, out = self.params, None if self.copy else self._observations
        out = np.take(p.templates, self._last, axis=0, out=out, mode="clip")
        at, m = p.cost_at, len(p.low)
        out[:, at - m - 1], out[:, at - m : at], out[:, at] = self._share, self._shown, self._cost
        out[:, at + 1 : -1], out[:, -1] = self._best, self._rest
        return out

    def _metrics(self, cells: npt.NDArray[np.int64], names: tuple[str, ...], first: int) -> Info:
        """Metrics of these names, side by side in the table, of (k,) cells."""
        found = self.params.measured.take(cells, axis=0).T
        return {name: found[first + j] for j, name in enumerate(names)}

    def _configs(self, rows: npt.NDArray[np.int64]) -> Info:
        """Hyperparameters of (k,) rows."""
        t = self.params.table
        return natural(t.space, self._choices, t.configs.take(rows, axis=0))

    def _check_actions(self, actions: Any) -> npt.NDArray[np.int64]:
        """(2, num_envs) rows and levels."""
        if type(actions) is np.ndarray and actions.dtype == _INT and actions.shape == (self.num_envs, 2):
            parts = actions.T.copy()  # negative numbers are huge as unsigned ones
            if (np.maximum.reduce(parts.view(_UINT), axis=1) < self._limits).all():
                return parts
        return check_ints(actions, (self.num_envs, 2), self._sizes).T.copy()

    def _then(self) -> Callable[[], npt.NDArray[np.bool_]]:
        return functools.partial(self._open_parts, self._past.then(), self._keys)

    def _open_parts(self, reached_then: Callable[[], npt.NDArray[Any]], keys: draws.Keys) -> npt.NDArray[np.bool_]:
        """(num_envs, actions + levels) bool as in the scalar form, given the checkpoint that each row had reached."""
        p, rows, reached = self.params, self.params.view.rows_many(keys, self.params.rows), reached_then()
        runs, reached = rows * p.repeats, np.take_along_axis(reached, rows, axis=1).astype(np.int64) - 1
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

"""Vectorized learning-curve environments: training, simulated workers, masks and observations of all episodes."""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from hpo_envs.core.engines.curves.params import COST_HIGH, CurveParams
from hpo_envs.core.engines.workers import VectorWorkers
from hpo_envs.core.env import HPOVectorEnv
from hpo_envs.core.infos import ALL, Info, scatter
from hpo_envs.core.params import Floats, check_ints
from hpo_envs.core.subsample import ClearedFlags
from hpo_envs.tables import draws


class CurvesVectorEnv(HPOVectorEnv):
    """Vectorized `CurvesEnv`, without a loop over its episodes."""

    params: CurveParams

    def __init__(self, num_envs: int, params: CurveParams, *args: Any, **kwargs: Any) -> None:
        super().__init__(num_envs, params, *args, **kwargs)
        p = params
        n, m, levels = self.num_envs, len(p.low), len(p.levels)
        self._limit = p.steps
        self._view = None if p.view.whole else np.zeros((n, p.actions), np.int64)
        # Checkpoints that each row is trained to, all of them where its run has ended: by far the largest array.
        self._trained = np.zeros((n, p.actions), np.min_scalar_type(levels))
        self._first = self._index * p.actions
        # Checkpoints that all rows of an episode have passed, and how many rows have not passed another one.
        self._floor, self._lowest = np.zeros(n, np.int64), np.full(n, p.actions)
        self._history = ClearedFlags(n, p.actions + levels)
        self._limits = np.array([p.actions, levels], np.uint64)
        self._best, self._best_cell = np.zeros((n, m)), np.full(n, -1)
        self._spent, self._committed = np.zeros(n), np.zeros(n)
        self._count, self._open = np.zeros(n, np.int64), np.ones(n, bool)
        self._workers = VectorWorkers(n, p.workers, 5)  # row, index of the action, first cell, level, level reached
        self._observations = p.templates.take(np.full(n, p.rows), axis=0)

    def _start(self, index: npt.NDArray[np.intp], keys: draws.Keys, options: dict[str, Any] | None) -> None:
        p = self.params
        if self._view is not None:
            self._view[index] = p.view.rows_many(keys, p.rows)
        self._floor = self._floor.copy()  # masks of earlier steps read the old array
        self._best[index], self._best_cell[index] = p.low, -1
        for array in (self._trained, self._floor, self._spent, self._committed, self._count):
            array[index] = 0
        self._lowest[index], self._open[index] = p.actions, True
        self._history.restart(index)
        self._workers.reset(index)
        self._observations[index] = p.templates[-1]

    def _advance(self, actions: npt.NDArray[np.int64]) -> tuple[Any, npt.NDArray[np.bool_], Info]:
        indices, levels = actions
        rows = indices if self._view is None else self._view[self._index, indices]
        if self.params.workers > 1:
            return self._advance_workers(indices, rows, levels)
        base, reached, cost = self._submit(ALL, indices, rows, levels)
        self._count += 1
        rewards, info = self._complete(ALL, rows, base, levels, reached, cost)
        over = self.budget - self._spent <= self.params.rest
        over |= self._count >= self._limit
        over |= self._floor == len(self.params.levels)
        return rewards, over, info

    def _advance_workers(self, indices: Any, rows: Any, levels: Any) -> tuple[Any, npt.NDArray[np.bool_], Info]:
        n, workers = self.num_envs, self._workers
        i = np.flatnonzero(self._open)
        start = workers.free(i, rows[i])
        base, reached, cost = self._submit(i, indices[i], rows[i], levels[i])
        workers.submit(i, np.stack([rows[i], indices[i], base, levels[i], reached], axis=1), start, cost)
        self._committed[i] += cost
        self._count[i] += 1
        self._open = (self.budget - self._committed > self.params.rest) & (self._count < self._limit)
        self._open &= self._floor < len(self.params.levels)
        j, job, cost = workers.next(~self._open)
        row, index, base, level, reached = job.T
        part, found = self._complete(j, row, base, level, reached, cost)
        rewards = np.zeros((n, *part.shape[1:]))
        rewards[j] = part
        action, finished = np.stack([indices, levels], axis=1), np.zeros(n, bool)
        action[j], finished[j] = np.stack([index, level], axis=1), True
        info = scatter(found, j, n) | {"finished": finished, "action": action, "clock": workers.clock.copy()}
        return rewards, ~self._open & ~workers.busy, info

    def _submit(self, i: Any, indices: Any, rows: Any, levels: Any) -> tuple[Any, Any, Any]:
        """Record trainings in the episodes at `i`, as `CurvesEnv._submit` does, one per episode.

        Returns:
            Index of the first cell of each run, level that it reached, and cost of the new training, each (k,).
        """
        p, whole = self.params, len(self.params.levels)
        runs = rows
        if p.repeats > 1:
            drawn = draws.below_many(draws.mix_many(self._keys[i], rows), p.count.take(rows))
            runs = rows * p.repeats + drawn
        base, last = runs * whole, p.ends.take(runs)
        flat, at = self._trained.reshape(-1), self._first[i] + indices
        trained = flat.take(at).astype(np.int64)
        before = np.minimum(trained - 1, last)
        reached = np.maximum(before, np.minimum(levels, last))
        new = reached > before
        if p.cost_unit == "evaluations":
            cost = new.astype(np.float64)
        else:
            paid = np.where(before < 0, 0.0, p.costs.take(base + np.maximum(before, 0)))
            cost = np.where(new, p.costs.take(base + reached) - paid, 0.0)
        ended = reached == last
        flat[at] = np.where(ended, whole, reached + 1).astype(flat.dtype)  # half the time of a write that casts
        cleared = np.full(self.num_envs, p.actions)  # where nothing ends: a flag that the mask does not read
        cleared[i] = np.where(ended, indices, p.actions)
        self._history.clear(cleared)
        self._lowest[i] -= new & (trained == self._floor[i])
        if not self._lowest.all():
            self._raise_floor(np.flatnonzero(self._lowest == 0))
        return base, reached, cost

    def _raise_floor(self, i: npt.NDArray[np.intp]) -> None:
        """Recompute the lowest checkpoint of the rows of the episodes at `i`, and how many rows are at it."""
        trained = self._trained[i]
        self._floor = self._floor.copy()
        self._floor[i] = floor = trained.min(axis=1)
        self._lowest[i] = (trained == floor[:, None]).sum(axis=1)

    def _complete(self, i: Any, rows: Any, base: Any, levels: Any, reached: Any, cost: Floats) -> tuple[Any, Info]:
        """Complete trainings, as `CurvesEnv._complete`, in the episodes at `i`; return their rewards and info."""
        p, at, m = self.params, self.params.cost_at, len(self.params.low)
        rewards, shares, info = p.answer(rows, base + levels)
        peak = p.peaks.take(base + reached, axis=0)
        if p.held_out:
            better = peak[:, 0] > self._best[i, 0]
            better |= self._best_cell[i] < 0
            self._best_cell[i] = np.where(better, base + reached, self._best_cell[i])
        self._best[i] = best = np.maximum(self._best[i], peak)
        self._spent[i] = spent = self._spent[i] + cost
        seen = p.templates.take(rows, axis=0)
        seen[:, at - m - 1], seen[:, at] = shares, np.minimum(cost, COST_HIGH)
        seen[:, at - m : at] = np.maximum(np.minimum(rewards, p.high), p.low)
        seen[:, at + 1 : -1], seen[:, -1] = best, np.maximum(1.0 - spent / self.budget, 0.0)
        self._observations[i] = seen
        info |= {"cost": cost, "reached": reached, "best": peak if p.vector else peak[:, 0]}
        if self._view is not None:
            info["row"] = rows.copy()
        return rewards if p.vector else rewards[:, 0], info

    def _check_actions(self, actions: Any) -> npt.NDArray[np.int64]:
        """Return (2, num_envs) indices of configurations and levels, in a new array; ValueError if invalid."""
        return check_ints(actions, (self.num_envs, 2), self._limits).T.copy()

    def _snapshot(self) -> Callable[[], npt.NDArray[np.bool_]]:
        return functools.partial(_open_parts, self._history.snapshot(), self._floor, len(self.params.levels))

    @property
    def total_cost(self) -> Floats:
        """(num_envs,) simulated cost of all completed trainings in each episode, in `cost_unit`."""
        return self._spent.copy()

    @property
    def best_held_out(self) -> dict[str, Floats]:
        """(num_envs,) held-out metrics at each episode's best first objective, by name; NaN before any evaluation."""
        found = self.params.peak_hidden[np.maximum(self._best_cell, 0)]
        found = np.where(self._best_cell[:, None] < 0, np.nan, found)
        return {name: found[:, j] for j, name in enumerate(self.params.held_out)}


def _open_parts(
    rows: Callable[[], npt.NDArray[np.bool_]], floor: npt.NDArray[np.int64], levels: int
) -> npt.NDArray[np.bool_]:
    """Return (n, actions + levels) bool: rows not fully trained, then checkpoints that some row has not reached.

    When nothing is left to train, all are True, because a mask without a True would break samplers.
    """
    mask = rows()
    mask[:, -levels:] = np.arange(levels) >= floor[:, None]
    mask[floor == levels] = True
    return mask

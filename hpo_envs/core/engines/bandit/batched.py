"""Vectorized bandit environments: pulls, moments, simulated workers and observations of all episodes at once."""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from hpo_envs.core.engines.bandit.params import BanditParams
from hpo_envs.core.engines.workers import VectorWorkers
from hpo_envs.core.env import HPOVectorEnv
from hpo_envs.core.infos import ALL, Info, InfoColumn, scatter
from hpo_envs.core.params import check_ints
from hpo_envs.tables import draws


class BanditVectorEnv(HPOVectorEnv):
    """Vectorized `BanditEnv`, without a loop over its episodes."""

    params: BanditParams

    def __init__(self, num_envs: int, params: BanditParams, *args: Any, **kwargs: Any) -> None:
        super().__init__(num_envs, params, *args, **kwargs)
        p = params
        self._batched = len(p.action_space.shape or ()) > 0
        k, n = self.num_envs, p.actions
        self._arms, self._left = n, np.full(k, p.budget)
        self._limit = np.uint64(n)
        self._view = None if p.view.whole else np.zeros((k, n), np.int64)
        self._counts = np.zeros((k, n), np.min_scalar_type(int(p.budget) + p.batch))  # small: it stays in cache
        self._means, self._squares = np.zeros((2, k, n))
        self._first, self._shown_first = self._index * n, self._index * (3 * n + 3)
        self._workers = VectorWorkers(k, p.workers, 1)
        self._seen = np.zeros((k, 3 * n + 3), np.float32)
        self._shown = np.empty_like(self._seen)
        self._ok = np.full(k, "ok").view(InfoColumn)

    def _snapshot(self) -> Callable[[], npt.NDArray[np.bool_]]:
        return lambda: np.ones(self._counts.shape, bool)

    def _start(self, index: npt.NDArray[np.intp], keys: draws.Keys, options: dict[str, Any] | None) -> None:
        n, p = self._arms, self.params
        if self._view is not None:
            self._view[index] = p.view.rows_many(keys, len(p.table))
        self._left[index] = self.budget
        self._counts[index] = self._means[index] = self._squares[index] = 0
        self._workers.reset(index)
        self._seen[index] = 0.0
        self._seen[np.ix_(index, np.r_[n : 2 * n, 3 * n])] = p.low
        self._seen[index, -1] = 1.0

    def _advance(self, actions: npt.NDArray[np.int64]) -> tuple[Any, npt.NDArray[np.bool_], Info]:
        p, k = self.params, self.num_envs
        at: Any = ALL
        noted: Info = {}
        if p.workers > 1:
            at, actions, noted = self._schedule(actions[:, 0])
        rows = actions if self._view is None else self._view[self._index[at][:, None], actions]
        part, scores = self._evaluate(at, actions, rows)
        found: Info = {"cost": np.full(len(part), float(p.batch)), "metrics": dict(zip(p.names, part.T, strict=True))}
        if self._view is not None:
            found["row"] = rows if self._batched else rows[:, 0]
        if self._batched:
            found["scores"] = scores
        rewards = p.sign * part[:, p.column]
        if at is not ALL:
            found, rewards = scatter(found, at, k), scatter(rewards, at, k)
        found |= {"status": self._ok.copy(), "status_code": np.zeros(k, np.int64), **noted}
        return rewards, self._left < p.batch, found

    def _schedule(self, arm: npt.NDArray[np.int64]) -> tuple[Any, Any, Info]:
        """Submit as `BanditEnv._schedule`; return m indices of episodes with results, (m, 1) arms, `info` entries."""
        workers = self._workers
        at = np.flatnonzero(workers.submitted < self.budget)
        rows = arm[at] if self._view is None else self._view[at, arm[at]]
        workers.submit(at, arm[at, None], workers.clock[at], self.params.durations[rows])
        back, done, _ = workers.next(workers.submitted >= self.budget)
        action, finished = arm.copy(), np.zeros(self.num_envs, bool)
        action[back], finished[back] = done[:, 0], True
        return back, done, {"finished": finished, "action": action, "clock": workers.clock.copy()}

    def _evaluate(self, at: Any, actions: npt.NDArray[np.int64], rows: npt.NDArray[np.int64]) -> tuple[Any, Any]:
        """Pull (m, batch) arms in m episodes and update their observations.

        Returns:
            (m, metrics) means over the batch, and (m, batch) rewards of the pulls, None if actions are single arms.
        """
        p, n, counts = self.params, self._arms, self._counts.reshape(-1)
        total: Any = None
        scores = []
        for j in range(p.batch):  # over the batch, not over the episodes: a batch may pull an arm twice
            cell = self._first[at] + actions[:, j]
            count = counts.take(cell)
            pulled = p.arms.pull_many(self._keys[at], rows[:, j], count)
            count += 1
            counts[cell] = count
            scores.append(p.sign * pulled[:, p.column])
            self._add(cell, self._shown_first[at] + actions[:, j], count, scores[-1])
            total = pulled if total is None else total + pulled  # from left to right, as the scalar form adds
        if p.batch > 1:
            total /= p.batch
        self._left[at] = left = self._left[at] - p.batch
        share = np.maximum(left, 0.0)
        share /= self.budget
        for j, values in enumerate((p.sign * total[:, p.column], p.batch, share)):
            self._seen[at, 3 * n + j] = values
        return total, np.stack(scores, axis=1) if self._batched else None

    def _add(self, cell: Any, shown: Any, count: npt.NDArray[np.int64], score: npt.NDArray[np.float64]) -> None:
        """Update moments at (m,) flat indices `cell` (Welford), and observations at `shown` in three steps of n."""
        means, squares, number = self._means.reshape(-1), self._squares.reshape(-1), count.astype(np.float64)
        mean, square, seen, n = means.take(cell), squares.take(cell), self._seen.reshape(-1), self._arms
        delta = score - mean
        mean += delta / number
        delta *= score - mean
        square += delta
        means[cell], squares[cell] = mean, square
        for j, values in enumerate((number / self.budget, mean, np.sqrt(square / number))):
            seen[shown + j * n] = values.astype(np.float32)  # half the time of a write that casts

    def _observe(self) -> npt.NDArray[np.float32]:
        if self.copy:
            return self._seen.copy()
        np.copyto(self._shown, self._seen)
        return self._shown

    def _check_actions(self, actions: Any) -> npt.NDArray[np.int64]:
        shape = (self.num_envs, self.params.batch) if self._batched else (self.num_envs,)
        return check_ints(actions, shape, self._limit).reshape(self.num_envs, -1)

"""FIESTA, batched (Moss et al. 2019)."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium.spaces import MultiDiscrete
from gymnasium.vector import AutoresetMode

from hpo_envs.core.env import HPOVectorEnv, Info, provenance_info
from hpo_envs.engines.bandit.params import Setting
from hpo_envs.tables import draws


class FIESTAVectorEnv(HPOVectorEnv):
    """`FIESTAEnv` for many episodes side by side.

    Args:
        num_envs: Number of episodes.
        task: See `FIESTAEnv`, like `kwargs`.
        autoreset_mode: `NEXT_STEP`, `SAME_STEP` or `DISABLED`.
        copy: False reuses the observation array.
        **kwargs: Arguments of `FIESTAEnv`.
    """

    reward_dim = 1

    def __init__(
        self,
        num_envs: int = 1,
        task: str = "tdsa8",
        *,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        copy: bool = True,
        **kwargs: Any,
    ) -> None:
        s = self._s = Setting(task, **kwargs)
        super().__init__(num_envs, s.observation_space, s.action_space, autoreset_mode, copy)
        self.table, self.cost_unit, self.budget = s.table, "evaluations", s.budget
        self.objectives, self.reward_bounds = (s.names[s.objective],), np.array([[s.low, s.high]])
        self._batched = isinstance(s.action_space, MultiDiscrete)
        k, n = self.num_envs, s.arms.arms
        self._keys, self._left = np.zeros(k, np.uint64), np.full(k, s.budget)
        self._counts, self._means, self._squares = np.zeros((k, n), np.int64), np.zeros((k, n)), np.zeros((k, n))
        self._clock, self._submitted = np.zeros(k), np.zeros(k, np.int64)
        self._finish, self._job = np.full((k, s.workers), np.inf), np.zeros((k, s.workers, 2), np.int64)
        self._seen = np.zeros((k, 3 * n + 3), np.float32)
        self._shown = np.empty_like(self._seen)
        self._names = {key: np.array([v] * k, dtype=object) for key, v in provenance_info(s.table).items()}

    def action_masks(self) -> npt.NDArray[np.bool_]:
        """(num_envs, arms) bool, all True."""
        if self._batched:
            raise AttributeError("action_masks: there is no useful mask of a batch")
        return np.ones(self._counts.shape, bool)

    def _start(self, index: npt.NDArray[np.intp], keys: draws.Keys, options: dict[str, Any] | None) -> Info:
        n = self._s.arms.arms
        self._keys[index], self._left[index] = keys, self.budget
        self._counts[index], self._means[index], self._squares[index] = 0, 0.0, 0.0
        self._clock[index], self._submitted[index], self._finish[index] = 0.0, 0, np.inf
        self._seen[index] = 0.0
        self._seen[np.ix_(index, np.r_[n : 2 * n, 3 * n])] = self._s.low
        self._seen[index, -1] = 1.0
        return {key: value[index] for key, value in self._names.items()}

    def _advance(self, actions: npt.NDArray[np.int64]) -> tuple[Any, npt.NDArray[np.bool_], Info]:
        k, at = self.num_envs, self._index
        said: Info = {}
        if self._s.workers > 1:
            at, actions, said = self._schedule(actions[:, 0])
        part, scores = self._evaluate(at, actions)
        values, rewards, cost = np.zeros((k, len(self._s.names))), np.zeros(k), np.zeros(k)
        values[at], cost[at] = part, float(self._s.batch)
        rewards[at] = self._s.sign * part[:, self._s.objective]
        info: Info = {
            "cost": cost,
            "metrics": {name: values[:, j].copy() for j, name in enumerate(self._s.names)},
            "status": np.full(k, "ok", dtype=object),
            **said,
        }
        if self._batched:
            info["scores"] = scores
        return rewards, self._left < self._s.batch, info

    def _schedule(self, arm: npt.NDArray[np.int64]) -> tuple[Any, Any, Info]:
        """`FIESTAEnv._schedule` for all: who gets a result, (m, 1) of which arms, and what to say."""
        at = np.flatnonzero(self._submitted < self.budget)
        slot = np.isinf(self._finish[at]).argmax(axis=1)  # between two steps a worker is idle
        self._finish[at, slot] = self._clock[at] + self._s.durations[arm[at]]
        self._job[at, slot] = np.stack([self._submitted[at], arm[at]], axis=1)
        self._submitted[at] += 1
        busy = np.isfinite(self._finish)
        back = np.flatnonzero(busy.any(axis=1) & ((self._submitted >= self.budget) | busy.all(axis=1)))
        first = self._finish[back].min(axis=1)
        # Evaluations that finish together come back in the order of their submission.
        order = np.where(self._finish[back] == first[:, None], self._job[back, :, 0], np.iinfo(np.int64).max)
        slot = order.argmin(axis=1)
        self._clock[back], self._finish[back, slot] = first, np.inf
        action, finished = arm.copy(), np.zeros(self.num_envs, bool)
        action[back], finished[back] = self._job[back, slot, 1], True
        return back, action[back, None], {"finished": finished, "action": action, "clock": self._clock.copy()}

    def _evaluate(self, at: Any, actions: npt.NDArray[np.int64]) -> tuple[Any, Any]:
        """Evaluates (m, batch) arms in the episodes `at`; returns (m, metrics) means and (m, batch) scores."""
        s, n = self._s, self._s.arms.arms
        pulls = np.empty((len(at), s.batch, len(s.names)))
        for j in range(s.batch):  # over the batch, not over the episodes: a batch may pull an arm twice
            arm = actions[:, j]
            pulls[:, j] = s.arms.pull_many(self._keys[at], arm, self._counts[at, arm])
            self._add(at, arm, s.sign * pulls[:, j, s.objective])
        values = _ordered_sum(pulls) / s.batch
        self._left[at] -= s.batch
        self._seen[at, 3 * n] = s.sign * values[:, s.objective]
        self._seen[at, 3 * n + 1] = s.batch
        self._seen[at, 3 * n + 2] = np.maximum(self._left[at], 0.0) / self.budget
        return values, s.sign * pulls[:, :, s.objective]

    def _add(self, at: Any, arm: npt.NDArray[np.int64], score: npt.NDArray[np.float64]) -> None:
        n = self._s.arms.arms
        self._counts[at, arm] = count = self._counts[at, arm] + 1
        mean = self._means[at, arm]
        delta = score - mean
        self._means[at, arm] = mean = mean + delta / count
        self._squares[at, arm] = squares = self._squares[at, arm] + delta * (score - mean)
        self._seen[at, arm] = count / self.budget
        self._seen[at, n + arm] = mean
        self._seen[at, 2 * n + arm] = np.sqrt(squares / count)

    def _observe(self) -> npt.NDArray[np.float32]:
        if self.copy:
            return self._seen.copy()
        np.copyto(self._shown, self._seen)
        return self._shown

    def _check_actions(self, actions: Any) -> npt.NDArray[np.int64]:
        array, n = np.asarray(actions), self._s.arms.arms
        shape = (self.num_envs, self._s.batch) if self._batched else (self.num_envs,)
        if array.shape != shape or array.dtype.kind not in "iu":
            raise ValueError(f"actions must be ints of shape {shape}, got shape {array.shape} and dtype {array.dtype}")
        array = array.astype(np.int64, copy=False).reshape(self.num_envs, -1)
        outside = (array < 0) | (array >= n)
        if outside.any():
            raise ValueError(f"actions must be ints in [0, {n}), got {int(array[outside][0])}")
        return array


def _ordered_sum(pulls: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Sum over axis 1 from left to right, as the scalar form adds."""
    total = np.zeros((pulls.shape[0], pulls.shape[2]))
    for j in range(pulls.shape[1]):
        total += pulls[:, j]
    return total

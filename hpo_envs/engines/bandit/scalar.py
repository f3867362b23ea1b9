"""Bandit environments: one action pulls an arm, a model whose score is random, or a batch of arms."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from hpo_envs.core.env import HPOEnv
from hpo_envs.core.infos import STATUS_CODES, Info, numeric
from hpo_envs.core.loading import provenance_info
from hpo_envs.core.params import unmasked
from hpo_envs.engines.bandit.params import BanditParams
from hpo_envs.engines.workers import Workers


class BanditEnv(HPOEnv):
    """One step evaluates a model, or a batch of them."""

    params: BanditParams

    def __init__(self, params: BanditParams, render_mode: str | None = None) -> None:
        super().__init__(params, render_mode)
        self._arms = params.actions
        self._batched = len(params.action_space.shape or ()) > 0
        self._view: list[int] | None = None
        self._parallel, self._cost = params.workers > 1, np.float64(params.batch)
        self._every = np.ones(self._arms, np.int8)
        self._last = 3 * self._arms  # where the last reward is observed; cost and budget left follow

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, Info]:
        """Starts an episode; `options` are not used."""
        super().reset(seed=seed, options=options)
        self._new_key(seed)
        n, p = self._arms, self.params
        self._view = None if p.view.whole else self.rows.tolist()
        self._counts, self._means, self._squares = [0] * n, [0.0] * n, [0.0] * n
        self._left = self.budget
        self._workers = Workers(p.workers)
        self._observation = np.zeros(3 * n + 3, np.float32)
        self._observation[n : 2 * n] = self._observation[3 * n] = p.low[0]
        self._observation[-1] = 1.0
        info = provenance_info(self.tables)
        if not self._batched:
            info["action_mask"] = self._every.copy()
        return self._observation.copy(), info

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, Info]:
        """Evaluates a model, or a batch of them."""
        arms = self._check(action)
        if not self._live:
            raise self._not_live()
        if not self._parallel:
            return self._evaluate(arms, {})
        arm, said = self._schedule(arms[0])
        if arm is None:
            return self._observation.copy(), 0.0, False, False, said
        return self._evaluate([arm], said)

    def _schedule(self, arm: int) -> tuple[int | None, Info]:
        """Submits an evaluation; returns the arm whose evaluation comes back now, if any, and what to say."""
        workers = self._workers
        if workers.submitted < self.budget:
            workers.submit(
                (arm,), workers.clock, float(self.params.durations[arm if self._view is None else self._view[arm]])
            )
            if workers.submitted < self.budget and workers.idle:
                said: Info = {"cost": 0.0, "finished": False, "action": arm, "clock": workers.clock}
                return None, numeric(said) | {"action_mask": self._every.copy()}
        (done,) = workers.next()
        return done, numeric({"finished": True, "action": done, "clock": workers.clock})

    def _evaluate(self, arms: list[int], said: Info) -> tuple[Any, Any, bool, bool, Info]:
        p, view = self.params, self._view
        pulls = []
        for arm in arms:
            metrics = p.arms.pull(self._key, arm if view is None else view[arm], self._counts[arm])
            pulls.append(metrics)
            self._add(arm, p.sign * metrics[p.column])
        batch = len(arms)
        values = [v + 0.0 for v in metrics] if batch == 1 else [_mean(column) for column in zip(*pulls, strict=True)]
        reward = p.sign * values[p.column]
        self._left = left = self._left - batch
        terminated = left < p.batch
        if terminated:
            self._live = False
        shown, last = self._observation, self._last
        shown[last], shown[last + 1], shown[last + 2] = reward, batch, left / self.budget
        said_of = dict(zip(p.names, map(np.float64, values), strict=True))
        info: Info = {"cost": self._cost, "metrics": said_of, "status": "ok", "status_code": STATUS_CODES["ok"], **said}
        if view is not None:
            info["row"] = np.array([view[arm] for arm in arms]) if self._batched else np.int64(view[arms[0]])
        if self._batched:
            info["scores"] = np.array([p.sign * pull[p.column] for pull in pulls])
        else:
            info["action_mask"] = self._every.copy()
        return shown.copy(), reward, terminated, False, info

    def _masks(self) -> npt.NDArray[np.bool_]:
        """(arms,) bool, all True: pulling an arm again is the point."""
        return np.ones(self._arms, bool)

    def _check(self, action: Any) -> list[int]:
        n = self._arms
        if (type(action) is int or type(action) is np.int64) and not self._batched and 0 <= action < n:
            return [int(action)]
        array = np.asarray(unmasked(action))
        shape = (self.params.batch,) if self._batched else ()
        if array.shape != shape or array.dtype.kind not in "iu":
            form = f"{self.params.batch} ints" if self._batched else "an int"
            raise ValueError(f"action must be {form} in [0, {n}), got {action!r}")
        arms: list[int] = array.reshape(-1).tolist()
        if min(arms) < 0 or max(arms) >= n:
            raise ValueError(f"action must be in [0, {n}), got {action!r}")
        return arms

    def _add(self, arm: int, score: float) -> None:
        """Welford's update of an arm's moments, and the observation of them."""
        n = self._arms
        self._counts[arm] = count = self._counts[arm] + 1
        delta = score - self._means[arm]
        self._means[arm] = mean = self._means[arm] + delta / count
        self._squares[arm] = squares = self._squares[arm] + delta * (score - mean)
        shown = self._observation
        shown[arm], shown[n + arm], shown[2 * n + arm] = count / self.budget, mean, math.sqrt(squares / count)


def _mean(values: Sequence[float]) -> float:
    total = 0.0
    for v in values:
        total += v
    return total / len(values)

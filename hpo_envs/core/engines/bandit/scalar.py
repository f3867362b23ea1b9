"""One bandit episode: `reset`, `step`, pulls of arms, simulated workers, `info`, termination, observation."""

import functools
import math
import operator
from typing import Any

import numpy as np
import numpy.typing as npt

from hpo_envs.core.engines.bandit.arms import DrawBuffer
from hpo_envs.core.engines.bandit.batched import BanditVectorEnv
from hpo_envs.core.engines.bandit.params import BanditParams
from hpo_envs.core.engines.workers import Workers
from hpo_envs.core.env import HPOEnv
from hpo_envs.core.infos import STATUS_CODES, Info, numeric, provenance_info
from hpo_envs.core.params import check_action

_FLOAT, _INT, _OK = np.float64, np.int64, STATUS_CODES["ok"]


class BanditEnv(HPOEnv):
    """Environment whose steps evaluate a model with random scores, or a batch of models."""

    params: BanditParams
    batched = BanditVectorEnv

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        params = self.params
        self._arms = params.actions
        self._batched = len(params.action_space.shape or ()) > 0
        self._limits = [self._arms] * params.batch if self._batched else self._arms
        self._view: list[int] | None = None
        self._parallel, self._batch, self._cost = params.workers > 1, float(params.batch), np.float64(params.batch)
        self._every = np.ones(self._arms, np.int8)
        self._last = 3 * self._arms  # where the last reward is observed; cost and budget left follow

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, Info]:
        """Start an episode; `options` must be None or empty."""
        super().reset(seed=seed, options=options)
        self._new_key(seed)
        n, p = self._arms, self.params
        self._view = None if p.view.whole else self.rows.tolist()
        self._ahead = DrawBuffer(p.arms, self._key)
        self._moments = [(0.0, 0.0, 0.0)] * n  # how often pulled, mean, sum of squares
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
        """Evaluate a model or a batch; with several workers, submit a model, and return a result once none is idle.

        ValueError if the action is outside the space, ResetNeeded if no episode is running.
        """
        several = self._batched
        arm = int(action) if type(action) is _INT else action  # comparisons of NumPy's numbers take longer
        if several or type(arm) is not int or not 0 <= arm < self._arms:
            arms = check_action(action, self._limits)
            arm = arms[0]
        if not self._live:
            raise self._not_live()
        noted: Info | None = None
        if self._parallel:
            done, noted = self._schedule(arm)
            if done is None:
                return self._observation.copy(), 0.0, False, False, noted
            arm = done
        p, view, pulls = self.params, self._view, self._batch
        if several:
            values, scores = self._pull_all(arms)
        else:
            values = self._pull(arm)
        reward = p.sign * values[p.column]
        self._left = left = self._left - pulls
        terminated = left < pulls
        if terminated:
            self._live = False
        shown, last = self._observation, self._last
        shown[last] = reward
        shown[last + 1] = pulls
        shown[last + 2] = left / self.budget
        metrics = {}
        for name, value in zip(p.names, values):  # noqa: B905 (a keyword takes longer than the loop)
            metrics[name] = _FLOAT(value)
        info: Info = {"cost": self._cost, "metrics": metrics, "status": "ok", "status_code": _OK}
        if noted is not None:
            info |= noted
        if view is not None:
            info["row"] = np.array(view)[arms] if several else _INT(view[arm])
        if several:
            info["scores"] = scores
        else:
            info["action_mask"] = self._every.copy()
        return shown.copy(), reward, terminated, False, info

    def _schedule(self, arm: int) -> tuple[int | None, Info]:
        """Submit an evaluation within the budget; return the arm that completes now, or None, and entries of `info`."""
        workers = self._workers
        if workers.submitted < self.budget:
            workers.submit(
                (arm,), workers.clock, float(self.params.durations[arm if self._view is None else self._view[arm]])
            )
            if workers.submitted < self.budget and workers.idle:
                noted: Info = {"cost": 0.0, "finished": False, "action": arm, "clock": workers.clock}
                return None, numeric(noted) | {"action_mask": self._every.copy()}
        (done,) = workers.next()
        return done, numeric({"finished": True, "action": done, "clock": workers.clock})

    def _masks(self) -> npt.NDArray[np.bool_]:
        """Return an (arms,) bool mask that is all True, because every pull is useful."""
        return np.ones(self._arms, bool)

    def _pull_all(self, arms: list[int]) -> tuple[list[float], npt.NDArray[np.float64]]:
        """Pull a batch of arms; return the mean of each metric over the batch, and (batch,) rewards of the pulls."""
        p, pulls = self.params, [self._pull(arm) for arm in arms]
        scores = np.array([p.sign * pull[p.column] for pull in pulls])
        totals = (functools.reduce(operator.add, column) for column in zip(*pulls, strict=True))  # from left to right
        return [total / len(pulls) for total in totals], scores

    def _pull(self, arm: int) -> list[float]:
        """Pull an arm, update its moments (Welford), also in the observation, and return the metrics."""
        p, n, view = self.params, self._arms, self._view
        row = arm if view is None else view[arm]
        metrics = (self._ahead.get(row) or self._ahead.draw(row)).pop()
        score = p.sign * metrics[p.column]
        count, mean, squares = self._moments[arm]
        count += 1.0
        delta = score - mean
        mean += delta / count
        squares += delta * (score - mean)
        self._moments[arm] = count, mean, squares
        shown = self._observation
        shown[arm] = count / self.budget
        shown[n + arm] = mean
        shown[2 * n + arm] = math.sqrt(squares / count)
        return metrics

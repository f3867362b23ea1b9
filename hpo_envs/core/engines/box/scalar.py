"""One episode on a box: `reset`, `step`, clipped actions, keys of `info`, termination."""

from typing import Any

import numpy as np

from hpo_envs.core.engines.box.batched import BoxVectorEnv
from hpo_envs.core.engines.box.params import BoxParams
from hpo_envs.core.env import HPOEnv
from hpo_envs.core.infos import STATUS_CODES, Info, entry, provenance_info
from hpo_envs.core.params import check_box
from hpo_envs.tables import draws


class BoxEnv(HPOEnv):
    """Environment whose actions set each hyperparameter by a number in [-1, 1]; a function evaluates configurations.

    ## Action Space
    A number beyond a bound is set to the bound, as in Gymnasium's own environments, and `info["clipped"]` is True; NaN
    and other shapes raise `ValueError`.

    ## Observation Space
    `Box`, float32. With d hyperparameters, m objectives and f facts of the task:

    | index | content | range |
    |---|---|---|
    | 0 to d - 1 | last action | -1 to 1 |
    | d to d + m - 1 | its reward(s) | bounds of the metric, negative if lower is better |
    | d + m | its cost | 0 to 1 evaluation, or 0 to the bound of the cost |
    | d + m + 1 to d + 2m | best reward(s) so far, per objective | as the reward |
    | d + 2m + 1 to d + 2m + f | facts of the task | 0 to 1 |
    | d + 2m + f + 1 | fraction of the budget left | 0 to 1 |

    ## Starting State
    Nothing evaluated: last action 0, reward(s) at the lower bound, full budget.

    ## Episode End
    Terminated when the budget is used up (the evaluation that exceeds it still counts). Never truncated by itself.

    ## Information
    At reset: `table`, `kind` (`measured` or `surrogate`), `sha256` of the table. At each step also: `clipped` (bool,
    whether a number of the action was outside [-1, 1] and set to the bound).
    """

    params: BoxParams
    batched = BoxVectorEnv

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, Info]:
        """Start an episode on a random task among those that `options` allow; ValueError if they are invalid."""
        super().reset(seed=seed, options=options)
        p = self.params
        among = p.function.choose(options)
        self._table_index = int(among[draws.below(draws.mix(self._new_key(seed), 0), len(among))])
        self._tasks = np.array([self._table_index])
        self._left, self._best, self._seen = p.budget, p.low, p.first(self._tasks)
        info = {**provenance_info(self.tables, self._table_index), **p.function.labels[self._table_index]}
        return self._seen[0].copy(), info

    def _config(self, action: Any) -> dict[str, Any]:
        function, task = self.params.function, self._table_index
        point = check_box(action, self.params.action_space.shape, "action")[0]
        return function.config(task, function.evaluate(np.array([task]), point[None]).configs[0].tolist())

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, Info]:
        """Evaluate a configuration; numbers beyond a bound are clipped to it.

        ValueError unless the action consists of d numbers without NaN; ResetNeeded if no episode is running.
        """
        p = self.params
        if not self._live:
            raise self._not_live()
        point, clipped = check_box(action, p.action_space.shape, "action")
        points = point[None]
        rewards, costs, answer = p.evaluate(self._tasks, points)
        self._best = np.maximum(self._best, rewards[0])
        self._left -= float(costs[0])
        self._live = self._left > p.rest
        p.observe(self._seen, points, rewards, costs, self._best, self._left)
        info: Info = {"cost": costs[0], "metrics": entry(answer.metrics)}
        if answer.held_out is not None:
            info["held_out"] = entry(answer.held_out)
        info["config"] = p.function.config(self._table_index, answer.configs[0].tolist())
        info |= {"status": "ok", "status_code": STATUS_CODES["ok"], "clipped": clipped[()]}
        return self._seen[0].copy(), rewards[0] if p.vector else float(rewards[0, 0]), not self._live, False, info

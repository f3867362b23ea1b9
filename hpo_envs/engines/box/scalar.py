"""The scalar form of an environment on a box."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from hpo_envs.core import boxes
from hpo_envs.core.env import HPOEnv
from hpo_envs.core.infos import STATUS_CODES, Info
from hpo_envs.core.loading import provenance_info
from hpo_envs.engines.box.params import BoxParams
from hpo_envs.tables import draws


class BoxEnv(HPOEnv):
    """An action sets every hyperparameter by a number in [-1, 1]; a function answers it.

    ## Action Space
    A number beyond a bound is set to the bound, as in Gymnasium's own environments, and `info["clipped"]` says so; NaN
    and other shapes are refused.

    ## Observation Space
    `Box`, float32. With d hyperparameters, m objectives and f facts of the task:

    | index | content | range |
    |---|---|---|
    | 0 to d - 1 | last action | -1 to 1 |
    | d to d + m - 1 | its reward(s) | bounds of the metric, negative if lower is better |
    | d + m | its cost | 0 to 1 evaluation, or 0 to the bound of the cost |
    | d + m + 1 to d + 2m | best reward(s) so far, each objective on its own | as the reward |
    | d + 2m + 1 to d + 2m + f | facts of the task | 0 to 1 |
    | d + 2m + f + 1 | budget left, as a share | 0 to 1 |

    ## Episode End
    Terminated when the budget is spent (the evaluation that exceeds it still counts). Never truncated by itself.

    ## Information
    At reset: `table`, `kind` (`measured` or `surrogate`), `sha256` of the table. At each step also: `clipped` (bool,
    whether a number of the action lay outside of [-1, 1] and was set to the bound).
    """

    params: BoxParams

    def action_of(self, config: Any) -> npt.NDArray[np.float32]:
        """(d,) the action that sets a configuration of natural values, in the space of this episode.

        Raises:
            ValueError: No such configuration.
        """
        return self.params.function.action_of(self._table_index, config)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, Info]:
        """Starts an episode on a drawn task; see Starting State for `options`."""
        super().reset(seed=seed, options=options)
        p = self.params
        among = p.function.choose(options)
        self._table_index = int(among[draws.below(draws.mix(self._new_key(seed), 0), len(among))])
        self._left, self._best, self._signs = p.budget, p.low.tolist(), p.signs.tolist()
        self._first = p.first(np.array([self._table_index]))[0]
        self._size = p.action_space.shape[0]
        seen = slice(self._size, self._size + 2 * len(self._best) + 1)
        low, high = p.observation_space.low[seen], p.observation_space.high[seen]
        self._bounds = [*zip(low.tolist(), high.tolist(), strict=True)]
        return self._first.copy(), {
            **provenance_info(self.tables, self._table_index),
            **p.function.labels[self._table_index],
        }

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, Info]:
        """Evaluates one configuration."""
        p = self.params
        if not self._live:
            raise self._not_live()
        point, clipped = boxes.point(action, self._size)
        raw, metrics, held_out = p.function.one(self._table_index, point)
        rewards = [sign * metrics[name] for sign, name in zip(self._signs, p.objectives, strict=True)]
        best = self._best = [r if r > b else b for r, b in zip(rewards, self._best, strict=True)]
        cost = 1.0 if p.cost is None else metrics[p.cost]
        self._left -= cost
        terminated = self._left <= 0.0
        self._live = not terminated
        observation = self._first.copy()
        shown = zip([*rewards, cost, *best], self._bounds, strict=True)
        point += [low if v < low else high if v > high else v for v, (low, high) in shown]
        observation[: len(point)] = point
        observation[-1] = max(self._left, 0.0) / p.budget
        info: Info = {"cost": np.float64(cost), "metrics": {k: np.float64(v) for k, v in metrics.items()}}
        if held_out is not None:
            info["held_out"] = held_out
        info["config"] = p.function.config(self._table_index, raw)
        info |= {"status": "ok", "status_code": STATUS_CODES["ok"], "clipped": clipped}
        return observation, np.array(rewards) if p.vector else rewards[0], terminated, False, info

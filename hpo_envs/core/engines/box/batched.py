"""Vectorized environments on a box, which evaluate all episodes in one call."""

from typing import Any

import numpy as np
import numpy.typing as npt

from hpo_envs.core.engines.box.params import BoxParams
from hpo_envs.core.env import HPOVectorEnv, columns_of
from hpo_envs.core.infos import STATUS_COLUMN, Info
from hpo_envs.core.params import Floats, check_box
from hpo_envs.tables import draws


class BoxVectorEnv(HPOVectorEnv):
    """Vectorized `BoxEnv`, without a loop over its episodes."""

    params: BoxParams

    def __init__(self, num_envs: int, params: BoxParams, *args: Any, **kwargs: Any) -> None:
        super().__init__(num_envs, params, *args, **kwargs)
        self._best = np.tile(params.low, (self.num_envs, 1))
        self._left = np.full(self.num_envs, params.budget)
        self._observations = params.first(self._table_index)
        self._provenance |= columns_of(params.function.labels)

    def _start(self, index: npt.NDArray[np.intp], keys: draws.Keys, options: dict[str, Any] | None) -> None:
        p = self.params
        among = p.function.choose(options)
        tasks = among[draws.below_many(draws.mix_many(keys, 0), len(among))]
        self._table_index[index], self._best[index], self._left[index] = tasks, p.low, p.budget
        self._observations[index] = p.first(tasks)

    def _advance(self, actions: Any) -> tuple[npt.NDArray[Any], npt.NDArray[np.bool_], Info]:
        p = self.params
        points, clipped = actions
        rewards, costs, answer = p.evaluate(self._table_index, points)
        np.maximum(self._best, rewards, out=self._best)
        self._left -= costs
        p.observe(self._observations, points, rewards, costs, self._best, self._left)
        info: Info = {"cost": costs, "metrics": answer.metrics}
        if answer.held_out is not None:
            info["held_out"] = answer.held_out
        codes = np.zeros(self.num_envs, np.int64)
        info |= {"config": p.function.columns(answer.configs), "status": STATUS_COLUMN.take(codes)}
        info |= {"status_code": codes, "clipped": clipped}
        return rewards if p.vector else rewards[:, 0].copy(), self._left <= p.rest, info

    def _check_actions(self, actions: Any) -> tuple[Floats, npt.NDArray[np.bool_]]:
        return check_box(actions, (self.num_envs, *self.params.action_space.shape), "actions")

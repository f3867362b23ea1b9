"""The batched form of an environment on a box: all episodes are answered in one call."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from hpo_envs.core.env import HPOVectorEnv
from hpo_envs.core.infos import Info
from hpo_envs.core.loading import provenance_info
from hpo_envs.core.params import Floats
from hpo_envs.engines.box.params import BoxParams, check_actions
from hpo_envs.tables import draws


class BoxVectorEnv(HPOVectorEnv):
    """`BoxEnv` for many episodes side by side."""

    params: BoxParams

    def __init__(self, num_envs: int, params: BoxParams, *args: Any, **kwargs: Any) -> None:
        super().__init__(num_envs, params, *args, **kwargs)
        self._best = np.tile(params.low, (self.num_envs, 1))
        self._left = np.full(self.num_envs, params.budget)
        self._observations = params.first(self._table_index)

    def action_of(self, config: Any) -> npt.NDArray[np.float32]:
        """(d,) the action that sets a configuration, in the space of the first environment's episode."""
        return self.params.function.action_of(int(self._table_index[0]), config)

    def _start(self, index: npt.NDArray[np.intp], keys: draws.Keys, options: dict[str, Any] | None) -> Info:
        p = self.params
        among = p.function.choose(options)
        tasks = among[draws.below_many(draws.mix_many(keys, 0), len(among))]
        self._table_index[index], self._best[index], self._left[index] = tasks, p.low, p.budget
        self._observations[index] = p.first(tasks)
        entries = [{**provenance_info(p.tables[t]), **p.function.labels[t]} for t in tasks.tolist()]
        return {key: np.array([e[key] for e in entries], dtype=object) for key in entries[0]}

    def _advance(self, actions: Floats) -> tuple[npt.NDArray[Any], npt.NDArray[np.bool_], Info]:
        p = self.params
        rewards, costs, answer = p.evaluate(self._table_index, actions)
        np.maximum(self._best, rewards, out=self._best)
        self._left -= costs
        p.observe(self._observations, actions, rewards, costs, self._best, self._left)
        info: Info = {"cost": costs, "metrics": answer.metrics}
        if answer.held_out:
            info["held_out"] = answer.held_out
        info |= {"config": p.function.columns(answer.configs), "status": np.full(self.num_envs, "ok", dtype=object)}
        return rewards if p.vector else rewards[:, 0].copy(), self._left <= 0.0, info

    def _observe(self) -> npt.NDArray[np.float32]:
        return self._observations.copy() if self.copy else self._observations

    def _check_actions(self, actions: Any) -> Floats:
        return check_actions(actions, (self.num_envs, *self.params.action_space.shape), "actions")

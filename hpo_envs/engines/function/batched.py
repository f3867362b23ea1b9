"""The batched form of an environment on a function: episode after episode, because each step is a call."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from hpo_envs.core.env import HPOVectorEnv
from hpo_envs.core.infos import Info, column
from hpo_envs.engines.function.episode import Episode, check_action
from hpo_envs.engines.function.params import FunctionParams
from hpo_envs.tables import draws


class FunctionVectorEnv(HPOVectorEnv):
    """Vectorized `FunctionEnv`; `info["config"]` and `info["metrics"]` are arrays of dicts."""

    params: FunctionParams

    def __init__(self, num_envs: int, params: FunctionParams, *args: Any, **kwargs: Any) -> None:
        super().__init__(num_envs, params, *args, **kwargs)
        self._states = [Episode(params) for _ in range(self.num_envs)]
        self._observations = np.stack([state.first() for state in self._states])

    def action_of(self, config: Mapping[str, Any]) -> Any:
        """The action of a configuration, see `FunctionParams.action_of`."""
        return self.params.action_of(config)

    def _then(self) -> Callable[[], npt.NDArray[np.bool_]]:
        masks = np.stack([state.mask() for state in self._states]).astype(bool)
        return lambda: masks

    def _start(self, index: npt.NDArray[np.intp], keys: draws.Keys, options: dict[str, Any] | None) -> Info:
        for i in index.tolist():
            self._states[i] = Episode(self.params)
            self._observations[i] = self._states[i].first()
        return self._said(index)

    def _advance(self, actions: list[Any]) -> tuple[npt.NDArray[Any], npt.NDArray[np.bool_], Info]:
        steps: list[Any] = [None] * self.num_envs
        for i, action in enumerate(actions):
            if not (self._any_ended and self._ended[i]):  # what waits for its reset is not called
                steps[i] = self._states[i].step(*action)
        some = next(step for step in steps if step is not None)
        m = len(self.params.objectives)
        rewards = np.zeros((self.num_envs, m) if self.params.vector else self.num_envs)
        terminated = np.zeros(self.num_envs, bool)
        info = {key: _column(value, self.num_envs) for key, value in some[3].items() if key != "action_mask"}
        for i, step in enumerate(steps):
            if step is None:
                continue
            self._observations[i], rewards[i], terminated[i] = step[:3]
            for key, values in info.items():
                values[i] = step[3][key]
        return rewards, terminated, info

    def _observe(self) -> npt.NDArray[np.float32]:
        return self._observations.copy() if self.copy else self._observations

    def _check_actions(self, actions: Any) -> list[Any]:
        if not isinstance(actions, (np.ndarray, list, tuple)) or len(actions) != self.num_envs:
            raise ValueError(f"actions must be {self.num_envs}, one an environment, got {actions!r}")
        try:
            return [check_action(action, self.params) for action in actions]
        except ValueError as error:
            raise ValueError(f"actions: each {error}") from None


def _column(value: Any, n: int) -> npt.NDArray[Any]:
    """An array for n values like this one."""
    return column([None] * n) if isinstance(value, (str, dict)) else np.zeros((n, *np.shape(value)), value.dtype)

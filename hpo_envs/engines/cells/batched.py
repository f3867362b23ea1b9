"""The batched form: episodes side by side, each with its cell, because cells have different sizes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from hpo_envs.core.env import HPOVectorEnv
from hpo_envs.core.infos import Info, column
from hpo_envs.core.params import check_ints
from hpo_envs.engines.cells.params import CellParams, mutate_actions
from hpo_envs.engines.cells.scalar import Episode, mask_of
from hpo_envs.tables import draws
from hpo_envs.tables.cells.grammar import SIZES
from hpo_envs.tables.table import STATUSES


class CellVectorEnv(HPOVectorEnv):
    """`CellEnv` for many episodes side by side."""

    params: CellParams
    mutate = staticmethod(mutate_actions)

    def __init__(self, num_envs: int, params: CellParams, *args: Any, **kwargs: Any) -> None:
        super().__init__(num_envs, params, *args, **kwargs)
        self._runs = [Episode(params, 0) for _ in range(self.num_envs)]
        self._out = np.zeros((self.num_envs, *params.observation_space.shape), np.float32)

    def _then(self) -> Callable[[], npt.NDArray[np.bool_]]:
        nodes = [len(run.nodes) for run in self._runs]
        return lambda: np.stack([mask_of(count) for count in nodes]).astype(bool)

    def _start(self, index: npt.NDArray[np.intp], keys: draws.Keys, options: dict[str, Any] | None) -> Info:
        for i, key in zip(index.tolist(), keys.tolist(), strict=True):
            self._runs[i] = Episode(self.params, key)
        return self._said(index)

    def _advance(self, actions: npt.NDArray[np.int64]) -> tuple[Any, npt.NDArray[np.bool_], Info]:
        done = [run.act(action) for run, action in zip(self._runs, actions.tolist(), strict=True)]
        rewards = np.stack([d[0] for d in done])
        infos = [d[2] for d in done]
        terminated = np.array([d[1] for d in done])
        return rewards if self.params.vector else rewards[:, 0], terminated, _gather(infos)

    def _observe(self) -> npt.NDArray[np.float32]:
        np.stack([run.observation for run in self._runs], out=self._out)
        return self._out.copy() if self.copy else self._out

    def _check_actions(self, actions: Any) -> npt.NDArray[np.int64]:
        return check_ints(actions, (self.num_envs, len(SIZES)), [*SIZES])


def _gather(infos: list[Info]) -> Info:
    """One dict of arrays from a list of dicts."""
    gathered: Info = {}
    for name, first in infos[0].items():
        values = [info[name] for info in infos]
        if isinstance(first, dict):
            gathered[name] = _gather(values)
        elif isinstance(first, str):
            gathered[name] = column(values, STATUSES if name == "status" else ())
        else:
            gathered[name] = np.stack(values) if isinstance(first, np.ndarray) else np.array(values)
    return gathered

"""Vectorized look-up environments: repeats, masks, termination and observations of all episodes at once."""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from hpo_envs.core.engines.lookup.params import LookupParams
from hpo_envs.core.env import HPOVectorEnv
from hpo_envs.core.infos import Info
from hpo_envs.core.params import check_ints
from hpo_envs.core.subsample import ClearedFlags
from hpo_envs.tables import draws

_ZERO = np.array(0.0)
"""Zero as a 0-d array, which is faster than a Python number where few episodes run."""


class LookupVectorEnv(HPOVectorEnv):
    """Vectorized `LookupEnv`, without a loop over its episodes."""

    params: LookupParams

    def __init__(self, num_envs: int, params: LookupParams, *args: Any, **kwargs: Any) -> None:
        super().__init__(num_envs, params, *args, **kwargs)
        p, n = params, self.num_envs
        self._limit, self._whole = p.steps, np.array(p.budget)
        self._sizes = None if p.sizes is None else tuple(p.sizes.tolist())
        self._limits = np.array(self._sizes or (), np.uint64)
        # With a budget of evaluations, not above the limit on steps, the budget alone ends an episode.
        self._counts = p.cost_unit != "evaluations" or p.budget > p.steps
        self._best_at: Any = slice(-1 - len(p.low), -1) if p.vector else -2
        self._most = np.uint64(p.actions)
        self._best = np.tile(p.low, (n, 1)) if p.vector else np.full(n, p.low[0])
        self._left, self._count = np.full(n, self.budget), np.zeros(n, np.int64)
        self._last = np.full(n, len(p.costs), np.int64)
        self._pulls = np.zeros((n, p.actions if p.max_repeats > 1 else 0), np.min_scalar_type(p.steps))
        self._open = ClearedFlags(n, p.actions if self._masked else 0)
        self._action_starts = self._index * p.actions
        self._first_rows: npt.NDArray[np.int64] | None = None  # of each episode's table, where there are several
        self._view = None if p.view.whole else np.zeros((n, p.actions), np.min_scalar_type(p.rows))
        self._observations = np.empty((n, *p.observation_space.shape), np.float32)

    def _snapshot(self) -> Callable[[], npt.NDArray[np.bool_]]:
        """Return a function that returns the (num_envs, actions) masks of the rows that episodes have not evaluated."""
        return self._open.snapshot()

    def _start(self, index: npt.NDArray[np.intp], keys: draws.Keys, options: dict[str, Any] | None) -> None:
        p = self.params
        chosen = p.choose(options)
        self._open.restart(index)
        # A slice writes without an index array: most restarts are of the whole batch.
        at: Any = slice(None) if len(index) == self.num_envs else index
        if len(p.tables) > 1:
            drawn = draws.below_many(draws.mix_many(keys, 0), len(p.tables)) if chosen is None else chosen
            self._table_index[at] = drawn
            self._first_rows = self._table_index * p.rows
        if self._view is not None:
            self._view[at] = p.view.rows_many(keys, p.rows)
        self._best[at] = p.low if p.vector else p.low[0]
        self._left[at] = self.budget
        self._count[at] = 0
        self._last = self._last.copy()  # it may be the actions that `_open` recorded
        self._last[at] = len(p.costs)
        self._pulls[at] = 0

    def _advance(self, actions: npt.NDArray[np.int64]) -> tuple[Any, npt.NDArray[np.bool_], Info]:
        p = self.params
        rows = actions if self._view is None else self._view.take(self._action_starts + actions).astype(np.int64)
        cells = rows if self._first_rows is None else rows + self._first_rows
        if p.max_repeats > 1:
            cells = self._draw(actions, cells)
        if self._masked:
            self._open.clear(actions)
        rewards, info = p.answer(cells)
        np.maximum(self._best, rewards, out=self._best)
        self._left -= info["cost"]
        terminated = self._left <= p.rest
        if self._counts:
            self._count += 1
            terminated |= self._count >= self._limit
        self._last = cells
        if self._view is not None:
            info["row"] = rows.copy()
        return rewards, terminated, info

    def _draw(self, actions: npt.NDArray[np.int64], at: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Return (n,) cells of the next evaluations of (n,) rows `at`, and count them, as `LookupEnv._draw` does."""
        flat, seen = self._pulls.reshape(-1), self._action_starts + actions
        k = flat.take(seen)
        flat[seen] = k + 1
        return at * self.params.max_repeats + self.params.drawn(self._keys, at, k)

    def _observe(self) -> npt.NDArray[np.float32]:
        out = None if self.copy else self._observations
        out = np.take(self.params.templates, self._last, axis=0, out=out, mode="clip")
        out[:, self._best_at] = self._best
        out[:, -1] = (np.maximum(self._left, _ZERO) if self._counts else self._left) / self._whole
        return out

    def _check_actions(self, actions: Any) -> npt.NDArray[np.int64]:
        """Return (num_envs,) indices of valid actions, in a new array; actions on a grid are flattened."""
        if self._sizes is None:
            return check_ints(actions, (self.num_envs,), self._most).copy()
        checked = check_ints(actions, (self.num_envs, len(self._sizes)), self._limits)
        return np.asarray(np.ravel_multi_index(tuple(checked.T), self._sizes))

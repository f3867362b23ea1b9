"""`LookupEnv` for many episodes side by side."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from hpo_envs.core.env import HPOVectorEnv
from hpo_envs.core.history import History, Later, steps_kept
from hpo_envs.core.infos import STATUS_COLUMN, Info, choices_of, natural
from hpo_envs.core.params import check_ints
from hpo_envs.engines.lookup.params import LookupParams
from hpo_envs.tables import draws
from hpo_envs.tables.table import STATUSES

_INT, _UINT = np.dtype(np.int64), np.dtype(np.uint64)
_ZERO, _ONE = np.array(0.0), np.array(1.0)
"""Arrays without dimensions: faster than Python's numbers where few episodes run."""


class LookupVectorEnv(HPOVectorEnv):
    """`LookupEnv` for `num_envs` episodes side by side, without a loop over them."""

    params: LookupParams

    def __init__(self, num_envs: int, params: LookupParams, *args: Any, **kwargs: Any) -> None:
        super().__init__(num_envs, params, *args, **kwargs)
        p = params
        self._limit, self._sizes, self._vector = p.steps, p.sizes, p.vector
        # With a budget of evaluations, not above the limit on steps, the budget alone ends an episode.
        self._simple = p.cost_unit == "evaluations" and self.budget <= self._limit
        n = self.num_envs
        # The first column of one objective by itself, so that rewards lie side by side.
        self._rewards = p.rewards if self._vector else p.rewards[:, 0].copy()
        names = p.table.metric_names
        self._metric_columns = tuple((name, j) for j, name in enumerate(names) if name not in p.held_out)
        self._held_out_columns = tuple((name, names.index(name)) for name in p.held_out)
        self._choices = [choices_of(h) for h in p.table.space]
        self._actions = np.uint64(p.actions)
        self._repeats = p.repeats.astype(np.uint64)
        self._codes = np.array([STATUSES.index(status) for status in p.status])
        self._all_ok = not self._codes.any()
        self._zeros = np.zeros(n, np.int64)
        self._ok = np.full(n, "ok").view(type(STATUS_COLUMN))
        self._best = np.tile(p.low, (n, 1)) if self._vector else np.full(n, p.low[0])
        self._left, self._count = np.full(n, self.budget), np.zeros(n, np.int64)
        self._last = np.full(n, len(p.costs), np.int64)
        self._whole = np.array(self.budget)
        # How often a row was evaluated is found in what was evaluated, where that is short.
        repeated = p.max_repeats > 1
        self._counted = repeated and self._simple and self.budget <= steps_kept(p.actions)
        most = np.uint8 if self._simple and self.budget < 256 else np.int16
        self._pulls = np.zeros((n, p.actions if repeated and not self._counted else 0), most)
        self._logged = self._masked or self._counted
        self._open = History(n, p.actions if self._logged else 0, int(self.budget) if self._counted else None)
        self._action_starts = self._index * p.actions
        self._first_rows: npt.NDArray[np.int64] | None = None  # of each episode's table, where there are several
        self._view = None if p.view.whole else np.zeros((n, p.actions), np.min_scalar_type(p.rows))
        self._observations = np.empty((n, *p.observation_space.shape), np.float32)

    def _masks(self) -> npt.NDArray[np.bool_]:
        """(num_envs, actions) bool: rows not evaluated in each episode."""
        return self._open.then()()

    def _then(self) -> Callable[[], npt.NDArray[np.bool_]]:
        return self._open.then()

    def _start(self, index: npt.NDArray[np.intp], keys: draws.Keys, options: dict[str, Any] | None) -> Info:
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
        self._best[at] = p.low if self._vector else p.low[0]
        self._left[at] = self.budget
        self._count[at] = 0
        self._last = self._last.copy()  # infos of earlier steps are made of the cells that were
        self._last[at] = len(p.costs)
        self._pulls[at] = 0
        return self._said(index)

    def _advance(self, actions: npt.NDArray[np.int64]) -> tuple[Any, npt.NDArray[np.bool_], Info]:
        p = self.params
        rows = actions if self._view is None else self._view.take(self._action_starts + actions).astype(np.int64)
        cells = rows if self._first_rows is None else rows + self._first_rows
        if p.max_repeats > 1:
            cells = self._draw(actions, cells)
        if self._logged:
            self._open.clear(actions)
        rewards, costs = self._rewards.take(cells, axis=0), p.costs.take(cells)
        np.maximum(self._best, rewards, out=self._best)
        if self._simple:
            self._left -= _ONE
            terminated = self._left <= _ZERO
        else:
            self._left -= costs
            self._count += 1
            terminated = (self._left <= 0.0) | (self._count >= self._limit)
        self._last = cells
        codes = self._zeros.copy() if self._all_ok else self._codes.take(cells)
        info: Info = {
            "cost": costs,
            "metrics": Later(functools.partial(self._metrics, cells, self._metric_columns)),
            "status": self._ok.copy() if self._all_ok else STATUS_COLUMN.take(codes),
            "status_code": codes,
        }
        if self._held_out_columns:
            info["held_out"] = Later(functools.partial(self._metrics, cells, self._held_out_columns))
        if self._choices:
            info["config"] = Later(functools.partial(self._configs, cells))
        if self._view is not None:
            info["row"] = rows.copy()
        return rewards, terminated, info

    def _metrics(self, cells: npt.NDArray[np.int64], columns: tuple[tuple[str, int], ...]) -> Info:
        """Metrics of (num_envs,) cells."""
        found = self.params.metrics.take(cells, axis=0).T
        return {name: found[j] for name, j in columns}

    def _configs(self, cells: npt.NDArray[np.int64]) -> Info:
        """Hyperparameters of (num_envs,) cells."""
        p = self.params
        return natural(p.table.space, self._choices, p.configs.take(cells // p.max_repeats, axis=0))

    def _draw(self, actions: npt.NDArray[np.int64], at: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """The cells of the next repeat of each row; see `LookupEnv._draw`."""
        p = self.params
        if self._counted:
            k = self._open.count(actions)
        else:
            flat, seen = self._pulls.reshape(-1), self._action_starts + actions
            k = flat.take(seen)
            flat[seen] = k + 1
        bits = draws.mix_many(draws.mix_many(self._keys, at + 1), k)
        return at * p.max_repeats + draws.below_many(bits, self._repeats.take(at))

    def _observe(self) -> npt.NDArray[np.float32]:
        if self.copy:
            out = self.params.templates.take(self._last, axis=0)
        else:
            out = self._observations
            np.take(self.params.templates, self._last, axis=0, out=out, mode="clip")
        if self._vector:
            out[:, -1 - self._best.shape[1] : -1] = self._best
        else:
            out[:, -2] = self._best
        out[:, -1] = (self._left if self._simple else np.maximum(self._left, _ZERO)) / self._whole
        return out

    def _check_actions(self, actions: Any) -> npt.NDArray[np.int64]:
        """(num_envs,) indices that are nobody else's."""
        whole = type(actions) is np.ndarray and actions.dtype == _INT
        if self._sizes is None:
            # The common case, checked in one pass: negative numbers are huge as unsigned ones.
            if whole and actions.shape == self._ended.shape:
                if np.maximum.reduce(actions.view(_UINT)) < self._actions:
                    return actions.copy()
            return check_ints(actions, (self.num_envs,), self.params.actions).copy()
        sizes: list[int] = self._sizes.tolist()
        if not (whole and actions.shape == (self.num_envs, len(sizes))):
            actions = check_ints(actions, (self.num_envs, len(sizes)), sizes)
        try:
            return np.ravel_multi_index(tuple(actions.T), tuple(sizes))  # type: ignore[return-value]
        except ValueError:  # of NumPy, which does not say which action is outside of the space
            check_ints(actions, actions.shape, sizes)
            raise

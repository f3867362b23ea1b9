"""Look-up environments: one action is one row of a table, or one cell of its grid; one or several objectives.

Both forms read the same prepared arrays (`Prepared`), so that they cannot disagree on a number.
"""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import numpy.typing as npt
from gymnasium.spaces import Box, Discrete, MultiDiscrete
from gymnasium.vector import AutoresetMode

from hpo_envs.core.env import HPOEnv, HPOVectorEnv, Info, check_budget, provenance_info
from hpo_envs.engines.lookup.params import STATUS_DTYPE, Objective, choices_of, grid_sizes, load_tables, prepare
from hpo_envs.tables import draws
from hpo_envs.tables.table import Table


class LookupEnv(HPOEnv):
    """One step evaluates one row of a table.

    Args:
        names: Names of the tables; one is drawn at each reset if there are several.
        table: `"auto"`, `"measured"`, `"surrogate"` or a `Table`.
        objective: Name of the rewarded metric, or a tuple of names for a vector reward.
        cost: `"evaluations"`, the table's cost unit, or a metric to be kept low.
        budget: What an episode may spend, in units of `cost`; None = every row once.
        grid: Whether an action sets the values of the hyperparameters (MultiDiscrete) instead of a row (Discrete).
    """

    def __init__(
        self,
        names: tuple[str, ...],
        *,
        table: Any = "auto",
        objective: Objective = "bleu",
        cost: str = "evaluations",
        budget: float | None = 20,
        grid: bool = False,
    ) -> None:
        super().__init__()
        p = self._p = prepare(load_tables(tuple(names), table), objective, cost)
        self.cost_unit, self.objectives = p.cost_unit, p.names
        self._limit = p.rows * p.max_repeats
        self.budget = check_budget(budget, p.whole(), p.cost_unit)
        self._sizes = grid_sizes(p.tables[0]) if grid else None
        self.action_space = Discrete(p.rows) if self._sizes is None else MultiDiscrete(self._sizes)
        self.observation_space = p.observation_space
        self._vector = not isinstance(objective, str)
        if self._vector:
            self.reward_space = Box(p.low, p.high, dtype=np.float64)
            self.reward_dim = len(p.objectives)
        # What a step returns, made when a cell is first met: (reward, cost, metrics, config, status, observation).
        self._cells: list[Any] = [None] * len(p.costs)
        self._m = len(p.objectives)
        self._best_at = p.observation_space.shape[0] - 1 - self._m
        self._rows, self._repeated, self._is_grid = p.rows, p.max_repeats > 1, grid
        self._task = self._offset = 0
        self._mask = np.ones(p.rows, np.int8)

    @property
    def tables(self) -> tuple[Table, ...]:
        """All tables that an episode can be about."""
        return self._p.tables

    @property
    def table(self) -> Table:  # type: ignore[override]
        """The table of this episode."""
        return self._p.tables[self._task]

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, Info]:
        """Starts an episode; `options={"table": name}` chooses among several tables."""
        super().reset(seed=seed)
        p = self._p
        chosen = p.choose(options)
        self._key = self._new_key(seed)
        if len(p.tables) > 1:
            self._task = draws.below(draws.mix(self._key, 0), len(p.tables)) if chosen is None else chosen
        self._offset = self._task * p.rows
        self._left, self._count = self.budget, 0
        self._best = p.low.tolist()
        self._pulls: dict[int, int] = {}
        info = provenance_info(self.table)
        if not self._is_grid:
            self._mask = np.ones(p.rows, np.int8)
            info["action_mask"] = self._mask.copy()
        return p.templates[-1].copy(), info

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, Info]:
        """Evaluates one row.

        Raises:
            ValueError: The action is outside the space.
            ResetNeeded: No episode is running.
        """
        row = action if type(action) is int and not self._is_grid else self._row_of(action)
        if not 0 <= row < self._rows:
            raise ValueError(f"action must be an int in [0, {self._rows}), got {action!r}")
        if not self._live:
            raise self._not_live()
        at = self._offset + row
        if self._repeated:
            at = self._draw(at)
        cell = self._cells[at]
        if cell is None:
            cell = self._fill(at)
        reward, cost, metrics, config, status, template = cell
        observation = template.copy()
        best = self._best
        if self._vector:
            for j, r in enumerate(reward.tolist()):
                if r > best[j]:
                    best[j] = r
            reward = reward.copy()
            observation[self._best_at : -1] = best
        else:
            if reward > best[0]:
                best[0] = reward
            observation[-2] = best[0]
        self._left = left = self._left - cost
        self._count += 1
        observation[-1] = left / self.budget if left > 0.0 else 0.0
        terminated = left <= 0.0 or self._count >= self._limit
        if terminated:
            self._live = False
        info = {"cost": cost, "metrics": metrics.copy(), "status": status}
        if config:  # rows of some tables have features but no hyperparameters
            info["config"] = config.copy()
        if not self._is_grid:
            self._mask[row] = 0
            info["action_mask"] = self._mask.copy()
        return observation, reward, terminated, False, info

    def action_masks(self) -> npt.NDArray[np.bool_]:
        """(rows,) bool: rows not evaluated in this episode.

        Raises:
            AttributeError: Actions are values of a grid, where no mask of single values would be useful.
        """
        if self._is_grid:
            raise AttributeError("action_masks: there is no useful mask of hyperparameter values")
        return self._mask.astype(bool)

    def _row_of(self, action: Any) -> int:
        """The row that an action of any admitted type means."""
        if self._sizes is None:
            if isinstance(action, (int, np.integer)) or (
                isinstance(action, np.ndarray) and action.shape == () and np.issubdtype(action.dtype, np.integer)
            ):
                return int(action)
            raise ValueError(f"action must be an int in [0, {self._rows}), got {action!r}")
        array = np.asarray(action)
        if array.shape != self._sizes.shape or not np.issubdtype(array.dtype, np.integer):
            raise ValueError(f"action must be {len(self._sizes)} ints below {self._sizes.tolist()}, got {action!r}")
        row = 0
        for value, size in zip(array.tolist(), self._sizes.tolist(), strict=True):
            if not 0 <= value < size:
                raise ValueError(f"action must be ints in [0, n) with n = {self._sizes.tolist()}, got {action!r}")
            row = row * size + value
        return row

    def _draw(self, at: int) -> int:
        """The cell of the next repeat of a row: the k-th evaluation in an episode is hash(key, row, k)."""
        k = self._pulls.get(at, 0)
        self._pulls[at] = k + 1
        bits = draws.mix(draws.mix(self._key, 1 + at), k)
        return at * self._p.max_repeats + draws.below(bits, int(self._p.repeats[at]))

    def _fill(self, at: int) -> Any:
        p = self._p
        row, first = at // p.max_repeats, p.tables[0]
        self._cells[at] = cell = (
            p.rewards[at] if self._vector else float(p.rewards[at, 0]),
            float(p.costs[at]),
            dict(zip(first.metric_names, p.metrics[at].tolist(), strict=True)),
            p.tables[row // p.rows].config(row % p.rows),
            str(p.status[at]),
            p.templates[at],
        )
        return cell


class LookupVectorEnv(HPOVectorEnv):
    """`LookupEnv` for `num_envs` episodes side by side, without a loop over them.

    Args:
        num_envs: Number of episodes.
        names: As in `LookupEnv`, like all other arguments.
        table: See `LookupEnv`.
        objective: See `LookupEnv`.
        cost: See `LookupEnv`.
        budget: See `LookupEnv`.
        grid: See `LookupEnv`.
        autoreset_mode: `NEXT_STEP`, `SAME_STEP` or `DISABLED`.
        copy: False reuses the observation array.
    """

    def __init__(
        self,
        num_envs: int,
        names: tuple[str, ...],
        *,
        table: Any = "auto",
        objective: Objective = "bleu",
        cost: str = "evaluations",
        budget: float | None = 20,
        grid: bool = False,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        copy: bool = True,
    ) -> None:
        p = self._p = prepare(load_tables(tuple(names), table), objective, cost)
        self.cost_unit, self.objectives = p.cost_unit, p.names
        self._limit = p.rows * p.max_repeats
        self.budget = check_budget(budget, p.whole(), p.cost_unit)
        # With a budget of evaluations, not above the limit on steps, the budget alone ends an episode.
        self._simple = p.cost_unit == "evaluations" and self.budget <= self._limit
        self._sizes = grid_sizes(p.tables[0]) if grid else None
        action_space: gym.Space[Any] = Discrete(p.rows) if self._sizes is None else MultiDiscrete(self._sizes)
        super().__init__(num_envs, p.observation_space, action_space, autoreset_mode, copy)
        n, m = self.num_envs, len(p.objectives)
        self._vector = not isinstance(objective, str)
        if self._vector:
            self.reward_space = Box(p.low, p.high, dtype=np.float64)
            self.reward_dim = m
        # One gather answers rewards, cost, metrics and hyperparameters; columns of it are views.
        configs = np.repeat(p.configs, p.max_repeats, axis=0)
        self._wide = np.ascontiguousarray(np.concatenate([p.rewards, p.costs[:, None], p.metrics, configs], axis=1))
        first = p.tables[0]
        self._metric_columns = tuple((name, m + 1 + j) for j, name in enumerate(first.metric_names))
        start = m + 1 + len(first.metrics)
        self._config_columns = tuple((h.name, start + j, choices_of(h)) for j, h in enumerate(first.space))
        self._all_ok = bool((p.status == "ok").all())
        self._ok = np.full(n, "ok", dtype=STATUS_DTYPE)
        said = [provenance_info(t) for t in p.tables]
        self._names = {key: np.array([s[key] for s in said], dtype=object) for key in said[0]}
        self._task = np.zeros(n, np.int64)
        self._best = np.tile(p.low, (n, 1)) if self._vector else np.full(n, p.low[0])
        self._left, self._count = np.full(n, self.budget), np.zeros(n, np.int64)
        self._last = np.full(n, len(p.costs), np.int64)
        self._keys = np.zeros(n, np.uint64)
        self._pulls: npt.NDArray[Any] = np.zeros((n, p.rows), np.int16 if p.max_repeats > 1 else np.bool_)
        # Rows evaluated since `_pulls` was brought up to date, which only masks and partial restarts need.
        self._pending: list[npt.NDArray[np.int64]] = []
        self._marked = False
        self._row_starts = self._index * p.rows
        self._observations = np.empty((n, *p.observation_space.shape), np.float32)

    @property
    def tables(self) -> tuple[Table, ...]:
        """All tables that an episode can be about."""
        return self._p.tables

    @property
    def table(self) -> Table:  # type: ignore[override]
        """The table; with several, that of the first environment's episode."""
        return self._p.tables[int(self._task[0])]

    def action_masks(self) -> npt.NDArray[np.bool_]:
        """(num_envs, rows) bool: rows not evaluated in each episode."""
        if self._sizes is not None:
            raise AttributeError("action_masks: there is no useful mask of hyperparameter values")
        self._catch_up()
        return self._pulls == 0

    def _catch_up(self) -> None:
        """Marks the rows evaluated lately in `_pulls`."""
        flat = self._pulls.reshape(-1)
        self._marked = True
        for rows in self._pending:
            flat[self._row_starts + rows] = True
        self._pending.clear()

    def _start(self, index: npt.NDArray[np.intp], keys: draws.Keys, options: dict[str, Any] | None) -> Info:
        p = self._p
        chosen = p.choose(options)
        whole = len(index) == self.num_envs
        if whole:
            self._pending.clear()
        else:
            self._catch_up()
        # A slice writes without an index array: most restarts are of the whole batch.
        at: Any = slice(None) if whole else index
        if len(p.tables) > 1:
            drawn = draws.below_many(draws.mix_many(keys, 0), len(p.tables)) if chosen is None else chosen
            self._task[at] = drawn
        self._keys[at] = keys
        self._best[at] = p.low if self._vector else p.low[0]
        self._left[at] = self.budget
        self._count[at] = 0
        self._last[at] = len(p.costs)
        if not whole or self._marked:
            self._pulls[at] = 0
            self._marked = not whole
        task = self._task[at]
        return {key: values.take(task) for key, values in self._names.items()}

    def _advance(self, actions: npt.NDArray[np.int64]) -> tuple[Any, npt.NDArray[np.bool_], Info]:
        p = self._p
        cells = actions if len(p.tables) == 1 else actions + self._task * p.rows
        if p.max_repeats > 1:
            cells = self._draw(actions, cells)
        elif self._sizes is None:
            self._pending.append(actions.copy())
        wide = self._wide.take(cells, axis=0)
        m = len(p.objectives)
        rewards, costs = wide[:, :m] if self._vector else wide[:, 0], wide[:, m]
        np.maximum(self._best, rewards, out=self._best)
        if self._simple:
            self._left -= 1.0
            terminated = self._left <= 0.0
        else:
            self._left -= costs
            self._count += 1
            terminated = (self._left <= 0.0) | (self._count >= self._limit)
        np.copyto(self._last, cells)  # not an alias: the actions are the caller's
        info: Info = {
            "cost": costs,
            "metrics": {name: wide[:, j] for name, j in self._metric_columns},
            "status": self._ok.copy() if self._all_ok else p.status.take(cells),
        }
        if self._config_columns:
            info["config"] = {
                name: wide[:, j] if choices is None else choices[wide[:, j].astype(np.intp)]
                for name, j, choices in self._config_columns
            }
        return rewards, terminated, info

    def _draw(self, rows: npt.NDArray[np.int64], at: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """The cells of the next repeat of each row; see `LookupEnv._draw`."""
        p, flat, seen = self._p, self._pulls.reshape(-1), self._row_starts + rows
        k = flat[seen]
        flat[seen] = k + 1
        self._marked = True
        bits = draws.mix_many(draws.mix_many(self._keys, at + 1), k)
        return at * p.max_repeats + draws.below_many(bits, p.repeats[at])

    def _observe(self) -> npt.NDArray[np.float32]:
        if self.copy:
            out = self._p.templates.take(self._last, axis=0)
        else:
            out = self._observations
            np.take(self._p.templates, self._last, axis=0, out=out, mode="clip")
        if self._vector:
            out[:, -1 - self._best.shape[1] : -1] = self._best
        else:
            out[:, -2] = self._best
        out[:, -1] = (self._left if self._simple else np.maximum(self._left, 0.0)) / self.budget
        return out

    def _check_actions(self, actions: Any) -> npt.NDArray[np.int64]:
        if type(actions) is np.ndarray and actions.dtype == np.int64 and actions.shape == (self.num_envs,):
            # The common case, checked in one pass: negative numbers are huge as unsigned ones.
            if self._sizes is None and actions.view(np.uint64).max() < self._p.rows:
                return actions
        array = np.asarray(actions)
        shape = (self.num_envs,) if self._sizes is None else (self.num_envs, len(self._sizes))
        if array.shape != shape or array.dtype.kind not in "iu":
            raise ValueError(f"actions must be ints of shape {shape}, got shape {array.shape} and dtype {array.dtype}")
        array = array.astype(np.int64, copy=False)
        limit = self._p.rows if self._sizes is None else self._sizes
        outside = bool(((array < 0) | (array >= limit)).any())
        if outside:
            bad = array[((array < 0) | (array >= limit)).reshape(self.num_envs, -1).any(axis=1)][0]
            raise ValueError(f"actions must be ints in [0, {limit}), got {bad}")
        if self._sizes is None:
            return array
        return np.ravel_multi_index(tuple(array.T), tuple(self._sizes.tolist()))

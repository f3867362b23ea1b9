"""Look-up environments: one action is one row of a table, or one cell of its grid; one or several objectives.

Both forms read the same prepared arrays (`Prepared`), so that they cannot disagree on a number.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import gymnasium as gym
import numpy as np
import numpy.typing as npt
from gymnasium.spaces import Box, Discrete, MultiDiscrete
from gymnasium.vector import AutoresetMode

from hpo_envs import noise
from hpo_envs.env import Floats, HPOEnv, HPOVectorEnv, Info, check_budget, provenance_info
from hpo_envs.tables import store
from hpo_envs.tables.table import STATUSES, Hyperparameter, Table, nearest

Objective = str | tuple[str, ...]

_STATUS = f"U{max(map(len, STATUSES))}"


def load_tables(names: tuple[str, ...], table: Any) -> tuple[Table, ...]:
    """The tables of an id.

    Args:
        names: Table names.
        table: `"auto"`, `"measured"`, `"surrogate"`, or a `Table` (a tuple of them for several names).

    Raises:
        ValueError: Not one of those.
    """
    if isinstance(table, Table):
        return (table,)
    if isinstance(table, (tuple, list)) and table and all(isinstance(t, Table) for t in table):
        return tuple(table)
    if not isinstance(table, str):
        raise ValueError(f"table must be one of {', '.join(store.KINDS)} or a Table, got {table!r}")
    return tuple(store.load(name, table) for name in names)  # type: ignore[arg-type]


@dataclass(frozen=True)
class Prepared:
    """Arrays that answer every step; cells = rows x repeats of all tables, in that order.

    Attributes:
        tables: The tables, all with the same space and metrics.
        rows: Rows of one table.
        repeats: (tables * rows,) measured repeats of each row, at least 1.
        max_repeats: Cells per row.
        objectives: Indices of the rewarded metrics.
        rewards: (cells, m) float64, oriented: higher is better.
        costs: (cells,) float64.
        metrics: (cells, metrics) float64 in native units, no NaN.
        configs: (tables * rows, H) float64, raw.
        status: (cells,) str, names of `STATUSES`.
        templates: (cells + 1, d) float32, observation after each cell; the last row is the initial observation.
        low: (m,) lowest possible reward by definition.
        high: (m,) highest possible reward by definition.
        observation_space: Bounds of the observation.
        cost_unit: Unit of `costs`.
    """

    tables: tuple[Table, ...]
    rows: int
    repeats: npt.NDArray[np.int64]
    max_repeats: int
    objectives: tuple[int, ...]
    rewards: Floats
    costs: Floats
    metrics: Floats
    configs: Floats
    status: npt.NDArray[np.str_]
    templates: npt.NDArray[np.float32]
    low: Floats
    high: Floats
    observation_space: Box
    cost_unit: str

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the rewarded metrics."""
        return tuple(self.tables[0].metric_names[j] for j in self.objectives)

    @property
    def labels(self) -> tuple[str, ...]:
        """Short names of the tables, for `options={"table": ...}`."""
        return tuple(t.name.partition("/")[2].removesuffix("-grid") for t in self.tables)

    def whole(self) -> float:
        """Cost of evaluating every run of the dearest table once."""
        return float(self.costs.reshape(len(self.tables), -1).sum(axis=1).max())

    def choose(self, options: dict[str, Any] | None) -> int | None:
        """Index of the table that `reset` options ask for, or None.

        Raises:
            ValueError: No such table.
        """
        if not options or "table" not in options:
            return None
        name = options["table"]
        if name not in self.labels:
            raise ValueError(
                f"options['table'] must be one of {', '.join(self.labels)}, got {name!r}{nearest(name, self.labels)}"
            )
        return self.labels.index(name)


def prepare(tables: tuple[Table, ...], objective: Objective, cost: str) -> Prepared:
    """Prepares tables for stepping; cached, because `make` is called often.

    Raises:
        ValueError: Unknown metric, or tables that do not fit together.
    """
    return _prepare(
        tuple(_ByHash(t) for t in tables), objective if isinstance(objective, str) else tuple(objective), cost
    )


class _ByHash:
    """A table that compares by its content's hash, to serve as a cache key."""

    def __init__(self, table: Table) -> None:
        self.table = table

    def __hash__(self) -> int:
        return hash(self.table.provenance.sha256)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _ByHash) and (
            (self.table.name, self.table.provenance) == (other.table.name, other.table.provenance)
        )


@functools.lru_cache(maxsize=64)
def _prepare(keyed: tuple[_ByHash, ...], objective: Objective, cost: str) -> Prepared:
    tables = tuple(k.table for k in keyed)
    first = tables[0]
    for t in tables[1:]:
        if t.metrics != first.metrics or t.space != first.space or t.values.shape[:2] != first.values.shape[:2]:
            raise ValueError(f"tables must share space, rows and metrics, got {first.name} and {t.name}")
    chosen = (objective,) if isinstance(objective, str) else objective
    if not chosen:
        raise ValueError(f"objective must name at least one metric of {', '.join(first.metric_names)}, got ()")
    objectives = tuple(_metric(first, "objective", name) for name in chosen)
    metrics = np.concatenate([_filled(t) for t in tables])
    bounds = np.array([[m.low, m.high] for m in first.metrics])
    sign = np.array([first.metrics[j].sign for j in objectives])
    rewards = metrics[:, objectives] * sign
    ends = bounds[list(objectives)] * sign[:, None]
    low, high = ends.min(axis=1), ends.max(axis=1)
    if cost == "evaluations":
        costs, cost_unit, cost_high = np.ones(len(metrics)), "evaluations", 1.0
    elif cost == first.cost_unit and cost not in first.metric_names:
        every = [np.nanmax(np.where(np.isnan(t.cost), 0.0, t.cost), axis=2).reshape(-1) for t in tables]
        costs, cost_unit, cost_high = np.concatenate(every), first.cost_unit, 1e9
    else:
        j = _metric(first, "cost", cost)
        if first.metrics[j].goal != "min":
            raise ValueError(f"cost must be evaluations or a metric to be kept low, got {cost!r}")
        costs, cost_unit, cost_high = metrics[:, j], first.metrics[j].unit or cost, first.metrics[j].high
    features = np.concatenate([np.repeat(t.features, t.repeats, axis=0) for t in tables])
    # Layout: features | rewards | cost | best rewards | budget left. See the families' Observation Space.
    d, m = features.shape[1], len(objectives)
    templates = np.zeros((len(metrics) + 1, d + 2 * m + 2), np.float32)
    templates[:-1, :d] = features
    templates[:-1, d : d + m] = np.clip(rewards, low, high)
    templates[:-1, d + m] = np.minimum(costs, cost_high)
    templates[-1, d : d + m] = low
    templates[-1, d + m + 1 : d + 2 * m + 1] = low
    templates[-1, -1] = 1.0
    zeros, ones = np.zeros(d), np.ones(d)
    space = Box(
        np.concatenate([zeros, low, [0.0], low, [0.0]]).astype(np.float32),
        np.concatenate([ones, high, [cost_high], high, [1.0]]).astype(np.float32),
        dtype=np.float32,
    )
    status = np.array(STATUSES, dtype=_STATUS)[np.concatenate([t.status.reshape(-1) for t in tables])]
    repeats = np.concatenate([_repeats(t) for t in tables])
    for array in (metrics, rewards, costs, templates, status, repeats):
        array.setflags(write=False)
    return Prepared(
        tables, len(first), repeats, first.repeats, objectives, rewards, costs, metrics,
        np.concatenate([t.configs for t in tables]), status, templates, low, high, space, cost_unit,
    )  # fmt: skip


def _metric(table: Table, argument: str, name: Any) -> int:
    if name not in table.metric_names:
        extra = "evaluations, " if argument == "cost" else ""
        raise ValueError(
            f"{argument} must be one of {extra}{', '.join(table.metric_names)}, got {name!r}"
            f"{nearest(name, table.metric_names)}"
        )
    return table.metric(name)


def _filled(t: Table) -> Floats:
    """(rows * repeats, metrics) the last level of each run; what was never measured gets the metric's worst value."""
    last = np.maximum((~np.isnan(t.values)).sum(axis=2, keepdims=True) - 1, 0)
    ends = np.take_along_axis(t.values, last, axis=2)[:, :, 0]
    worst = np.array([m.worst for m in t.metrics])
    return np.where(np.isnan(ends), worst, ends).reshape(-1, len(t.metrics))


def _repeats(t: Table) -> npt.NDArray[np.int64]:
    return np.maximum((~np.isnan(t.values).all(axis=(2, 3))).sum(axis=1), 1).astype(np.int64)


def _choices(h: Hyperparameter) -> npt.NDArray[np.object_] | None:
    """The choices of a categorical as an array, None for numbers."""
    if h.kind != "categorical":
        return None
    choices = np.empty(len(h.values), dtype=object)
    choices[:] = h.values
    return choices


def grid_sizes(table: Table) -> npt.NDArray[np.int64]:
    """(H,) number of values of each hyperparameter of a complete grid whose last one varies fastest.

    Raises:
        ValueError: The table's rows are not a complete grid in that order.
    """
    sizes = np.array([len(h.values) for h in table.space], dtype=np.int64)
    if not len(sizes) or int(sizes.prod()) != len(table):
        raise ValueError(f"table must be a complete grid, got {table.name} with {len(table)} rows")
    return sizes


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
            self._task = noise.below(noise.mix(self._key, 0), len(p.tables)) if chosen is None else chosen
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
        info = {"cost": cost, "metrics": metrics.copy(), "config": config.copy(), "status": status}
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
        bits = noise.mix(noise.mix(self._key, 1 + at), k)
        return at * self._p.max_repeats + noise.below(bits, int(self._p.repeats[at]))

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
        self._config_columns = tuple((h.name, start + j, _choices(h)) for j, h in enumerate(first.space))
        self._all_ok = bool((p.status == "ok").all())
        self._ok = np.full(n, "ok", dtype=_STATUS)
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

    def _start(self, index: npt.NDArray[np.intp], keys: noise.Keys, options: dict[str, Any] | None) -> Info:
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
            drawn = noise.below_many(noise.mix_many(keys, 0), len(p.tables)) if chosen is None else chosen
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
        bits = noise.mix_many(noise.mix_many(self._keys, at + 1), k)
        return at * p.max_repeats + noise.below_many(bits, p.repeats[at])

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

"""Look-up environments: one action is one row of a table, or one cell of its grid; one or several objectives."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from hpo_envs.core.env import HPOEnv
from hpo_envs.core.infos import STATUS_CODES, Info, numeric
from hpo_envs.core.loading import provenance_info
from hpo_envs.core.params import is_integer, unmasked
from hpo_envs.engines.lookup.params import LookupParams
from hpo_envs.tables import draws

_INT = np.int64


class LookupEnv(HPOEnv):
    """One step evaluates one row of a table.

    ## Observation Space
    `Box`, float32. With d features (a choice has one 0/1 feature per value) and m objectives:

    | index | content | range |
    |---|---|---|
    | 0 to d - 1 | features of the last row | 0 to 1 |
    | d to d + m - 1 | its reward(s) | bounds of the metric, negative if lower is better |
    | d + m | its cost | 0 to 1 evaluation, or 0 to the bound of the cost |
    | d + m + 1 to d + 2m | best reward(s) so far, each objective on its own | as the reward |
    | d + 2m + 1 | budget left, as a share | 0 to 1 |

    Values beyond a bound are observed at the bound; `info` has them as they are.

    ## Episode End
    Terminated when the budget is spent (the evaluation that exceeds it still counts), or after as many steps as the
    table has rows x repeats. Never truncated by itself.

    ## Information
    At reset: `table`, `kind` (`measured` or `surrogate`), `sha256` of the table, `action_mask` where steps have one.

    ## Arguments
    - `table="auto"`: `"measured"`, `"surrogate"` or a `Table`; `"auto"` takes the measured one where installed.
    - `order="table"`: the table's order of rows; `"episode"` draws another for each episode, so that the index of an
      action carries no information. `env.unwrapped.rows` and `info["row"]` then say which row of the table it is.
    - `share=1.0`: share of the rows, in (0, 1], that an episode has: drawn for each, the action space as small.
    """

    params: LookupParams

    def __init__(self, params: LookupParams, render_mode: str | None = None) -> None:
        super().__init__(params, render_mode)
        p = params
        self._limit = p.steps
        # With a budget of evaluations, not above the limit on steps, the budget alone ends an episode.
        self._simple = p.cost_unit == "evaluations" and self.budget <= p.steps
        self._sizes: list[int] | None = None if p.sizes is None else p.sizes.tolist()
        self._vector = p.vector
        # What a step returns, made when a cell is first met: (reward, cost, observation, info without its mask, and
        # the dicts in it: metrics, held out, config).
        self._cells: dict[int, Any] = {}
        # Actions whose cells are known and always the same, while an episode runs.
        self._known: dict[int, Any] = {}
        self._best_at = p.observation_space.shape[0] - 1 - len(p.objectives)
        self._actions, self._repeated, self._is_grid = p.actions, p.max_repeats > 1, p.kind == "grid"
        self._view: list[int] | None = None
        self._offset = 0
        self._mask = np.ones(p.actions, np.int8)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, Info]:
        """Starts an episode; `options={"table": name}` chooses among several tables."""
        super().reset(seed=seed, options=options)
        p = self.params
        chosen = p.choose(options)
        self._new_key(seed)
        if len(p.tables) > 1:
            self._table_index = draws.below(draws.mix(self._key, 0), len(p.tables)) if chosen is None else chosen
        self._offset = self._table_index * p.rows
        self._view = None if p.view.whole else self.rows.tolist()
        direct = p.view.whole and not self._repeated and not self._is_grid and len(p.tables) == 1
        self._known = self._cells if direct else {}
        self._left, self._count = self.budget, 0
        self._best = p.low.tolist()
        self._pulls: dict[int, int] = {}
        info = provenance_info(p.tables, self._table_index)
        if not self._is_grid:
            self._mask = np.ones(self._actions, np.int8)
            info["action_mask"] = self._mask.copy()
        return p.templates[-1].copy(), info

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, Info]:
        """Evaluates one row."""
        kind = type(action)
        index: Any = action if kind is int else int(action) if kind is _INT else None
        cell = self._known.get(index)
        if cell is None:
            index, cell = self._find(action, index)
        reward, cost, template, info, metrics, held_out, config = cell
        observation, info, best = template.copy(), info.copy(), self._best
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
        terminated = left <= 0.0
        observation[-1] = 0.0 if terminated else left / self.budget
        if not self._simple:
            self._count += 1
            terminated = terminated or self._count >= self._limit
        if terminated:
            self._live, self._known = False, {}
        info["metrics"] = metrics.copy()
        if held_out:
            info["held_out"] = held_out.copy()
        if config:  # rows of some tables have features but no hyperparameters
            info["config"] = config.copy()
        if not self._is_grid:
            mask = self._mask
            mask[index] = 0
            info["action_mask"] = mask.copy()
        return observation, reward, terminated, False, info

    def _find(self, action: Any, index: int | None) -> tuple[int, Any]:
        """The index of an action of any admitted type, which may be known, and its cell."""
        if index is None or self._is_grid:
            index = self._index_of(action)
        if not 0 <= index < self._actions:
            raise ValueError(f"action must be an int in [0, {self._actions}), got {action!r}")
        if not self._live:
            raise self._not_live()
        at = self._offset + (index if self._view is None else self._view[index])
        if self._repeated:
            at = self._draw(at)
        cell = self._cells.get(at)
        return index, self._fill(at) if cell is None else cell

    def _masks(self) -> npt.NDArray[np.bool_]:
        """(actions,) bool: rows not evaluated in this episode."""
        return self._mask.astype(bool)

    def _index_of(self, action: Any) -> int:
        """The index that an action of any admitted type means."""
        if self._sizes is None:
            if is_integer(action) or (
                isinstance(unmasked(action), np.ndarray) and action.shape == () and action.dtype.kind in "iu"
            ):
                return int(action)
            raise ValueError(f"action must be an int in [0, {self._actions}), got {action!r}")
        array = np.asarray(unmasked(action))
        if array.shape != (len(self._sizes),) or array.dtype.kind not in "iu":
            raise ValueError(f"action must be {len(self._sizes)} ints below {self._sizes}, got {action!r}")
        index = 0
        for value, size in zip(array.tolist(), self._sizes):  # noqa: B905 (a keyword takes as long as the loop)
            if not 0 <= value < size:
                raise ValueError(f"action must be ints in [0, n) with n = {self._sizes}, got {action!r}")
            index = index * size + value
        return index

    def _draw(self, at: int) -> int:
        """The cell of the next repeat of a row: the k-th evaluation in an episode is hash(key, row, k)."""
        k = self._pulls.get(at, 0)
        self._pulls[at] = k + 1
        bits = draws.mix(draws.mix(self._key, 1 + at), k)
        return at * self.params.max_repeats + draws.below(bits, self.params.repeats.item(at))

    def _fill(self, at: int) -> Any:
        p = self.params
        row, first = at // p.max_repeats, p.table
        metrics = dict(zip(first.metric_names, p.metrics[at], strict=True))
        held_out = {name: metrics.pop(name) for name in p.held_out}
        config = numeric(p.tables[row // p.rows].config(row % p.rows))
        status = str(p.status[at])
        info = {"cost": p.costs[at], "metrics": metrics, "status": status, "status_code": STATUS_CODES[status]}
        if held_out:
            info["held_out"] = held_out
        if config:
            info["config"] = config
        if self._view is not None:
            info["row"] = np.int64(row % p.rows)
        if not self._is_grid:
            info["action_mask"] = None  # its place
        reward = p.rewards[at] if self._vector else float(p.rewards[at, 0])
        self._cells[at] = cell = reward, float(p.costs[at]), p.templates[at], info, metrics, held_out, config
        return cell

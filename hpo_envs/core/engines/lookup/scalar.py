"""One look-up episode: `reset`, `step`, drawn repeats, masks, termination, observation; actions on rows or a grid."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from hpo_envs.core.engines.lookup.batched import LookupVectorEnv
from hpo_envs.core.engines.lookup.params import LookupParams
from hpo_envs.core.env import HPOEnv
from hpo_envs.core.infos import Info, provenance_info, single
from hpo_envs.core.params import check_action
from hpo_envs.tables import draws


@dataclass(slots=True, eq=False)
class RowAnswer:
    """Result of a cell, with templates of observation and `info`, whose `dicts` (by name) are copied for each step."""

    reward: Any
    cost: float
    observation: npt.NDArray[np.float32]
    info: Info
    dicts: list[tuple[str, dict[str, Any]]]


class LookupEnv(HPOEnv):
    """Environment whose steps evaluate a row of a table.

    ## Observation Space
    `Box`, float32. With d features (a choice has one 0/1 feature per value) and m objectives:

    | index | content | range |
    |---|---|---|
    | 0 to d - 1 | features of the last configuration | 0 to 1 |
    | d to d + m - 1 | its reward(s) | bounds of the metric, negative if lower is better |
    | d + m | its cost | 0 to 1 evaluation, or 0 to the bound of the cost |
    | d + m + 1 to d + 2m | best reward(s) so far, per objective | as the reward |
    | d + 2m + 1 | fraction of the budget left | 0 to 1 |

    Values beyond a bound are clipped in the observation, not in `info`.

    ## Starting State
    Nothing evaluated: features 0, reward(s) at the lower bound, full budget.

    ## Episode End
    Terminated when the budget is used up (the evaluation that exceeds it still counts), or after rows x repeats
    steps. Never truncated by itself.

    ## Information
    At reset: `table`, `kind` (`measured` or `surrogate`), `sha256` of the table, `action_mask` where steps have one.
    At each step: `cost` (float, in `env.unwrapped.cost_unit`), `metrics` (dict of float), `config` (dict of natural
    hyperparameter values, that of the stored number 0 where inactive; absent where there are none), `status`,
    `action_mask` ((rows,) int8, 1 = not yet evaluated; absent on a grid). Re-evaluation is allowed and costs again.

    ## Arguments
    - `table=None`: a `Table` instead of the one of the id.
    - `shuffle=False`: True shuffles the configurations at each `reset`, so that the index of an action carries no
      information. `env.unwrapped.rows` and `info["row"]` map it to the row of the table.
    - `subsample=1.0`: fraction of the configurations, in (0, 1], that each episode has, drawn at `reset`; the
      action space shrinks with it.
    """

    params: LookupParams
    batched = LookupVectorEnv

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        p = self.params
        # With a budget of evaluations, not above the limit on steps, the budget alone ends an episode.
        self._counts = p.cost_unit != "evaluations" or p.budget > p.steps
        self._limit, self._actions, self._repeated, self._vector = p.steps, p.actions, p.max_repeats > 1, p.vector
        self._sizes: list[int] | None = None if p.sizes is None else p.sizes.tolist()
        self._rest = p.rest
        self._plain = (int, np.int64) if self._sizes is None else ()  # types of most actions
        self._answers: dict[int, RowAnswer] = {}  # by cell, made when it is first evaluated
        self._best_at = p.observation_space.shape[0] - 1 - len(p.objectives)
        self._view: list[int] | None = None
        self._offset = 0
        self._mask = np.ones(p.actions, np.int8)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, Info]:
        """Start an episode; `options={"table": name}` chooses among several tables, ValueError if unknown."""
        super().reset(seed=seed, options=options)
        p = self.params
        chosen = p.choose(options)
        self._new_key(seed)
        if len(p.tables) > 1:
            self._table_index = draws.below(draws.mix(self._key, 0), len(p.tables)) if chosen is None else chosen
        self._offset = self._table_index * p.rows
        self._view = None if p.view.whole else self.rows.tolist()
        self._left, self._count = self.budget, 0
        self._best = p.low.tolist()
        self._pulls: dict[int, int] = {}
        info = provenance_info(p.tables, self._table_index)
        if self._sizes is None:
            self._mask = np.ones(self._actions, np.int8)
            info["action_mask"] = self._mask.copy()
        return p.templates[-1].copy(), info

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, Info]:
        """Evaluate a row; ValueError if the action is outside the space, ResetNeeded if no episode is running."""
        plain = type(action) in self._plain and 0 <= action < self._actions
        index = int(action) if plain else self._index_of(action)
        if not self._live:
            raise self._not_live()
        at = self._offset + (index if self._view is None else self._view[index])
        if self._repeated:
            at = self._draw(at)
        answer = self._answers.get(at) or self._answer(at)
        observation, info, reward, best = answer.observation.copy(), answer.info.copy(), answer.reward, self._best
        if self._vector:
            for j, r in enumerate(reward.tolist()):
                if r > best[j]:
                    best[j] = r
            observation[self._best_at : -1] = best
            reward = reward.copy()
        else:
            if reward > best[0]:
                best[0] = reward
            observation[-2] = best[0]
        self._left = left = self._left - answer.cost
        terminated = left <= self._rest
        if self._counts:
            self._count += 1
            terminated = terminated or self._count >= self._limit
        observation[-1] = left / self.budget if left > 0.0 else 0.0
        self._live = not terminated
        for name, value in answer.dicts:
            info[name] = value.copy()
        if self._sizes is None:
            self._mask[index] = 0
            info["action_mask"] = self._mask.copy()
        return observation, reward, terminated, False, info

    def _masks(self) -> npt.NDArray[np.bool_]:
        """Return (actions,) bool, True for each configuration that was not evaluated in this episode."""
        return self._mask.astype(bool)

    def _index_of(self, action: Any) -> int:
        """Return the index of an action, flattened on a grid; ValueError if the action is outside the space."""
        if self._sizes is None:
            return check_action(action, self._actions)[0]
        index = 0
        for value, size in zip(check_action(action, self._sizes), self._sizes, strict=True):
            index = index * size + value
        return index

    def _config(self, action: Any) -> dict[str, Any]:
        return self.table.config(int(self.rows[self._index_of(action)]))

    def _draw(self, at: int) -> int:
        """Return the cell of the next evaluation of a row, and count it; hash(key, row, k) draws the k-th repeat."""
        k = self._pulls.get(at, 0)
        self._pulls[at] = k + 1
        bits = draws.mix(draws.mix(self._key, 1 + at), k)
        return at * self.params.max_repeats + draws.below(bits, self.params.repeats.item(at))

    def _answer(self, at: int) -> RowAnswer:
        """Make, cache and return the answer of a cell."""
        p, row = self.params, at // self.params.max_repeats
        rewards, batch = p.answer(np.array([at]))
        info = single(batch, p.tables[row // p.rows], row % p.rows)
        if self._view is not None:
            info["row"] = np.int64(row % p.rows)
        dicts = [(name, value) for name, value in info.items() if isinstance(value, dict)]
        reward = rewards[0] if p.vector else rewards.item()
        self._answers[at] = answer = RowAnswer(reward, float(info["cost"]), p.templates[at], info, dicts)
        return answer

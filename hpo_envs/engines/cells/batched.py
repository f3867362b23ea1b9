"""Batched form of the environments that build cells: observations as arrays, one move checked after the other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from hpo_envs.core.env import HPOVectorEnv
from hpo_envs.core.infos import Info, column
from hpo_envs.core.params import Floats, check_ints
from hpo_envs.engines.cells.params import NODE, CellParams, mutate_actions
from hpo_envs.engines.cells.scalar import MASKS, complete
from hpo_envs.tables import draws
from hpo_envs.tables.cells.grammar import END, FIRST_UNARY, SIZES, SLOTS, node_of
from hpo_envs.tables.cells.recipe import MAX_NODES, OPERATIONS, InvalidRecipe
from hpo_envs.tables.table import STATUSES

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

_LIMITS = np.array(SIZES)


class CellVectorEnv(HPOVectorEnv):
    """Vectorized `CellEnv`."""

    params: CellParams
    mutate = staticmethod(mutate_actions)

    def __init__(self, num_envs: int, params: CellParams, *args: Any, **kwargs: Any) -> None:
        super().__init__(num_envs, params, *args, **kwargs)
        n = self.num_envs
        self._nodes = np.zeros((n, MAX_NODES, 1 + SLOTS), np.int64)  # the actions that added them
        self._counts, self._spent = np.zeros(n, np.int64), np.zeros(n, np.int64)
        self._seen: dict[int, dict[str, int]] = {}  # of the episodes that completed a cell
        self._out = np.zeros((n, *params.observation_space.shape), np.float32)
        self._either = _pairs(params.unfinished(), params.invalid())
        del self._either["error"]

    def _then(self) -> Callable[[], Bools]:
        counts = self._counts.copy()
        return lambda: MASKS.take(counts, axis=0).astype(bool)

    def _start(self, index: npt.NDArray[np.intp], keys: draws.Keys, options: dict[str, Any] | None) -> Info:
        self._counts[index] = self._spent[index] = 0
        self._out[index] = self.params.first
        if self._seen:
            for i in index.tolist():
                self._seen.pop(i, None)
        return self._said(index)

    def _advance(self, actions: Ints) -> tuple[Any, Bools, Info]:
        p, n = self.params, self.num_envs
        wrong, errors = np.zeros(n, bool), column([""] * n)
        adds = actions[:, 0] != END
        scored: dict[int, Info] = {}
        for i, (action, count) in enumerate(zip(actions.tolist(), self._counts.tolist(), strict=True)):
            try:
                if action[0] != END:
                    node_of(action, count)
                else:
                    nodes = [node_of(added, j) for j, added in enumerate(self._nodes[i, :count].tolist())]
                    scored[i] = complete(p, int(self._keys[i]), self._seen.setdefault(i, {}), nodes, action)
            except InvalidRecipe as problem:
                wrong[i], errors[i] = True, f"{problem.rule}: {problem}"
        adds &= ~wrong
        self._add(np.flatnonzero(adds), actions)
        ended = ~adds
        info = _of_each(self._either, wrong.astype(np.intp))
        for i, said in scored.items():
            errors[i] = said.pop("error")
            _put(info, said, i)
        oriented = p.signs * np.column_stack([info["metrics"][name] for name in p.objectives])
        rewards = np.where(ended[:, None], oriented, 0.0)
        self._complete(np.flatnonzero(ended), rewards)
        info = p.priced(info | {"finished": ended, "error": errors}, ended)
        return rewards if p.vector else rewards[:, 0].copy(), ended & (self._spent >= p.budget), info

    def _add(self, index: npt.NDArray[np.intp], actions: Ints) -> None:
        """Add the nodes of legal moves at `index`."""
        if not len(index):
            return
        moves, at = actions[index], self._counts[index]
        self._nodes[index, at] = moves
        op, inputs = moves[:, 0], _read(moves)
        inputs = np.take_along_axis(inputs, (inputs == 0).argsort(axis=1, kind="stable"), axis=1)
        start = at * NODE
        self._out[index, start + op] = 1.0
        places = (start + len(OPERATIONS))[:, None] + np.arange(SLOTS)
        self._out[index[:, None], places] = inputs / (SIZES[1] - 1)
        self._counts[index] += 1
        self._out[index, MAX_NODES * NODE] = self._counts[index] / MAX_NODES

    def _complete(self, index: npt.NDArray[np.intp], rewards: Floats) -> None:
        """Clear the workbenches at `index` and notes the scores."""
        o, p, m = self._out, self.params, self.params.reward_dim
        o[index[self._counts[index] > 0], : MAX_NODES * NODE + 1] = 0.0
        self._counts[index] = 0
        self._spent[index] += 1
        seen = np.minimum(np.maximum(rewards[index], p.low), p.high).astype(np.float32)
        best = slice(-m - 2, -2)
        o[index, -2 * m - 2 : -m - 2] = seen
        o[index, best] = np.maximum(o[index, best], seen)
        o[index, -2] = 1.0
        o[index, -1] = 1.0 - self._spent[index] / p.budget

    def _observe(self) -> npt.NDArray[np.float32]:
        return self._out.copy() if self.copy else self._out

    def _check_actions(self, actions: Any) -> Ints:
        return check_ints(actions, (self.num_envs, len(SIZES)), _LIMITS)


def _read(actions: Ints) -> Ints:
    """(n, SLOTS) the vectors that nodes read, 0 for none: those of an action, an activation's first alone."""
    read = actions[:, 1:].copy()
    read[(actions[:, 0] >= FIRST_UNARY) & (actions[:, 0] != END), 1:] = 0
    return read


def _pairs(some: Info, others: Info) -> Info:
    """(2, ...) arrays of what is said of two kinds of episodes."""
    pairs: Info = {}
    for name, value in some.items():
        pair = value, others[name]
        if isinstance(value, dict):
            pairs[name] = _pairs(*pair)
        else:
            words = STATUSES if name == "status" else ()
            pairs[name] = column(pair, words) if isinstance(value, str) else np.array(pair)
    return pairs


def _of_each(pairs: Info, kinds: npt.NDArray[np.intp]) -> Info:
    """(n, ...) arrays of what is said of episodes, of kind 0 or 1 each."""
    return {
        name: _of_each(pair, kinds) if isinstance(pair, dict) else pair.take(kinds, axis=0)
        for name, pair in pairs.items()
    }


def _put(info: Info, said: Info, i: int) -> None:
    """Write what is said of episode i into arrays."""
    for name, value in said.items():
        if isinstance(value, dict):
            _put(info[name], value, i)
        else:
            info[name][i] = value

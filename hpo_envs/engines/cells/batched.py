"""The batched form: cells under construction as arrays; only a cell that may be complete is looked at on its own."""

from __future__ import annotations

import functools
import itertools
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
from hpo_envs.tables.cells.grammar import END, FIRST_UNARY, SIZES, SLOTS, SOURCES, finish, node_of
from hpo_envs.tables.cells.recipe import MAX_NODES, OPERATIONS, InvalidRecipe, arity_error
from hpo_envs.tables.table import STATUSES

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

_ARITY = np.array([[arity_error(op, count) is None for count in range(SLOTS + 1)] for op in range(END)])
_LIMITS = np.array(SIZES)


class CellVectorEnv(HPOVectorEnv):
    """`CellEnv` for many episodes side by side."""

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
        p = self.params
        wrong, errors = self._faults(actions)
        adds = ~wrong & (actions[:, 0] != END)
        scored: dict[int, Info] = {}
        for i in np.flatnonzero(~wrong & ~adds).tolist():
            nodes = [node_of(action, j) for j, action in enumerate(self._nodes[i, : self._counts[i]].tolist())]
            try:
                scored[i] = complete(p, int(self._keys[i]), self._seen.setdefault(i, {}), nodes, actions[i].tolist())
            except InvalidRecipe as problem:
                wrong[i], errors[i] = True, f"{problem.rule}: {problem}"
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

    def _faults(self, actions: Ints) -> tuple[Bools, Any]:
        """Which moves are illegal before a cell is looked at, and the rule and reason, as `node_of` and `finish`."""
        op, counts = actions[:, 0], self._counts
        # Column by column: NumPy takes long for the maximum of three.
        x, y, z = np.ascontiguousarray(_read(actions).T)
        ends, last = op == END, SOURCES + counts
        largest = np.maximum(np.maximum(x, y), z)
        many = ~ends & (counts >= MAX_NODES)
        absent = ~ends & ~many & (largest >= last)
        inputs = (x > 0).astype(np.int64) + (y > 0) + (z > 0)
        arity = ~(ends | many | absent) & ~_ARITY[np.minimum(op, END - 1), inputs]
        hidden = ends & ((largest < SOURCES) | (largest >= last))
        errors: Any = column([""]).take(np.zeros(len(op), np.intp))
        for i in np.flatnonzero(many | arity).tolist():
            errors[i] = _refusal(int(op[i]), int(inputs[i]), int(counts[i]))
        heads, tails, outputs = _texts()
        which = (x * SIZES[1] + y) * SIZES[1] + z
        places = np.flatnonzero(absent)
        errors[places] = heads.take(counts[places]) + tails.take(which[places])
        places = np.flatnonzero(hidden)
        errors[places] = outputs.take(which[places])
        return many | absent | arity | hidden, errors

    def _add(self, index: npt.NDArray[np.intp], actions: Ints) -> None:
        """Adds the nodes of legal moves at `index`."""
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
        """Clears the workbenches at `index` and notes the scores."""
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


@functools.cache
def _refusal(op: int, inputs: int, nodes: int) -> str:
    """Rule and reason why a node of so many inputs cannot be added to so many nodes."""
    try:
        node_of([op, *[1] * inputs, *[0] * (SLOTS - inputs)], nodes)
    except InvalidRecipe as problem:
        return f"{problem.rule}: {problem}"
    raise AssertionError


@functools.cache
def _texts() -> tuple[npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[Any]]:
    """What `node_of` says of inputs that do not exist, by nodes and by inputs; what `finish` says, by outputs."""
    heads = []
    for nodes in range(MAX_NODES):
        try:
            node_of([0, SIZES[1] - 1, 0, 0], nodes)
        except InvalidRecipe as problem:
            heads.append(f"{problem.rule}: {problem}".removesuffix(f"({SIZES[1] - 1},)"))
    every = [*itertools.product(range(SIZES[1]), repeat=SLOTS)]
    tails = [str(tuple(k for k in given if k)) for given in every]
    try:
        finish((), [END, 0, 0, 0])
    except InvalidRecipe as problem:
        head = f"{problem.rule}: {problem}".removesuffix("[0, 0, 0]")
    outputs = [f"{head}{[*given]}" for given in every]
    return np.array(heads, object), np.array(tails, object), np.array(outputs, object)


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
    """Writes what is said of episode i into arrays."""
    for name, value in said.items():
        if isinstance(value, dict):
            _put(info[name], value, i)
        else:
            info[name][i] = value

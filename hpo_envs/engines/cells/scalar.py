"""One episode that builds cells, and the scalar form of the environment."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from hpo_envs.core.env import HPOEnv
from hpo_envs.core.infos import Info, provenance_info
from hpo_envs.core.params import array_of
from hpo_envs.engines.cells.params import NODE, CellParams, mutate_actions
from hpo_envs.tables import draws
from hpo_envs.tables.cells.canonical import key as key_of
from hpo_envs.tables.cells.grammar import END, SIZES, SLOTS, SOURCES, finish, node_of
from hpo_envs.tables.cells.graph import Sketch, graph
from hpo_envs.tables.cells.recipe import MAX_NODES, OPERATIONS, InvalidRecipe

_VECTORS = SIZES[1]


class Episode:
    """One episode: the cell under construction, what was scored, and the observation."""

    def __init__(self, params: CellParams, key: int) -> None:
        self.params, self.key = params, key
        self.nodes: list[tuple[int, tuple[int, ...]]] = []
        self.spent = 0
        self.seen: dict[str, int] = {}
        self.observation = params.first.copy()
        self._best = params.low.tolist()
        self._bounds = [*zip(params.low.tolist(), params.high.tolist(), strict=True)]

    def act(self, action: list[int]) -> tuple[list[float], bool, Info]:
        """Perform one action inside the space; return the m rewards, terminated and info."""
        try:
            if action[0] != END:
                self._add(node_of(action, len(self.nodes)))
                info = self.params.unfinished()
                info["finished"] = np.False_
                return [0.0] * len(self._best), False, self.params.priced(info, False)
            info = complete(self.params, self.key, self.seen, self.nodes, action)
        except InvalidRecipe as problem:
            info = self.params.invalid()
            info["error"] = f"{problem.rule}: {problem}"
        rewards = self.params.reward(info)
        self._complete(rewards)
        info["finished"] = np.True_
        return rewards, self.spent >= self.params.budget, self.params.priced(info, True)

    def _add(self, node: tuple[int, tuple[int, ...]]) -> None:
        at = len(self.nodes) * NODE
        self.nodes.append(node)
        op, inputs = node
        self.observation[at + op] = 1.0
        for place, k in enumerate(inputs):
            self.observation[at + len(OPERATIONS) + place] = k / (_VECTORS - 1)
        self.observation[MAX_NODES * NODE] = len(self.nodes) / MAX_NODES

    def _complete(self, rewards: list[float]) -> None:
        """Clear the workbench and notes the score."""
        o, m = self.observation, len(rewards)
        if self.nodes:
            self.nodes = []
            o[: MAX_NODES * NODE + 1] = 0.0
        self.spent += 1
        bounded = zip(rewards, self._bounds, strict=True)
        seen = [low if r < low else high if r > high else r for r, (low, high) in bounded]
        self._best = [b if b > r else r for r, b in zip(seen, self._best, strict=True)]
        o[-2 * m - 2 :] = [*seen, *self._best, 1.0, 1.0 - self.spent / self.params.budget]


def complete(
    params: CellParams, key: int, seen: dict[str, int], nodes: Sequence[tuple[int, tuple[int, ...]]], action: list[int]
) -> Info:
    """Result of the cell that an action of kind END completes.

    Args:
        params: What the environment is made of.
        key: Of the episode.
        seen: How often each computation was completed in the episode; counted here.
        nodes: Of the cell, see `finish`.
        action: Inside the space.

    Raises:
        InvalidRecipe: There is no such cell.
    """
    cell = finish(nodes, action)
    name = key_of(cell)
    count = seen[name] = seen.get(name, 0) + 1
    arm = int.from_bytes(hashlib.blake2b(name.encode(), digest_size=8).digest(), "little")
    return params.score(cell, name, draws.mix(draws.mix(key, arm), count))


class CellEnv(HPOEnv):
    """An action adds a node to a cell, or ends the cell, which is then scored.

    ## Action Space
    `MultiDiscrete([8, 29, 29, 29])`: `[kind, a, b, c]`. Kinds 0 to 6 add a node: linear, blend (z, x, y), product,
    sum, tanh, sigmoid, leaky ReLU. Vectors: 0 none, 1 the input `x`, 2 to 4 the previous hidden states, 5 + j the
    j-th node of the cell. Activations read `a`; a linear reads those of a, b, c that are not 0, sums and products
    need two of them, a blend all three. Kind 7 ends the cell: those of a, b, c that name nodes become the new hidden
    states in this order, the first is the output; nodes that lead to none of them are removed. A legal cell uses `x`
    and exactly as many previous hidden states as it has new ones.

    An illegal move (too few inputs, a vector that does not exist, a 25th node, an end that breaks the last rule)
    ends that cell as invalid, at the worst score.

    ## Observation Space
    `Box`, float32. With m objectives:

    | index | content | range |
    |---|---|---|
    | 10j to 10j + 6 | operation of node j (0 to 23), one-hot; 0 if there is no such node | 0 to 1 |
    | 10j + 7 to 10j + 9 | its inputs, vector / 28 | 0 to 1 |
    | 240 | nodes of the cell / 24 | 0 to 1 |
    | 241 to 240 + m | reward(s) of the last complete cell | bounds of the metric |
    | 241 + m to 240 + 2m | best reward(s) so far, per objective | as the reward |
    | 241 + 2m | whether a cell was completed | 0 to 1 |
    | 242 + 2m | fraction of the budget left | 0 to 1 |

    ## Episode End
    Terminated when `budget` cells are complete, invalid ones included, so after at most 25 x budget steps. Never
    truncated by itself.
    """

    params: CellParams
    mutate = staticmethod(mutate_actions)

    _run: Episode | None = None

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, Info]:
        """Start an episode with an empty cell."""
        super().reset(seed=seed, options=options)
        self._run = Episode(self.params, self._new_key(seed))
        info = {**provenance_info(self.tables), "action_mask": MASKS[len(self._run.nodes)].copy()}
        return self._run.observation.copy(), info

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, Info]:
        """Add a node, or ends the cell."""
        move = check_action(action)
        if not self._live or self._run is None:
            raise self._not_live()
        rewards, terminated, info = self._run.act(move)
        self._live = not terminated
        info["action_mask"] = MASKS[len(self._run.nodes)].copy()
        reward = np.array(rewards) if self.params.vector else rewards[0]
        return self._run.observation.copy(), reward, terminated, False, info

    def graph(self) -> Any:
        """The cell as it is so far, as a `networkx.DiGraph`, see `hpo_envs.tables.cells.graph`."""
        if self._run is None:
            raise self._not_live()
        return graph(Sketch.of(self._run.nodes))

    def _masks(self) -> npt.NDArray[np.bool_]:
        """(95,) bool: for each part of an action, one after the other, the values that can be legal now."""
        if self._run is None:
            raise self._not_live()
        out: npt.NDArray[np.bool_] = MASKS[len(self._run.nodes)].astype(bool)
        return out


def _mask_of(count: int) -> npt.NDArray[np.int8]:
    """(sum of SIZES,) values of each part of an action that can be legal after this number of nodes, part by part."""
    mask = np.zeros(sum(SIZES), np.int8)
    mask[: END + 1] = count < MAX_NODES
    mask[END] = count > 0
    for slot in range(SLOTS):
        start = SIZES[0] + slot * _VECTORS
        mask[start + (slot == 0) : start + SOURCES + count] = 1
    return mask


MASKS = np.stack([_mask_of(count) for count in range(MAX_NODES + 1)])
"""(MAX_NODES + 1, sum of SIZES) int8: the mask by the number of nodes."""


def check_action(action: Any) -> list[int]:
    """An action as four Python ints.

    Raises:
        ValueError: Not four ints inside the space.
    """
    array = array_of(action)
    if array.shape == (len(SIZES),) and array.dtype.kind in "iu":
        parts: list[int] = array.tolist()
        if min(parts) >= 0 and parts[0] < SIZES[0] and max(parts) < SIZES[1]:
            return parts
    raise ValueError(f"action must be four ints below {SIZES}, got {action!r}")

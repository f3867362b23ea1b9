"""One episode that builds cells: moves and their mask, illegal moves, complete cells, observation."""

import hashlib
from typing import Any

import numpy as np
import numpy.typing as npt

from hpo_envs.core.engines.cells.params import NODE, CellParams, Report
from hpo_envs.core.engines.episodes import Episode, EpisodeEnv, Step
from hpo_envs.core.params import check_action
from hpo_envs.tables import draws
from hpo_envs.tables.cells.canonical import key as key_of
from hpo_envs.tables.cells.grammar import END, SIZES, SLOTS, SOURCES, finish, node_of
from hpo_envs.tables.cells.graph import Sketch, graph
from hpo_envs.tables.cells.recipe import MAX_NODES, OPERATIONS, InvalidRecipe

_SIZES, _VECTORS = [*SIZES], SIZES[1]


def _mask_of(count: int) -> npt.NDArray[np.int8]:
    """Return the (sum of SIZES,) int8 mask of values that can be legal after `count` nodes, parts concatenated."""
    mask = np.zeros(sum(SIZES), np.int8)
    mask[: END + 1] = count < MAX_NODES
    mask[END] = count > 0
    for slot in range(SLOTS):
        start = SIZES[0] + slot * _VECTORS
        mask[start + (slot == 0) : start + SOURCES + count] = 1
    return mask


MASKS = np.stack([_mask_of(count) for count in range(MAX_NODES + 1)])
"""(MAX_NODES + 1, sum of SIZES) int8 masks, one for each number of nodes."""


class CellEpisode(Episode):
    """Episode that builds cells one after another.

    Attributes:
        nodes: Nodes (operation, inputs) of the cell under construction.
    """

    def __init__(self, params: CellParams, key: int) -> None:
        self.nodes: list[tuple[int, tuple[int, ...]]] = []
        self._p, self._key, self._spent = params, key, 0
        self._seen: dict[str, int] = {}  # how often each computation was completed
        self._out = params.first.copy()
        self._best = params.low.tolist()
        self._bounds = [*zip(params.low.tolist(), params.high.tolist(), strict=True)]

    @staticmethod
    def check(params: CellParams, action: Any) -> list[int]:
        """Return the action as four ints; ValueError if it is outside the space."""
        return check_action(action, _SIZES)

    def first(self) -> npt.NDArray[np.float32]:
        """Return the initial observation, that of an empty cell."""
        return self._out.copy()

    def mask(self) -> npt.NDArray[np.int8]:
        """Return the (95,) int8 mask of the values that can be legal now, the parts of an action concatenated."""
        return np.asarray(MASKS[len(self.nodes)].copy())

    def step(self, checked: list[int]) -> Step:
        """Add a node, with reward 0, or complete and score the cell; an illegal move completes it as invalid."""
        p, name, finished = self._p, "", True
        try:
            if checked[0] == END:
                name, report = self._score(checked)
            else:
                self._add(node_of(checked, len(self.nodes)))
                report, finished = p.unfinished, False
        except InvalidRecipe as problem:
            report = p.invalid._replace(error=f"{problem.rule}: {problem}")
        rewards = p.reward(report) if finished else [0.0] * len(self._best)
        if finished:
            self._complete(rewards)
        info = p.info(report, name, finished)
        terminated = finished and p.budget - self._spent <= p.rest
        return self._out.copy(), np.array(rewards) if p.vector else rewards[0], terminated, info

    def _score(self, action: list[int]) -> tuple[str, Report]:
        """Return the canonical key and the report of the cell that an END action completes, or raise InvalidRecipe."""
        cell = finish(self.nodes, action)
        name = key_of(cell)
        count = self._seen[name] = self._seen.get(name, 0) + 1
        arm = int.from_bytes(hashlib.blake2b(name.encode(), digest_size=8).digest(), "little")
        return name, self._p.scorer.score(cell, name, draws.mix(draws.mix(self._key, arm), count))

    def _add(self, node: tuple[int, tuple[int, ...]]) -> None:
        at = len(self.nodes) * NODE
        self.nodes.append(node)
        op, inputs = node
        self._out[at + op] = 1.0
        for place, k in enumerate(inputs):
            self._out[at + len(OPERATIONS) + place] = k / (_VECTORS - 1)
        self._out[MAX_NODES * NODE] = len(self.nodes) / MAX_NODES

    def _complete(self, rewards: list[float]) -> None:
        """Record the rewards of the complete cell and start the next one."""
        o, m = self._out, len(rewards)
        if self.nodes:
            self.nodes = []
            o[: MAX_NODES * NODE + 1] = 0.0
        self._spent += 1
        bounded = zip(rewards, self._bounds, strict=True)
        seen = [low if r < low else high if r > high else r for r, (low, high) in bounded]
        self._best = [b if b > r else r for r, b in zip(seen, self._best, strict=True)]
        o[-2 * m - 2 :] = [*seen, *self._best, 1.0, 1.0 - self._spent / self._p.budget]


class CellEnv(EpisodeEnv):
    """Environment whose actions add a node to a cell or end the cell, which is then scored.

    ## Action Space
    `MultiDiscrete([8, 29, 29, 29])`: `[kind, a, b, c]`. Kinds 0 to 6 add a node: linear, blend (z, x, y), product,
    sum, tanh, sigmoid, leaky ReLU. Vectors: 0 none, 1 the input `x`, 2 to 4 the previous hidden states, 5 + j the
    j-th node of the cell. Activations read `a`; a linear reads those of a, b, c that are not 0, sums and products
    need two of them, a blend all three. Kind 7 ends the cell: those of a, b, c that name nodes become the new hidden
    states in this order, the first is the output; nodes that lead to none of them are removed. A legal cell uses `x`
    and, with k new hidden states, exactly the first k previous ones.

    An illegal move (too few inputs, a vector that does not exist, a 25th node, an end that names no node or one linear
    twice, or breaks the last rule) ends that cell as invalid, at the worst score.

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
    episode = CellEpisode

    def graph(self) -> Any:
        """Return the cell under construction as a `networkx.DiGraph`, see `hpo_envs.tables.cells.graph`.

        ResetNeeded before the first `reset`.
        """
        if self._run is None:
            raise self._not_live()
        return graph(Sketch.of(self._run.nodes))

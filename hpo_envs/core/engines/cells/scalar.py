"""The scalar form of environments that build cells."""

from __future__ import annotations

from typing import Any

from hpo_envs.core.engines.cells.episode import CellEpisode
from hpo_envs.core.engines.cells.params import CellParams
from hpo_envs.core.engines.episodes import EpisodeEnv
from hpo_envs.tables.cells.graph import Sketch, graph


class CellEnv(EpisodeEnv):
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
    episode = CellEpisode

    def graph(self) -> Any:
        """The cell as it is so far, as a `networkx.DiGraph`, see `hpo_envs.tables.cells.graph`."""
        if self._run is None:
            raise self._not_live()
        return graph(Sketch.of(self._run.nodes))

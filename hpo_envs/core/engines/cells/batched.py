"""The batched form of environments that build cells."""

from __future__ import annotations

from hpo_envs.core.engines.cells.episode import CellEpisode
from hpo_envs.core.engines.cells.params import CellParams
from hpo_envs.core.engines.episodes import EpisodeVectorEnv


class CellVectorEnv(EpisodeVectorEnv):
    """Vectorized `CellEnv`."""

    params: CellParams
    episode = CellEpisode

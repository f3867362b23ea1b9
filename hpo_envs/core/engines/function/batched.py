"""The batched form of an environment on a function."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hpo_envs.core.engines.episodes import EpisodeVectorEnv
from hpo_envs.core.engines.function.episode import FunctionEpisode
from hpo_envs.core.engines.function.params import FunctionParams


class FunctionVectorEnv(EpisodeVectorEnv):
    """Vectorized `FunctionEnv`; `info["config"]` and `info["metrics"]` are arrays of dicts."""

    params: FunctionParams
    episode = FunctionEpisode

    def action_of(self, config: Mapping[str, Any]) -> Any:
        """The action of a configuration, see `FunctionParams.action_of`."""
        return self.params.action_of(config)

"""The scalar form of an environment on a function."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from hpo_envs.core.env import HPOEnv
from hpo_envs.core.infos import Info, provenance_info
from hpo_envs.engines.function.episode import Episode, check_action
from hpo_envs.engines.function.params import FunctionParams


class FunctionEnv(HPOEnv):
    """One step calls a function.

    ## Episode End
    Terminated when the budget is spent (the evaluation that exceeds it still counts). Never truncated by itself.

    ## Arguments
    - `function`: what is called, or `"module:name"` of it.
    - `space`: the search space: a dict such as `{"lr": (1e-5, 1e-1, "log"), "optimizer": ["sgd", "adam"]}`, Optuna's
      distributions by name, a `ConfigSpace.ConfigurationSpace`, or the suite's own `Hyperparameter`s; see
      `hpo_envs.tables.user.space`. A mapping `{"low": 0.0, "high": 1.0, "if": {"optimizer": ["sgd"]}}` has a condition.
    - `objective="score"`: name of the metric that is rewarded, or a tuple of names for a vector reward.
    - `goal="max"`: or `"min"`; one for each objective.
    - `bounds=None`: (lowest, highest) value that the score can have, or a dict of them by objective; None: 1e6 either
      way, where the observation ends.
    - `best=None`, `reference=None`: best known score and median score, a number each or one for each objective. With
      both, reports give normalised regret, 0 at `best` and 1 at `reference`; without, raw scores. No agent sees them.
    - `candidates=None`: number of candidates; None: 20 for each evaluation of the budget, from 500 to 5000. A space
      with fewer points is listed as a whole.
    - `candidate_seed=0`: of the candidates.
    - `cost_unit="s"`: unit of what the function returns as `cost`.

    ## Table
    None that anybody measured: the candidates, with the hash of search space, objectives and the function's name.

    ## References
    Your own function.

    ## Version History
    - v0: initial version.
    """

    params: FunctionParams

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, Info]:
        """Start an episode: nothing is evaluated."""
        super().reset(seed=seed, options=options)
        self._new_key(seed)
        self._episode_state = Episode(self.params)
        info: Info = provenance_info(self.tables)
        if self.params.kind != "box":
            info["action_mask"] = self._episode_state.mask()
        return self._episode_state.first(), info

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, Info]:
        """Call the function."""
        checked, noted = check_action(action, self.params)
        if not self._live:
            raise self._not_live()
        observation, reward, terminated, info = self._episode_state.step(checked, noted)
        self._live = not terminated
        return observation, reward, terminated, False, info

    def action_of(self, config: Mapping[str, Any]) -> Any:
        """The action of a configuration, see `FunctionParams.action_of`."""
        return self.params.action_of(config)

    def _masks(self) -> npt.NDArray[np.bool_]:
        """Bool: candidates not evaluated in this episode; where actions are pairs, then every epoch."""
        return self._episode_state.mask().astype(bool)

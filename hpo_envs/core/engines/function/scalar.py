"""The scalar form of an environment on a function."""

from __future__ import annotations

from hpo_envs.core.engines.episodes import EpisodeEnv
from hpo_envs.core.engines.function.episode import FunctionEpisode
from hpo_envs.core.engines.function.params import FunctionParams


class FunctionEnv(EpisodeEnv):
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
    episode = FunctionEpisode

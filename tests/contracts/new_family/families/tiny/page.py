"""Tiny: which of twelve taggers to use."""

from typing import Any

from hpo_envs.core.engines.lookup.params import LookupParams
from hpo_envs.core.engines.lookup.scalar import LookupEnv
from hpo_envs.core.params import Objectives

TABLES = ("tiny/taggers",)


class TinyEnv(LookupEnv):
    """Which of twelve taggers to use.

    ## Description
    Somebody trained twelve taggers. One step looks one of them up. Id: `Tiny-taggers-v0`.

    ## Action Space
    `Discrete(12)`: the tagger.

    ## Rewards
    Accuracy.

    ## Starting State
    Nothing evaluated.

    ## Information
    At reset: `table`, `kind`, `sha256`, `action_mask`. At each step: `cost`, `metrics`, `config` (empty), `status`,
    `action_mask`.

    ## Arguments
    - `objective="accuracy"`, `cost="evaluations"`, `budget=6`.

    ## Table
    One accuracy a tagger.

    ## References
    Nobody, 2026.

    ## Version History
    - v0: initial version.
    """

    @staticmethod
    def _params(*, objective: Objectives = "accuracy", budget: float | None = 6, **kwargs: Any) -> LookupParams:
        return LookupParams.of(TABLES, objective=objective, budget=budget, **kwargs)


TinyVectorEnv = TinyEnv.vectorized()

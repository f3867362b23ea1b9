"""Tiny: which of twelve taggers to use."""

from __future__ import annotations

from typing import Any

from hpo_envs.core.params import Objective
from hpo_envs.engines.lookup.batched import LookupVectorEnv
from hpo_envs.engines.lookup.params import LookupParams
from hpo_envs.engines.lookup.scalar import LookupEnv

TABLES = ("tiny/taggers",)


class TinyEnv(LookupEnv):
    """Which of twelve taggers to use.

    ## Description
    Somebody trained twelve taggers. One step looks one of them up. Id: `Tiny-taggers-v0`.

    ## Action Space
    `Discrete(12)`: the tagger.

    ## Observation Space
    `Box`, float32:

    | index | content | range |
    |---|---|---|
    | 0 | reward of the last tagger | 0 to 1 |
    | 1 | its cost | 0 to 1 evaluation |
    | 2 | best reward so far | 0 to 1 |
    | 3 | budget left, as a share | 0 to 1 |

    ## Rewards
    Accuracy.

    ## Starting State
    Nothing evaluated.

    ## Episode End
    Terminated when the budget is spent.

    ## Information
    At reset: `table`, `kind`, `sha256`, `action_mask`. At each step: `cost`, `metrics`, `config` (empty), `status`,
    `action_mask`.

    ## Arguments
    - `table="auto"`, `objective="accuracy"`, `cost="evaluations"`, `budget=6`.

    ## Table
    One accuracy a tagger.

    ## References
    Nobody, 2026.

    ## Version History
    - v0: initial version.
    """

    def __init__(
        self,
        *,
        table: Any = "auto",
        objective: Objective = "accuracy",
        cost: str = "evaluations",
        budget: float | None = 6,
    ) -> None:
        super().__init__(LookupParams.of(TABLES, table=table, objective=objective, cost=cost, budget=budget))


TinyVectorEnv = LookupVectorEnv.twin_of(TinyEnv)

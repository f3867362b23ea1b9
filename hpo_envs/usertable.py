"""TableHPO: a user's own table of configurations and scores as an environment."""

from __future__ import annotations

from typing import Any

from hpo_envs.lookup import LookupEnv, LookupVectorEnv
from hpo_envs.prepared import Objective, load_tables


class TableHPOEnv(LookupEnv):
    """Hyperparameter optimisation on a table of your own.

    ## Description
    A CSV file, a DataFrame or an Optuna study becomes a table (`hpo-envs table from-csv`, or
    `hpo_envs.tables.builders.user`), and the table an environment. Id: `TableHPO-v0`. Without a name it uses a small
    synthetic example.

    ## Action Space
    `Discrete(rows)`: the configuration to evaluate, in the order in which configurations first appear.

    ## Observation Space
    `Box`, float32. With d features and m objectives:

    | index | content | range |
    |---|---|---|
    | 0 to d - 1 | features of the last row: numbers scaled to 0 to 1, one 0/1 column per choice of a text | 0 to 1 |
    | d to d + m - 1 | its reward(s) | bounds of the metric, negative if lower is better |
    | d + m | its cost | 0 to 1 evaluation, or 0 to a cap of 1e9 |
    | d + m + 1 to d + 2m | best reward(s) so far, each objective on its own | as the reward |
    | d + 2m + 1 | budget left, as a share | 0 to 1 |

    ## Rewards
    The score of this evaluation, negative if lower is better. A configuration with repeats answers with one of them,
    drawn anew at each evaluation; one that failed is rewarded with the metric's lower bound.

    ## Starting State
    Nothing evaluated, full budget.

    ## Episode End
    Terminated when the budget is spent (the evaluation that exceeds it still counts), or after rows x repeats steps.
    Never truncated by itself.

    ## Information
    At reset: `table`, `kind` (`measured` for a user's table, `surrogate` for the example), `sha256`, `action_mask`.
    At each step: `cost`, `metrics` (dict of float), `config` (dict of natural values), `status` (`ok` or `failed`),
    `action_mask` ((rows,) int8, 1 = not yet evaluated).

    ## Arguments
    - `name="example"`: name of an installed table.
    - `table="auto"`: or a `Table`, which need not be installed.
    - `objective=None`: the table's score, another metric, or a tuple of metrics.
    - `cost="evaluations"`: or the table's cost unit.
    - `budget=20`: in units of `cost`; None = every run once.

    ## Table
    Yours: `table.provenance.notes` says what was inferred of each column.

    ## References
    None: cite where your numbers come from.

    ## Version History
    - v0: initial version.
    """

    def __init__(
        self,
        name: str = "example",
        *,
        table: Any = "auto",
        objective: Objective | None = None,
        cost: str = "evaluations",
        budget: float | None = 20,
    ) -> None:
        (found,) = load_tables((f"user/{name}",), table)
        objective = found.metric_names[0] if objective is None else objective
        super().__init__((found.name,), table=found, objective=objective, cost=cost, budget=budget)


class TableHPOVectorEnv(LookupVectorEnv):
    """`TableHPOEnv` for many episodes side by side."""

    def __init__(
        self,
        num_envs: int = 1,
        name: str = "example",
        *,
        table: Any = "auto",
        objective: Objective | None = None,
        **kwargs: Any,
    ) -> None:
        (found,) = load_tables((f"user/{name}",), table)
        objective = found.metric_names[0] if objective is None else objective
        super().__init__(num_envs, (found.name,), table=found, objective=objective, **kwargs)

"""TableHPO and TableLC: environments on the user's own tables, made with `hpo_envs.tables.user`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hpo_envs.core.params import Objective
from hpo_envs.engines.curves.batched import CurvesVectorEnv
from hpo_envs.engines.curves.params import CurveParams
from hpo_envs.engines.curves.scalar import CurvesEnv
from hpo_envs.engines.lookup.batched import LookupVectorEnv
from hpo_envs.engines.lookup.params import LookupParams
from hpo_envs.engines.lookup.scalar import LookupEnv
from hpo_envs.tables import store, user
from hpo_envs.tables.table import Table, nearest


def own_table(name: str, table: Any) -> Table:
    """The table that the arguments mean.

    Args:
        name: Name of a saved table, which the ids of saved tables fix, or `example`.
        table: A `Table`, the path of an .npz file or the name of a saved table; `"auto"`, `"measured"` and
            `"surrogate"` stand for `name`.

    Raises:
        ValueError: Neither names a table.
    """
    if isinstance(table, Table):
        return user.remember(table) if table.name.startswith(user.PREFIX) else table
    if isinstance(table, (str, Path)) and str(table) not in store.KINDS:
        if not str(table).endswith(".npz") and not user.exists(str(table)):
            known = [*store.KINDS, *user.names()]
            raise ValueError(
                f"table must be one of {', '.join(known)} (hpo-envs table list), a Table or the path of an .npz file, "
                f"got {table!r}{nearest(str(table), known)}"
            )
        return user.load(table)
    if not isinstance(table, str):
        raise ValueError(f"table must be a Table, the path of an .npz file or the name of a saved table, got {table!r}")
    return store.load(f"{user.PREFIX}{name}", table)  # type: ignore[arg-type]


class TableHPOEnv(LookupEnv):
    """Hyperparameter optimisation on a table of your own.

    ## Description
    A sweep that somebody has already run, as an environment: one step looks up one configuration of the table, costs
    what running it has cost, and rewards its score. One episode is one optimisation run.

    Ids: `TableHPO-v0`, with the table as argument (without one, a small synthetic example); and
    `TableHPO-{name}-v0` for each table saved with `hpo-envs table`.

    ## Action Space
    `Discrete(rows)`: the configuration to evaluate, in the order of the file.

    ## Observation Space
    `Box`, float32. With d features (a choice has one 0/1 feature per value) and m objectives:

    | index | content | range |
    |---|---|---|
    | 0 to d - 1 | features of the last row | 0 to 1 |
    | d to d + m - 1 | its reward(s) | bounds of the metric, negative if lower is better |
    | d + m | its cost | 0 to 1 evaluation, or 0 to the bound of the cost |
    | d + m + 1 to d + 2m | best reward(s) so far, each objective on its own | as the reward |
    | d + 2m + 1 | budget left, as a share | 0 to 1 |

    Values beyond a bound are observed at the bound; `info` has them as they are.

    ## Rewards
    The metric `objective` of this evaluation, negative if lower is better; the table's first metric by default. A
    configuration whose every run failed gets the metric's worst value.

    ## Starting State
    Nothing evaluated: features 0, reward(s) at the lower bound, full budget.

    ## Episode End
    Terminated when the budget is spent (the evaluation that exceeds it still counts), or after as many steps as the
    table has rows x repeats. Never truncated by itself.

    ## Information
    At reset: `table`, `kind` (`measured`; `surrogate` for the example), `sha256` of the table, `action_mask`.
    At each step: `cost` (float, in `env.unwrapped.cost_unit`), `metrics` (dict of float), `config` (dict of natural
    hyperparameter values, 0 where inactive), `status` (`ok`, `failed`, `diverged` or `truncated`), `action_mask`
    ((rows,) int8, 1 = not yet evaluated). Where a configuration has several runs, each evaluation draws one.

    ## Arguments
    - `table="auto"`: the table called `name`; or a `Table`, the path of an .npz file written by
      `hpo_envs.tables.user.save`, or the name of a saved one.
    - `name="example"`: of the saved table, fixed by its id; the example is synthetic.
    - `objective=None`: any metric, or a tuple of metrics for a vector reward; None is the table's first.
    - `cost="evaluations"`: or the table's cost unit, or a metric to be kept low.
    - `budget=20`: in units of `cost`; None = every run once.
    - `order="table"`: the table's order of rows; `"episode"` draws another for each episode, so that the index of an
      action carries no information. `env.unwrapped.rows` and `info["row"]` then say which row of the table it is.
    - `share=1.0`: share of the rows, in (0, 1], that an episode has: drawn for each, the action space as small.

    ## Table
    What `hpo_envs.tables.user.from_csv`, `from_frame` or `from_study` made of your data; its notes say how each
    column was read.

    ## References
    The table's own `provenance.citation`.

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
        order: str = "table",
        share: float = 1.0,
    ) -> None:
        t = own_table(name, table)
        first = t.metric_names[0]
        super().__init__(
            LookupParams.of(
                (t.name,), table=t, objective=objective or first, cost=cost, budget=budget, order=order, share=share
            )
        )


TableHPOVectorEnv = LookupVectorEnv.twin_of(TableHPOEnv)


class TableLCEnv(CurvesEnv):
    """Multi-fidelity hyperparameter optimisation on learning curves of your own.

    ## Description
    Learning curves that somebody has already measured, as an environment: one step trains one configuration up to
    one checkpoint, continuing from the checkpoint reached before, and pays what is new.

    Ids: `TableLC-v0`, with the table as argument; and `TableLC-{name}-v0` for each table with checkpoints saved with
    `hpo-envs table from-csv --level COLUMN`.

    ## Action Space
    `MultiDiscrete([rows, checkpoints])`: the configuration, in the order of the file, and the checkpoint.

    ## Observation Space
    `Box`, float32. With d features (a choice has one 0/1 feature per value) and m objectives:

    | index | content | range |
    |---|---|---|
    | 0 to d - 1 | features of the last row | 0 to 1 |
    | d | share of the longest training that the checkpoint stands for | 0 to 1 |
    | d + 1 to d + m | its reward(s) | bounds of the metric, negative if lower is better |
    | d + m + 1 | cost of the step | 0 to 1e9 |
    | d + m + 2 to d + 2m + 1 | best reward(s) at any checkpoint passed so far | as the reward |
    | d + 2m + 2 | budget left, as a share | 0 to 1 |

    ## Rewards
    The metric `objective` at that checkpoint, negative if lower is better; the table's first metric by default.

    ## Starting State
    Nothing trained: features 0, reward(s) at the lower bound, full budget.

    ## Episode End
    Terminated when the budget is spent, when every row is fully trained, or after rows x checkpoints steps. Never
    truncated by itself.

    ## Information
    At reset: `table`, `kind` (`measured`; `surrogate` for the example), `sha256` of the table, `action_mask`.
    At each step: `cost`, `metrics`, `config`, `status`, `reached`, `best` and `action_mask`; with several workers
    also `finished`, `action` and `clock`. All as in `NMTLCEnv`.

    ## Arguments
    - `table="auto"`: the table called `name`; or a `Table`, the path of an .npz file written by
      `hpo_envs.tables.user.save`, or the name of a saved one.
    - `name="example"`: of the saved table, fixed by its id; the example is synthetic.
    - `objective=None`: any metric, or a tuple of metrics for a vector reward; None is the table's first.
    - `cost=None`, `budget="auto"`, `levels=None`, `workers=1`, `variant="paper"`, `order="table"`, `share=1.0`: as in
      `NMTLCEnv`.

    ## Table
    What `hpo_envs.tables.user.from_csv` made of your file; its notes say how each column was read.

    ## References
    The table's own `provenance.citation`.

    ## Version History
    - v0: initial version.
    """

    def __init__(
        self,
        name: str = "example",
        *,
        table: Any = "auto",
        objective: Objective | None = None,
        order: str = "table",
        share: float = 1.0,
        **kwargs: Any,
    ) -> None:
        t = own_table(name, table)
        first = t.metric_names[0]
        super().__init__(
            CurveParams.of(t.name, table=t, objective=objective or first, order=order, share=share, **kwargs)
        )


TableLCVectorEnv = CurvesVectorEnv.twin_of(TableLCEnv)

"""TableHPO and TableLC: environments on the user's own tables, made with `hpo_envs.tables.user`."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

from hpo_envs.core.engines.curves.params import CurveParams
from hpo_envs.core.engines.curves.scalar import CurvesEnv
from hpo_envs.core.engines.lookup.params import LookupParams
from hpo_envs.core.engines.lookup.scalar import LookupEnv
from hpo_envs.core.env import HPOEnv
from hpo_envs.core.params import Objectives, Params
from hpo_envs.tables import store, user
from hpo_envs.tables.checks import shown
from hpo_envs.tables.table import Table


def own_table(name: str, table: Any) -> Table:
    """Return the table that the arguments select; a given `Table` whose name begins with `user/` is remembered.

    Args:
        name: Name of a saved table, which the ids of saved tables fix, or `example`.
        table: A `Table`, the path of an .npz file or the name of a saved table; None: use `name`.

    Raises:
        ValueError: Neither argument names a table, or the file is not one.
        FileNotFoundError: The file does not exist.
    """
    if isinstance(table, Table):
        return user.remember(table) if table.name.startswith(user.PREFIX) else table
    if isinstance(table, (str, Path)):
        return user.load(table)
    if table is not None:
        raise ValueError(
            f"table must be a Table, the path of an .npz file or the name of a saved table, got {shown(table)}"
        )
    if not isinstance(name, str):
        raise ValueError(f"name must be the name of a saved table, got {shown(name)}")
    return store.load(f"{user.PREFIX}{name}")


class UserTable(HPOEnv):
    """Base class of the two families of users' tables.

    ## Arguments
    - `table=None`: the table called `name`; or a `Table`, the path of an .npz file written by
      `hpo_envs.tables.user.save`, or the name of a saved one.
    - `name="example"`: name of a saved table, fixed by its id; the example is synthetic.
    - `objective=None`: any metric, or a tuple of metrics for a vector reward; None is the table's first.

    ## Table
    A table made from your data by `hpo_envs.tables.user.from_csv`, `from_frame` or `from_study`; its notes document how
    each column was read.

    ## References
    The table's own `provenance.citation`.
    """

    @classmethod
    def _params(
        cls, name: str = "example", *, table: Any = None, objective: Objectives | None = None, **kwargs: Any
    ) -> Params:
        t = own_table(name, table)
        if table is not None and name not in ("example", t.name.removeprefix(user.PREFIX)):
            raise ValueError(f"table must be left out for the id of the table {name!r}, got {t.name}")
        return cls._engine(t, objective=t.metric_names[0] if objective is None else objective, **kwargs)

    _engine: ClassVar[Callable[..., Params]]
    """Function that makes the engine's parameters from a table and further arguments."""


class TableHPOEnv(UserTable, LookupEnv):
    """Hyperparameter optimisation on your own table.

    ## Description
    A recorded sweep as an environment: one step looks up one configuration, charges its recorded cost and returns its
    score as the reward. One episode is one optimisation run.

    Ids: `TableHPO-v0`, with the table as argument (without one, a small synthetic example); and
    `TableHPO-{name}-v0` for each saved table (`hpo-envs table`).

    ## Action Space
    `Discrete(rows)`: the configuration to evaluate, in the order of the table.

    ## Rewards
    The metric `objective` of this evaluation, negative if lower is better; the table's first metric by default. A
    run that failed or diverged gets the metric's worst value.

    ## Information
    `status`: `ok`, `failed`, `diverged` or `truncated`. Each evaluation draws one of the runs of a configuration.

    ## Arguments
    - `cost="evaluations"`: or the table's cost unit, or a metric whose goal is `min`.
    - `budget="auto"`: in units of `cost`; "auto" = 20 evaluations, or the cost of 20 on average; None = every run once.

    """

    @staticmethod
    def _engine(table: Table, **kwargs: Any) -> LookupParams:
        return LookupParams.of((table.name,), table=table, **kwargs)


TableHPOVectorEnv = TableHPOEnv.vectorized()


class TableLCEnv(UserTable, CurvesEnv):
    """Multi-fidelity hyperparameter optimisation on your own learning curves.

    ## Description
    Recorded learning curves as an environment: one step trains one configuration up to
    one checkpoint, continuing from the checkpoint reached before, and pays only for the new part.

    Ids: `TableLC-v0`, with the table as argument; and `TableLC-{name}-v0` for each saved table with checkpoints
    (`hpo-envs table from-csv --level COLUMN`).

    ## Action Space
    `MultiDiscrete([rows, checkpoints])`: the configuration, in the order of the table, and the checkpoint.

    ## Rewards
    The metric `objective` at that checkpoint, negative if lower is better; the table's first metric by default.

    ## Information
    `status`: `ok`, `failed`, `diverged` or `truncated`.

    """

    @staticmethod
    def _engine(table: Table, **kwargs: Any) -> CurveParams:
        return CurveParams.of(table.name, table=table, **kwargs)


TableLCVectorEnv = TableLCEnv.vectorized()

"""Tables as pandas frames and as HTML for notebooks; hash order and natural order of their rows.

If actions are rows, an informative order of the rows leaks results: in grid order, rows 0, 1, 2, ... beat most
optimizers on some tables. Such rows are therefore stored in the order of a hash of their keys.

A space is a sequence of `Hyperparameter`s, defined in `hpo_envs.tables.table`, which imports this module.
"""

import hashlib
from collections.abc import Collection, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from hpo_envs.tables import Floats

T = TypeVar("T", bound=Any)  # a `Table`


def config_columns(
    space: Sequence[Any], raw: Floats, active: npt.NDArray[np.bool_], taken: Collection[str] = ()
) -> dict[str, list[Any]]:
    """Return the columns of natural values of (n, d) raw configurations, by name; values not `active` are None.

    A hyperparameter with the name of another column (`taken`) is prefixed with `config.`.
    """
    found = {}
    for h, column, mask in zip(space, raw.T.tolist(), active.T, strict=True):
        found[column_of(h.name, taken)] = [h.natural(v) if a else None for v, a in zip(column, mask, strict=True)]
    return found


def column_of(name: str, taken: Collection[str]) -> str:
    """Name of a hyperparameter's column in a data frame, prefixed with `config.` if another column has the name."""
    return f"config.{name}" if name in taken else name


def of_table(table: Any, active: npt.NDArray[np.bool_], statuses: Sequence[str], lost: Sequence[int]) -> Any:
    """Return the data frame of a `Table`, see `Table.to_frame`; runs with a code in `lost` always get a row."""
    import pandas as pd

    kept = ~np.isnan(table.cost) | ~np.isnan(table.values).all(axis=-1)
    kept[..., 0] |= np.isin(table.status, lost)
    row, repeat, level = np.nonzero(kept)
    where: dict[str, Any] = {"repeat": repeat} if table.repeats > 1 else {}
    if len(table.levels) > 1:
        where["level"] = table.levels[level]
    ends = {"cost": table.cost[row, repeat, level], "status": np.array(statuses)[table.status[row, repeat]]}
    taken = ("key", *where, *ends)
    names = [f"metrics.{name}" if name in taken else name for name in table.metric_names]
    after = where | dict(zip(names, table.values[row, repeat, level].T, strict=True)) | ends
    columns = config_columns(table.space, table.configs, active, ("key", *after))
    configs = pd.DataFrame(columns, index=range(len(table)))
    configs.insert(0, "key", table.keys)
    return pd.concat([configs.iloc[row].reset_index(drop=True), pd.DataFrame(after)], axis=1)


def facts(title: str, values: Mapping[str, Any]) -> str:
    """HTML of a title and a table of names and values."""
    import html

    cells = "".join(
        f'<tr><th style="text-align:left">{html.escape(name)}</th><td style="text-align:left">{html.escape(str(value))}'
        "</td></tr>"
        for name, value in values.items()
    )
    return f"<p><b>{html.escape(title)}</b></p><table>{cells}</table>"


def hashed(table: T) -> T:
    """Return the table with its rows ordered by a hash of table name and key, independent of measurements."""
    hashes = [hashlib.sha256(f"{table.name} {key}".encode()).digest() for key in table.keys]
    found: T = table.subset(sorted(range(len(table)), key=hashes.__getitem__))
    return found


def natural(table: T) -> T:
    """Return the table with its rows in the order of their grid, else of their source, for fits and reproductions.

    Rows are in grid order, the last hyperparameter varying fastest, if every hyperparameter has a list of values;
    otherwise, and among runs of one configuration, in the order of `source_index`.
    """
    of_grid = all(h.values for h in table.space)
    found: T = table.subset(np.lexsort((table.source_index, *(table.configs.T[::-1] if of_grid else ()))))
    return found

"""In which order the rows of a table are kept.

Where actions are rows, an index that says something of the row gives the answer away: in the order of a grid, rows 0,
1, 2, ... beat most optimisers on some tables. So such rows are kept in the order of a hash of their keys.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np

from hpo_envs.tables.table import Table


def hashed(table: Table, keys: Sequence[str] | None = None) -> Table:
    """The same rows in the order of a hash of the table's name and their keys.

    Args:
        table: The table.
        keys: (rows,) what to hash, nothing measured; default: `table.keys`. Equal ones keep their order.
    """
    hashes = [hashlib.sha256(f"{table.name} {key}".encode()).digest() for key in keys or table.keys]
    return table.subset(sorted(range(len(table)), key=hashes.__getitem__))


def natural(table: Table) -> Table:
    """The same rows in the order of the grid they come from, else of their source: for fits and reproductions.

    Rows are in grid order, the last hyperparameter varying fastest, where every hyperparameter has a list of values;
    elsewhere, and among runs of one configuration, in the order of `source_index`.
    """
    of_grid = all(h.values for h in table.space)
    return table.subset(np.lexsort((table.source_index, *(table.configs.T[::-1] if of_grid else ()))))

"""The tables that answer an environment: loading them, telling them apart, and what `reset` says of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from hpo_envs.checks import shown
from hpo_envs.core.infos import Info
from hpo_envs.tables import store
from hpo_envs.tables.table import Table


def load_tables(names: tuple[str, ...], table: Any) -> tuple[Table, ...]:
    """The tables of an id.

    Args:
        names: Table names.
        table: None for those, or a `Table` instead, a tuple of them for several names.

    Raises:
        ValueError: Neither.
    """
    if table is None:
        return tuple(store.load(name) for name in names)
    if isinstance(table, Table):
        return (table,)
    if isinstance(table, (tuple, list)) and table and all(isinstance(t, Table) for t in table):
        return tuple(table)
    raise ValueError(f"table must be a Table{hint(table)}, got {shown(table)}")


def hint(table: Any) -> str:
    """For messages: what to do instead of choosing a kind of table, as was possible before each id had one table."""
    return " or left out, since each id has one table" if table in ("auto", "measured", "surrogate") else ""


KINDS = ("measured", "surrogate")
"""Kinds of table; `info["kind_code"]` is a place in here."""


def provenance_info(tables: Sequence[Table], index: int = 0) -> Info:
    """What `reset` says of the table: `table`, `kind`, `sha256`, and the same as numbers.

    Args:
        tables: Of the environment.
        index: Of the episode's table.

    Returns:
        The three texts; `table_code`, the index; `kind_code`, a place in `KINDS`; `sha256_code`, (32,) uint8.
    """
    table = tables[index]
    sha256, kind = table.provenance.sha256, table.provenance.kind
    code = np.frombuffer(bytes.fromhex(sha256), np.uint8).copy()
    codes = {"table_code": np.int64(index), "kind_code": np.int64(KINDS.index(kind)), "sha256_code": code}
    return {"table": table.name, "kind": kind, "sha256": sha256, **codes}

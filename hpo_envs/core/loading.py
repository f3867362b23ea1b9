"""The tables that answer an environment: loading them, telling them apart, and what `reset` says of them."""

from __future__ import annotations

from typing import Any

from hpo_envs.core.infos import Info
from hpo_envs.tables import store
from hpo_envs.tables.table import Table, one_of


def load_tables(names: tuple[str, ...], table: Any) -> tuple[Table, ...]:
    """The tables of an id.

    Args:
        names: Table names.
        table: `"auto"`, `"measured"`, `"surrogate"`, or a `Table` (a tuple of them for several names).

    Raises:
        ValueError: Not one of those.
    """
    if isinstance(table, Table):
        return (table,)
    if isinstance(table, (tuple, list)) and table and all(isinstance(t, Table) for t in table):
        return tuple(table)
    one_of("table", table, store.KINDS, " or a Table")
    return tuple(store.load(name, table) for name in names)  # type: ignore[arg-type]


def provenance_info(table: Table) -> Info:
    """What `reset` says of the table: `table`, `kind` and `sha256`."""
    return {"table": table.name, "kind": table.provenance.kind, "sha256": table.provenance.sha256}

"""The part of a table that an episode has: the problem that a run is scored on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hpo_envs.core.view import View, first_key
from hpo_envs.tables.table import Table


def key(header: Mapping[str, Any]) -> tuple[float, int] | tuple[()]:
    """Share of the rows and the seed that draws them; nothing where every seed has the whole table."""
    share = float(header.get("share", 1.0))
    return (share, int(header["seed"])) if share < 1.0 else ()


def of(table: Table, header: Mapping[str, Any]) -> Table:
    """The rows that the episode of a run had, whatever their order.

    Args:
        table: The whole table.
        header: Of the run.
    """
    if not (part := key(header)):
        return table
    share, seed = part
    return table.subset(View(share=share).rows(first_key(seed), len(table)))

"""The part of a table that an episode has: the problem that a run is scored on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from hpo_envs.benchmarks.runs.episodes import seeds_of
from hpo_envs.core.subsample import View, first_key
from hpo_envs.tables.table import Table


def key(header: Mapping[str, Any]) -> tuple[float, int] | tuple[()]:
    """Share of the rows and the key that draws them; nothing where every seed has the whole table."""
    share = float(header.get("share", 1.0))
    return (share, first_key(seeds_of(header["env"], int(header["seed"]))[0])) if share < 1.0 else ()


def of(table: Table, part: tuple[float, int] | tuple[()]) -> Table:
    """The rows that the episode of a run had, whatever their order.

    Args:
        table: The whole table.
        part: What `key` says of the run.
    """
    index = rows(table, part)
    return table if index is None else table.subset(index)


def rows(table: Table, part: tuple[float, int] | tuple[()]) -> npt.NDArray[np.int64] | None:
    """Which rows those are; None: all."""
    return View(share=part[0]).rows(part[1], len(table)) if part else None

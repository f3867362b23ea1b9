"""The table that a saved run was made on, and its configurations: for those few scores that need them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import gymnasium as gym
import numpy as np
import numpy.typing as npt

from hpo_envs import registry
from hpo_envs.benchmarks.runs.episodes import seeds_of
from hpo_envs.core.subsample import View, first_key
from hpo_envs.tables import store as tables
from hpo_envs.tables.table import Table


def table_of(header: Mapping[str, Any]) -> Table:
    """The table that a saved run was made on.

    Raises:
        ValueError: It has changed since.
    """
    spec, arguments = registry.find(header["env"]), header.get("env_kwargs", {})
    arms = {k: v for k, v in arguments.items() if k in ("means", "deviations", "bounds")}
    if spec is not None and (spec.surrogate or arms):  # the environment makes its tables
        made = gym.make(spec.id, **arms).unwrapped.params.tables  # type: ignore[attr-defined]
        table: Table = next(t for t in made if t.name == header["table"])
    else:
        table = tables.load(header["table"])
    if table.provenance.sha256 != header["sha256"]:
        raise ValueError(
            f"runs must be scored against the table they were made on: {header['table']} ({header['kind']}) has "
            f"sha256 {table.provenance.sha256}, the runs say {header['sha256']}"
        )
    return table


def key(header: Mapping[str, Any]) -> tuple[float, int] | tuple[()]:
    """Share of the rows and the key that draws them; nothing where every seed has the whole table."""
    subsample = float(header.get("subsample", 1.0))
    return (subsample, first_key(seeds_of(header["env"], int(header["seed"]))[0])) if subsample < 1.0 else ()


def subset(table: Table, part: tuple[float, int] | tuple[()]) -> Table:
    """The rows that the episode of a run had, whatever their order.

    Args:
        table: The whole table.
        part: What `key` says of the run.
    """
    index = rows(table, part)
    return table if index is None else table.subset(index)


def rows(table: Table, part: tuple[float, int] | tuple[()]) -> npt.NDArray[np.int64] | None:
    """Which rows those are; None: all."""
    return View(subsample=part[0]).rows(part[1], len(table)) if part else None

"""The table that saved runs were made on, where it is at hand: scores do not need it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import gymnasium as gym

from hpo_envs.tables import store as tables
from hpo_envs.tables.table import Table


def table_of(header: Mapping[str, Any]) -> Table:
    """The table that a saved run was made on.

    Raises:
        ValueError: It has changed since.
    """
    table = tables.load(header["table"], header["kind"])
    arms = {k: v for k, v in header.get("env_kwargs", {}).items() if k in ("means", "deviations", "bounds")}
    if header["table"] == "fiesta/gaussian" and arms:  # given as arguments
        table = gym.make(header["env"], table=header["kind"], **arms).unwrapped.table  # type: ignore[attr-defined]
    if table.provenance.sha256 != header["sha256"]:
        raise ValueError(
            f"runs must be scored against the table they were made on: {header['table']} ({header['kind']}) has "
            f"sha256 {table.provenance.sha256}, the runs say {header['sha256']}"
        )
    return table

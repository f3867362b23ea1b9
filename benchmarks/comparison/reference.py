"""The table that saved runs were made on, where it is at hand: scores do not need it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import gymnasium as gym

from hpo_envs import registry
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
        table = next(t for t in made if t.name == header["table"])
    else:
        table = tables.load(header["table"])
    if table.provenance.sha256 != header["sha256"]:
        raise ValueError(
            f"runs must be scored against the table they were made on: {header['table']} ({header['kind']}) has "
            f"sha256 {table.provenance.sha256}, the runs say {header['sha256']}"
        )
    return table

"""The optimum that runs are measured against."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from hpo_envs import registry
from hpo_envs.agents.models.pareto import pareto_front
from hpo_envs.benchmarks.analysis import subsets
from hpo_envs.benchmarks.runs import Run
from hpo_envs.tables import store as tables
from hpo_envs.tables.table import Table


@dataclass(frozen=True)
class Reference:
    """What a run is measured against; never shown to an agent.

    Attributes:
        best: (m,) best reward of each objective in the table.
        front: (J, m) rewards of the Pareto front.
    """

    best: npt.NDArray[np.float64]
    front: npt.NDArray[np.float64]


def table_of(header: Mapping[str, Any]) -> Table:
    """The table that a saved run was made on.

    Raises:
        ValueError: It has changed since.
    """
    table = tables.load(header["table"], header["kind"])
    if table.provenance.sha256 != header["sha256"]:
        raise ValueError(
            f"runs must be scored against the table they were made on: {header['table']} ({header['kind']}) has "
            f"sha256 {table.provenance.sha256}, the runs say {header['sha256']}"
        )
    return table


def final_rewards(table: Table, objectives: Sequence[str]) -> npt.NDArray[np.float64]:
    """(n, m) rewards of a finite table's rows at their last level, repeats averaged; rows that lack one are left out.

    Args:
        table: The table.
        objectives: Names of the rewarded metrics.
    """
    columns = [table.final(name) * table.metrics[table.metric(name)].sign for name in objectives]
    rewards = np.stack(columns, axis=1)
    return rewards[~np.isnan(rewards).any(axis=1)]


def of_table(table: Table, objectives: Sequence[str]) -> Reference:
    """The optimum of a table, by `final_rewards`."""
    rewards = final_rewards(table, objectives)
    return Reference(rewards.max(axis=0), rewards[pareto_front(rewards)])


@functools.cache
def _reference(
    table: str, kind: str, sha256: str, objectives: tuple[str, ...], part: tuple[float, int] | tuple[()]
) -> Reference:
    return of_table(subsets.of(table_of({"table": table, "kind": kind, "sha256": sha256}), part), objectives)


def searched(env_id: str) -> Callable[[Mapping[str, Any]], float] | None:
    """The function from a run's header to the best that a long search found, where a family names one."""
    family = registry.family_of(env_id)
    module, _, name = family.optimum.partition(":") if family else ("", "", "")
    return getattr(importlib.import_module(module), name) if name else None


def of_run(run: Run) -> Reference:
    """The optimum that a saved run is scored against.

    Raises:
        ValueError: The table has changed since the run was made.
    """
    h = run.header
    if function := searched(h["env"]):
        if len(h["objectives"]) != 1:
            raise ValueError(
                f"objective must be one name on {h['env']}, whose front is not known, got {h['objectives']}"
            )
        best = np.array([function(h)])
        return Reference(best, best[None])
    return _reference(h["table"], h["kind"], h["sha256"], tuple(h["objectives"]), subsets.key(h))

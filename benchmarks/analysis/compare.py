"""Compares agents on one id: scores of runs, and a table of them."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from hpo_envs import registry
from hpo_envs.benchmarks.analysis import statistics, targets
from hpo_envs.benchmarks.runs import Run
from hpo_envs.pareto import pareto_front
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


def reference_of(table: Table, objectives: Sequence[str]) -> Reference:
    """The optimum of a table, by `final_rewards`."""
    rewards = final_rewards(table, objectives)
    return Reference(rewards.max(axis=0), rewards[pareto_front(rewards)])


@functools.cache
def _reference(table: str, kind: str, sha256: str, objectives: tuple[str, ...]) -> Reference:
    return reference_of(table_of({"table": table, "kind": kind, "sha256": sha256}), objectives)


def searched(env_id: str) -> Callable[[Mapping[str, Any]], float] | None:
    """The function from a run's header to the best that a long search found, where a family names one."""
    family = registry.family_of(env_id)
    module, _, name = family.optimum.partition(":") if family else ("", "", "")
    return getattr(importlib.import_module(module), name) if name else None


def reference(run: Run) -> Reference:
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
    return _reference(h["table"], h["kind"], h["sha256"], tuple(h["objectives"]))


def score(run: Run, tolerance: float = 0.5) -> dict[str, float]:
    """Scores of one run: `best`, `fb`, `ftb`, `ftc` for one objective; `fbp`, `fto`, `fta` for several."""
    ref = reference(run)
    if run.rewards.ndim == 2:
        return {
            "fbp": targets.fbp(run.rewards, ref.front, len(run)),
            "fto": targets.fto(run.rewards, ref.front),
            "fta": targets.fta(run.rewards, ref.front),
        }
    best = float(ref.best[0])
    return {
        "best": float(run.rewards.max()),
        "fb": targets.fb(run.rewards, best, len(run)),
        "ftb": targets.ftb(run.rewards, best),
        "ftc": targets.ftc(run.rewards, best, tolerance),
    }


def summarise(by_agent: Mapping[str, Sequence[Run]], tolerance: float = 0.5) -> list[dict[str, Any]]:
    """One record per agent and score: n, mean, standard deviation, bootstrap interval, share of runs that got there.

    A target that some runs never met has no mean; its share tells how many did.

    Raises:
        ValueError: Runs on measured and on embedded tables, or on different tables, are mixed.
    """
    tables = {(r.header["env"], r.header["kind"]) for rs in by_agent.values() for r in rs}
    if len(tables) != 1:
        raise ValueError(f"runs must share id and kind of table, got {sorted(tables)}")
    records = []
    for agent, rs in by_agent.items():
        table = [score(r, tolerance) for r in rs]
        for name in table[0]:
            values = np.array([row[name] for row in table])
            met = np.isfinite(values)
            record = {"agent": agent, "score": name, "n": len(values), "reached": float(met.mean())}
            if met.all():
                low, high = statistics.bootstrap_interval(values)
                record |= {"mean": float(values.mean()), "std": float(values.std()), "low": low, "high": high}
            records.append(record)
    return records


def format_table(records: Sequence[Mapping[str, Any]]) -> str:
    """The summary as aligned text: mean ± standard deviation [95 % interval of the mean]."""
    names = list(dict.fromkeys(r["score"] for r in records))
    agents = list(dict.fromkeys(r["agent"] for r in records))
    cells = {(r["agent"], r["score"]): _cell(r) for r in records}
    rows = [["agent", *names], *([a, *(cells[a, s] for s in names)] for a in agents)]
    widths = [max(len(row[j]) for row in rows) for j in range(len(rows[0]))]
    lines = ["  ".join(text.ljust(w) for text, w in zip(row, widths, strict=True)).rstrip() for row in rows]
    return "\n".join([lines[0], "  ".join("-" * w for w in widths), *lines[1:]])


def _cell(record: Mapping[str, Any]) -> str:
    if "mean" not in record:
        return f"met by {record['reached']:.0%}"
    # Correlations and rates need more digits than BLEU or counts.
    digits = 2 if abs(record["high"]) >= 1.0 else 4
    mean, std, low, high = (f"{record[k]:.{digits}f}" for k in ("mean", "std", "low", "high"))
    return f"{mean} ± {std} [{low}, {high}]"

"""Histories of runs on many tables in one Parquet data set, for offline learning of optimizers.

`candidates.parquet` has a line for each row of each table: `table`, `sha256`, `row`, `features`. `histories.parquet`
has a line for each run: `agent`, `env`, `table`, `seed`, `budget`, `candidates` (rows of the table that the episode
had, in the order of its actions), and lists with one entry per evaluation: `rows` (of the table), `rewards`, `costs`.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import numpy.typing as npt

from hpo_envs.agents.models.candidate_set import BOUND, GROUPS
from hpo_envs.agents.models.gp.stacked import standardised
from hpo_envs.benchmarks.runs import Run, Runs
from hpo_envs.benchmarks.runs.record import table_apart
from hpo_envs.benchmarks.study import parquet
from hpo_envs.tables.files import atomic
from hpo_envs.tables.table import Table

RULE = "runs must have configurations as actions and one objective, got one on "


@dataclass(frozen=True, eq=False)
class RunHistory:
    """History of one run.

    Attributes:
        agent: Name of the agent.
        table: Name of the table.
        seed: Seed of the run.
        budget: Budget of the episode.
        features: (k, d) float32 features in [0, 1] of the candidates of the episode.
        actions: (T,) index of the evaluated candidate in each evaluation.
        rewards: (T,) float64, higher is better.
        costs: (T,) float64, in the unit of the budget.
    """

    agent: str
    table: str
    seed: int
    budget: float
    features: npt.NDArray[np.float32]
    actions: npt.NDArray[np.intp]
    rewards: npt.NDArray[np.float64]
    costs: npt.NDArray[np.float64]

    def observations(self) -> npt.NDArray[np.float32]:
        """Return the group `history` of `CandidateObservation` before each evaluation, (T, T, 68), zero-padded."""
        t, d, most = len(self.actions), self.features.shape[1], GROUPS["history"]
        found = np.zeros((t, t, most), np.float32)
        past = np.zeros((t, most), np.float32)
        past[:, 0], past[:, 2] = 1.0, self.costs / self.budget
        past[:, 3] = 1.0 - np.cumsum(self.costs) / self.budget
        past[:, 4 : 4 + d] = 2.0 * self.features[self.actions] - 1.0
        for k in range(1, t):
            found[k, :k] = past[:k]
            found[k, :k, 1] = np.clip(standardised(self.rewards[:k]), -BOUND, BOUND)
        return found


def write(runs: Sequence[Run], folder: Path | str) -> Path:
    """Write runs on any number of ids to a folder, over the files of an earlier call; return its path.

    Args:
        runs: Runs with one objective whose actions are configurations of tables with features.
        folder: Folder to write to, created if necessary.

    Raises:
        ValueError: There are no runs, or some are on environments of another kind or on different tables of one name.
    """
    import pyarrow as pa

    path, rows = Path(folder), []
    tables: dict[str, Table] = {}
    envs: dict[str, Any] = {}
    for r in runs:
        h = r.header
        if r.rewards.ndim != 1 or r.actions.ndim != 1:
            raise ValueError(RULE + h["env"])
        key = json.dumps([h["env"], h["env_kwargs"], h.get("shuffle"), h.get("subsample"), h["sha256"]])
        if key not in envs:
            how = {name: h[name] for name in ("shuffle", "subsample") if h.get(name) is not None}
            given = runs.tables.get(h["sha256"]) if isinstance(runs, Runs) else None
            named = table_apart(h) if given is None else given
            how |= {"table": named} if named is not None else {}
            envs[key] = gym.make(h["env"], disable_env_checker=True, **h["env_kwargs"], **how).unwrapped
        env: Any = envs[key]
        if not hasattr(env, "rows") or not env.table.feature_names:
            raise ValueError(RULE + h["env"])
        env.reset(seed=r.header["reset_seed"])
        tables.setdefault(env.table.name, env.table)
        if tables[env.table.name].provenance.sha256 != h["sha256"]:
            raise ValueError(f"runs must be on one table of each name, got two of {env.table.name}")
        rows.append({
            "agent": h["agent"], "env": h["env"], "table": env.table.name, "seed": r.seed, "budget": h["budget"],
            "candidates": np.asarray(env.rows, np.int32), "rows": r.actions.astype(np.int32), "rewards": r.rewards,
            "costs": np.asarray(r.costs, np.float64),
        })  # fmt: skip
    if not rows:
        raise ValueError("runs must be at least one, got none")
    candidates = [
        {"table": t.name, "sha256": t.provenance.sha256, "row": i, "features": x.astype(np.float32)}
        for t in tables.values()
        for i, x in enumerate(t.features)
    ]
    path.mkdir(parents=True, exist_ok=True)
    for name, records in (("candidates", candidates), ("histories", rows)):
        atomic.write(path / f"{name}.parquet", parquet.bytes_of(pa.Table.from_pylist(records)))
    return path


def read(folder: Path | str) -> list[RunHistory]:
    """Return the histories that `write` wrote to a folder, in the order of the runs.

    Raises:
        OSError: The folder lacks one of the files.
    """
    import pyarrow.parquet as pq

    candidates = pq.read_table(Path(folder) / "candidates.parquet").to_pandas()
    features = {name: np.stack(part["features"].to_list()) for name, part in candidates.groupby("table", sort=False)}
    found = []
    for h in pq.read_table(Path(folder) / "histories.parquet").to_pylist():
        at = {row: i for i, row in enumerate(h["candidates"])}
        actions = np.array([at[row] for row in h["rows"]], np.intp)
        x, rewards, costs = features[h["table"]][h["candidates"]], np.array(h["rewards"]), np.array(h["costs"])
        found.append(RunHistory(h["agent"], h["table"], h["seed"], h["budget"], x, actions, rewards, costs))
    return found

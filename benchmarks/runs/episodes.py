"""What the run loop knows of its episodes and keeps from their agents: keys, tables, and which rows they have."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from hpo_envs.core.params import Params
from hpo_envs.tables import draws


def seeds_of(env_id: str, seed: int) -> tuple[int, int]:
    """What `reset` and the agent of a run get: 64 and 32 bits (many generators refuse more) of a hash of id and seed.

    The runs of one seed on two environments are independent; on each of them all agents have the same episode.
    """
    bits = int.from_bytes(hashlib.sha256(f"{env_id} {seed}".encode()).digest()[:8], "little")
    return bits, bits % 2**32


@dataclass(frozen=True)
class Episodes:
    """The episodes that a batched environment has started.

    Attributes:
        params: What the environment is made of.
        keys: (n,) uint64, the key of each episode.
        tables: (n,) index in `params.tables` of the table that answers.
        rows: (n, k) the table row of each action, or None where there is nothing to map.
    """

    params: Params
    keys: draws.Keys
    tables: npt.NDArray[np.int64]
    rows: npt.NDArray[np.int64] | None

    @classmethod
    def of(cls, envs: Any) -> Episodes:
        """The episodes of an environment right after `reset`."""
        env = envs.unwrapped
        keys, tables = env.episodes
        return cls(env.params, keys, tables, None if env.params.view.whole else env.rows)

    def part(self, i: int) -> tuple[int, npt.NDArray[np.int64] | None]:
        """Index of an episode's table, and the rows that it has of that; None: all."""
        rows = None if self.rows is None or self.params.view.share == 1.0 else self.rows[i]
        return int(self.tables[i]), rows

    def in_table(self, i: int, action: Any) -> Any:
        """An action of an episode, with the table's row for its own."""
        if self.rows is None:
            return action
        if self.params.kind != "fidelity":
            row = self.rows[i][action]
            return row if isinstance(action, np.ndarray) else int(row)
        return np.array([self.rows[i][action[0]], action[1]])

    def evaluated(self, i: npt.NDArray[np.int64], actions: npt.NDArray[Any]) -> dict[str, npt.NDArray[Any]]:
        """What is known of evaluations, by the names of `Run.evaluated`.

        Args:
            i: (k,) the episode of each.
            actions: (k, ...) all actions of these episodes, in their order, with the table's rows.
        """
        where = self.params.repeats_of(self.keys[i], self.tables[i], actions)
        found: dict[str, npt.NDArray[Any]] = {name: values.astype(np.int32) for name, values in where.items()}
        if where and (self.params.table.repeats > 1 or self.params.kind == "arms"):
            found["truth"] = np.asarray(self.params.truth(self.tables[i], actions))
        return found

    def truth(self, i: npt.NDArray[np.int64], actions: npt.NDArray[Any]) -> npt.NDArray[np.float64] | None:
        """(k, ...) what all repeats of actions have on average; None where no table says so.

        Args:
            i: (k,) the episode of each.
            actions: (k, ...) actions, with the table's rows; of several arms the first counts.
        """
        first = actions.reshape(len(actions), -1)[:, 0] if self.params.kind == "arms" else actions
        return self.params.truth(self.tables[i], first)

"""Episodes of runs: seeds, default `shuffle`, and the table rows of actions, which agents do not see."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import gymnasium as gym
import numpy as np
import numpy.typing as npt

from hpo_envs.core.params import Params, kind_of
from hpo_envs.families import registry
from hpo_envs.tables import draws
from hpo_envs.tables.checks import shown


def seeds_of(env_id: str, seed: int) -> tuple[int, int]:
    """Return the seeds of environment and agent: 64 bits of a hash of id and seed, and the lowest 32 of these.

    Runs of one seed on two environments are independent; on one environment all agents have the same episode.
    """
    bits = int.from_bytes(hashlib.sha256(f"{env_id} {seed}".encode()).digest()[:8], "little")
    return bits, bits % 2**32


def made(make: Callable[..., Any], env_id: str, env_kwargs: Mapping[str, Any], **how: Any) -> Any:
    """Return `make(env_id, **how, **env_kwargs)`; ValueError if the id has no such argument or lacks one."""
    try:
        return make(env_id, **how, **env_kwargs)
    except TypeError as error:
        if not re.search(r"\bargument", str(error)):
            raise
        found = str(error).partition(" was raised from")[0]
        raise ValueError(f"env_kwargs must be arguments of {env_id}, got {shown(env_kwargs)}: {found}") from None


_ACTIONS: dict[str, tuple[str | None, bool]] = {}
"""Kind of action, and whether a step calls a function, of each id requested so far; no argument changes them."""


def _actions(env_id: str, env_kwargs: Mapping[str, Any]) -> tuple[str | None, bool]:
    if env_id not in _ACTIONS:
        registry.require_spec("env_id", env_id)
        env = made(gym.make, env_id, env_kwargs, disable_env_checker=True)
        _ACTIONS[env_id] = kind_of(env), env.unwrapped.params.live
        env.close()
    return _ACTIONS[env_id]


def kind_of_action(env_id: str, env_kwargs: Mapping[str, Any]) -> str | None:
    """Return the kind of an id's actions, see `hpo_envs.core.params.ActionKind`; `ValueError`: see `arguments`."""
    return _actions(env_id, env_kwargs)[0]


def is_live(env_id: str, env_kwargs: Mapping[str, Any]) -> bool:
    """Return whether a step on an id calls a function instead of looking results up; `ValueError` if it is unknown."""
    return _actions(env_id, env_kwargs)[1]


def has_rows(env_id: str, env_kwargs: Mapping[str, Any]) -> bool:
    """Return whether an id's actions are rows (alone or with a fidelity) or arms of its table; False for functions."""
    kind, live = _actions(env_id, env_kwargs)
    return kind in ("rows", "fidelity", "arms") and not live  # the order of a function's candidates reveals nothing


def arguments(env_id: str, env_kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """Return the given arguments of an environment, for rows or arms with the default `shuffle=True` of comparisons.

    Raises:
        ValueError: The id has no such argument or lacks one, or `shuffle` or `subsample` is given, but actions are
            neither rows nor arms of a table.
    """
    if not isinstance(env_kwargs, Mapping):
        raise ValueError(f"env_kwargs must be a mapping of arguments, got {shown(env_kwargs)}")
    if has_rows(env_id, {k: v for k, v in env_kwargs.items() if k not in ("shuffle", "subsample")}):
        return {"shuffle": True, **env_kwargs}
    for name in ("shuffle", "subsample"):
        if name in env_kwargs:
            raise ValueError(
                f"{name} must be left out on {env_id}, whose actions are not configurations, got {env_kwargs[name]!r}"
            )
    return dict(env_kwargs)


@dataclass(frozen=True)
class Episodes:
    """The current episodes of a vectorized environment."""

    params: Params
    keys: draws.Keys  # (n,) uint64, the key of each episode
    tables: npt.NDArray[np.int64]  # (n,) index in `params.tables` of the table of each episode
    rows: npt.NDArray[np.int64] | None  # (n, k) table row of each action; None if actions are the table's rows

    @classmethod
    def of(cls, envs: Any) -> Episodes:
        """Return the current episodes of a vectorized environment, which must have been reset."""
        env = envs.unwrapped
        keys, tables = env.episodes
        return cls(env.params, keys, tables, None if env.params.view.whole else env.rows)

    @property
    def shares(self) -> npt.NDArray[np.int64] | None:
        """(n, k) table rows of which each episode consists; None without `subsample`: all rows."""
        return None if self.params.view.subsample == 1.0 else self.rows

    def in_tables(self, which: Sequence[int], actions: Sequence[Any]) -> Sequence[Any]:
        """Return one action of each episode in `which` as `in_table` does."""
        if self.rows is None:
            return actions
        if all(type(action) is int for action in actions):
            listed: list[int] = self.rows[which, actions].tolist()
            return listed
        return [self.in_table(i, action) for i, action in zip(which, actions, strict=True)]

    def in_table(self, i: int, action: Any) -> Any:
        """Return an action of episode `i` with the table's row instead of the episode's index, where these differ."""
        if self.rows is None:
            return action
        if self.params.kind != "fidelity":
            row = self.rows[i][action]
            return row if isinstance(action, np.ndarray) else int(row)
        return np.array([self.rows[i][action[0]], action[1]])

    def evaluated(self, i: npt.NDArray[np.int64], actions: npt.NDArray[Any]) -> dict[str, npt.NDArray[Any]]:
        """Return arrays of data on evaluations, by the names of `Run.evaluated`; empty if no table has them.

        `i` is the (k,) episode of each action; `actions` are all (k, ...) actions of these in order, with the table's
        rows.
        """
        where = self.params.repeats_of(self.keys[i], self.tables[i], actions)
        found: dict[str, npt.NDArray[Any]] = {name: values.astype(np.int32) for name, values in where.items()}
        if where and (self.params.table.repeats > 1 or self.params.kind == "arms"):
            found["truth"] = np.asarray(self.params.truth(self.tables[i], actions))
        return found

    def truth(self, i: npt.NDArray[np.int64], actions: npt.NDArray[Any]) -> npt.NDArray[np.float64] | None:
        """Return the (k,) or (k, objectives) true mean rewards of (k, ...) actions; None if no table has them.

        `i` is the (k,) episode of each action; rows are the table's. Of a batch of arms the first counts.
        """
        first = actions.reshape(len(actions), -1)[:, 0] if self.params.kind == "arms" else actions
        return self.params.truth(self.tables[i], first)

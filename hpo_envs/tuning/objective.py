"""Objective function that looks up the results of a table, for any optimizer that calls a function."""

import functools
from collections.abc import Mapping
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.spaces import Discrete, MultiDiscrete

from hpo_envs.core.engines.diverged import filled
from hpo_envs.tables.table import Table, is_number
from hpo_envs.tables.user.space import to_plain


class Objective:
    """Picklable function that looks up configurations in the table of an id: `config -> {"bleu": ..., "cost": ...}`.

    Combinations that were not measured raise a `ValueError`.

    Args:
        env_id: An id whose actions are the configurations of one table, such as `NMTHPO-swen-v0`.
        **kwargs: Arguments of the environment, such as `table=`.

    Attributes:
        space: The search space as plain data, in the form that `tune` takes.
        fidelities: Valid values of `fidelity`, in the unit of the table's levels.
        metrics: Names of the metrics returned besides `cost`; held-out metrics are not among them.

    Raises:
        ValueError: The actions of the id are not the configurations of one table, or a metric is named `cost`.
        gymnasium.error.Error: The id is unknown.
        FileNotFoundError: The files of its table are not installed.
    """

    def __init__(self, env_id: str, **kwargs: Any) -> None:
        self.env_id, self._kwargs = env_id, kwargs
        table = self.table
        space = {h.name: to_plain(h) for h in table.space}
        self.space: dict[str, Any] = space or {"key": {"choices": list(table.keys)}}
        self.fidelities = tuple(int(v) if float(v).is_integer() else float(v) for v in table.levels)
        held_out = getattr(self._env.params, "held_out", None) or ()
        self.metrics = tuple(name for name in table.metric_names if name not in held_out)
        if "cost" in self.metrics:
            raise ValueError(f"table must have no metric named cost, as the cost of an evaluation is, got {table.name}")

    @functools.cached_property
    def _env(self) -> Any:
        return gym.make(self.env_id, disable_env_checker=True, **self._kwargs).unwrapped

    @functools.cached_property
    def table(self) -> Table:
        """The table of the id.

        Raises:
            ValueError: The actions of the id are not the configurations of one table.
        """
        table: Any = getattr(self._env, "table", None)
        actions = self._env.action_space
        sizes: Any = [actions.n] if isinstance(actions, Discrete) else getattr(actions, "nvec", ())
        rows = isinstance(actions, (Discrete, MultiDiscrete)) and table is not None and sizes[0] == len(table)
        if not rows or (len(sizes) > 1 and (len(sizes) != 2 or sizes[1] != len(table.levels))):
            raise ValueError(f"env_id must have the configurations of one table as its actions, got {self.env_id!r}")
        return table  # type: ignore[no-any-return]

    @functools.cached_property
    def _values(self) -> Any:
        return filled(self.table, 0)[0]

    def __call__(self, config: Mapping[str, Any], *, fidelity: float | None = None) -> dict[str, float]:
        """Return the metrics of a configuration in native units, and its `cost` in the table's unit.

        Repeats are averaged. A run without any value up to `fidelity`, and one that failed or diverged before, counts
        with the metric's worst value; another that ended before, with its last value.

        Args:
            config: Values of all active hyperparameters by name; for a table without hyperparameters, `key`.
            fidelity: One of `fidelities`; the cost is cumulative up to it. Default: the last one.

        Raises:
            ValueError: A hyperparameter is unknown or missing, or the configuration or fidelity was not measured.
        """
        table, row = self.table, self.table.index_of(config)
        level = len(self.fidelities) - 1
        if fidelity is not None:
            if fidelity not in self.fidelities:
                known = sorted(self.fidelities, key=lambda f: abs(f - fidelity)) if is_number(fidelity) else ()
                near = f", the nearest is {known[0]}" if known else ""
                raise ValueError(f"fidelity must be one of .fidelities{near}, got {fidelity!r}")
            level = self.fidelities.index(fidelity)
        run = ~np.isnan(table.cost[row, :, 0])
        values, cost = self._values[row][run, level], np.nanmax(table.cost[row][run, : level + 1], axis=1)
        return {n: float(values[:, table.metric(n)].mean()) for n in self.metrics} | {"cost": float(cost.mean())}

    def __reduce__(self) -> tuple[Any, ...]:
        return functools.partial(Objective, **self._kwargs), (self.env_id,)

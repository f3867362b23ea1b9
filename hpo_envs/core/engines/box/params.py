"""Environments on a box: interface of the function, budget, rewards, costs, observation, `reset` options."""

from __future__ import annotations

import abc
import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from gymnasium.spaces import Box

from hpo_envs.core.infos import configs_of, numeric
from hpo_envs.core.params import Floats, Ints, Objectives, Params, alike, bounds_of, box, check_budget, rewarded
from hpo_envs.tables.checks import one_of
from hpo_envs.tables.table import Hyperparameter, Metric, Table


class Evaluations(NamedTuple):
    """Results of n actions.

    Attributes:
        configs: (n, d) raw values of the hyperparameters.
        metrics: Name of a metric -> (n,) float64 values.
        held_out: Name of a held-out metric -> (n,) float64 values; None without such metrics.
    """

    configs: Floats
    metrics: dict[str, Floats]
    held_out: dict[str, Floats] | None


class BoxFunction(abc.ABC):
    """Base class of functions on [-1, 1]^d, one per task, which families of this engine implement.

    Attributes:
        tables: The table of each task.
        spaces: The d hyperparameters of each task.
        labels: Further entries of `info` at reset, one mapping per task, with equal keys.
        facts: (tasks, f) facts of each task in the observation, in [0, 1].
        options: Keys that the `options` of `reset` may have.
    """

    tables: tuple[Table, ...]
    spaces: tuple[tuple[Hyperparameter, ...], ...]
    labels: tuple[Mapping[str, str], ...]
    facts: Floats
    options: tuple[str, ...] = ()

    @abc.abstractmethod
    def evaluate(self, tasks: Ints, actions: Floats) -> Evaluations:
        """Evaluate (n, d) actions, action i on the task `tasks[i]`, independently of the other actions."""

    @abc.abstractmethod
    def action_of(self, task: int, config: Any) -> npt.NDArray[np.float32]:
        """Return the (d,) action that sets a configuration of natural values; ValueError if there is none."""

    def choose(self, options: Mapping[str, Any] | None) -> Ints:
        """Return the indices of the tasks that the `options` of `reset` allow, by default all; an episode draws one."""
        return np.arange(len(self.tables))

    def config(self, task: int, raw: Sequence[float]) -> dict[str, Any]:
        """Return the natural values of a configuration from its d raw values, by name; numbers are NumPy scalars."""
        return {name: of(value) for (name, of), value in zip(self._naturals[task], raw, strict=True)}

    @functools.cached_property
    def _naturals(self) -> list[list[tuple[str, Callable[[float], Any]]]]:
        """Name of each hyperparameter and function from its raw to its natural values, for each task."""
        return [[(h.name, _natural(h)) for h in space] for space in self.spaces]

    def columns(self, raw: Floats) -> dict[str, npt.NDArray[Any]]:
        """Return (n,) natural values, by hyperparameter, of (n, d) raw configurations; choices are objects."""
        return self._columns(raw)

    @functools.cached_property
    def _columns(self) -> Callable[[Floats], dict[str, npt.NDArray[Any]]]:
        return configs_of(self.spaces[0])


@dataclass(frozen=True, eq=False, kw_only=True)
class BoxParams(Params):
    """Parameters of environments on a box.

    Attributes:
        function: The function that evaluates actions.
        cost: Name of the metric that is the cost; None if each evaluation costs 1.
    """

    action_space: Box
    function: BoxFunction
    cost: str | None

    @functools.cached_property
    def axes(self) -> tuple[dict[str, Any], ...]:
        """See `Params`."""
        return alike(self.function.spaces)

    def action_of(self, config: Any, table: int = 0) -> npt.NDArray[np.float32]:
        """See `Params`."""
        return self.function.action_of(table, config)

    @property
    def options(self) -> tuple[str, ...]:
        """See `Params`."""
        return self.function.options

    @classmethod
    def of(
        cls, function: BoxFunction, metrics: tuple[Metric, ...], objective: Objectives, cost: str, budget: float | None,
        costs: tuple[Metric, ...] = (),
    ) -> BoxParams:  # fmt: skip
        """Make the parameters of an environment on a box.

        Args:
            function: The function that evaluates actions.
            metrics: Metrics that can be rewarded.
            objective: Name of the rewarded metric, or a tuple of names for a vector reward.
            cost: `evaluations`, or the name or the unit of one of `costs`.
            budget: Budget of an episode; None for 10,000 evaluations or a cost of 1e8.
            costs: Metrics that can be used as the cost.

        Raises:
            ValueError: An unknown objective or cost, or an invalid budget.
        """
        chosen = rewarded(objective, metrics)
        price = _price(cost, costs)
        unit, highest, whole = ("evaluations", 1.0, 1e4) if price is None else (price.unit, price.high, 1e8)
        (low, high), d, m = bounds_of(chosen).T, len(function.spaces[0]), len(chosen)
        facts = function.facts.shape[1]
        return cls(
            kind="box", tables=function.tables, rewarded=chosen, vector=not isinstance(objective, str),
            action_space=Box(-1.0, 1.0, (d,), np.float32),
            observation_space=box((d, -1, 1), (m, low, high), (1, 0, highest), (m, low, high), (facts + 1, 0, 1)),
            cost_unit=unit, budget=check_budget(budget, whole, unit), function=function,
            cost=None if price is None else price.name,
        )  # fmt: skip

    def evaluate(self, tasks: Ints, actions: Floats) -> tuple[Floats, Floats, Evaluations]:
        """Return (n, m) rewards, (n,) costs and `Evaluations` of (n, d) actions, action i on the task `tasks[i]`."""
        answer = self.function.evaluate(tasks, actions)
        rewards = np.array([answer.metrics[name] for name in self.objectives]).T * self.signs
        return rewards, np.ones(len(rewards)) if self.cost is None else answer.metrics[self.cost].copy(), answer

    def first(self, tasks: Ints) -> npt.NDArray[np.float32]:
        """Return (n, w) initial observations of episodes on (n,) tasks."""
        d, m = len(self.function.spaces[0]), len(self.signs)
        out = np.zeros((len(tasks), *self.observation_space.shape), np.float32)
        out[:, d : d + m] = out[:, d + m + 1 : d + 2 * m + 1] = self.low
        out[:, d + 2 * m + 1 : -1] = self.function.facts[tasks]
        out[:, -1] = 1.0
        return out

    def observe(
        self, out: npt.NDArray[np.float32], actions: Floats, rewards: Floats, costs: Floats, best: Floats, left: Any
    ) -> None:
        """Write evaluations into (n, w) observations, clipped to their bounds; facts of tasks stay as they are."""
        d, m = actions.shape[1], rewards.shape[1]
        out[:, :d], out[:, d : d + m], out[:, d + m] = actions, rewards, costs
        out[:, d + m + 1 : d + 2 * m + 1], out[:, -1] = best, np.maximum(left, 0.0) / self.budget
        np.minimum(out, self.observation_space.high, out=out)
        np.maximum(out, self.observation_space.low, out=out)


def _natural(h: Hyperparameter) -> Callable[[float], Any]:
    if h.kind == "categorical":
        return numeric(dict(enumerate(h.values))).__getitem__  # type: ignore[arg-type, return-value]
    return np.int64 if h.kind == "int" else (lambda raw: np.float64(1.0 - raw)) if h.complement else np.float64


def _price(cost: Any, costs: tuple[Metric, ...]) -> Metric | None:
    """Return the metric whose name or unit is `cost`, None for `evaluations`; ValueError if there is no such metric."""
    for metric in costs:
        if isinstance(cost, str) and cost in (metric.name, metric.unit):
            return metric
    one_of("cost", cost, ("evaluations", *(m.name for m in costs)))
    return None

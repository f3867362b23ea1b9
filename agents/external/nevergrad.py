"""Optimizers of Nevergrad behind the ask/tell interface. Needs the extra `optimizers`."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from hpo_envs.agents.base import lost
from hpo_envs.agents.external.base import ExternalOptimizer
from hpo_envs.agents.external.packages import package
from hpo_envs.agents.models import Floats
from hpo_envs.agents.problem import Axis, Problem, Space
from hpo_envs.tables.checks import one_of


class Nevergrad(ExternalOptimizer):
    """An optimizer of Nevergrad, by default NGOpt, which selects one by dimension and budget (Meunier et al. 2022).

    Formula:
        x* = the optimizer's suggestion
        next = x* on boxes and grids; on rows the untried one chosen by `look_up`

    Given:
        space: scalars, logarithms, integers (also indices of ten or more ordered values), choices, transition choices,
            and nested dictionaries for conditions
        initial: it starts at a random configuration, on rows at one of them, with equal weights of categories
        choice: the optimizer's suggestion; on rows looked up
        told: its suggestion, with the outcome of the row, because optimizers that NGOpt selects (COBYLA) may wait for
            it
        settings: starts at random, since deterministic optimizers would make the same run for every seed; number of
            workers, doubled when as many results are pending

    Paper: Laurent Meunier et al. Black-Box Optimization Revisited: Improving Algorithm Selection Wizards Through
    Massive Benchmarking. IEEE Transactions on Evolutionary Computation 26(3):490-500, 2022. Implementation: Jeremy
    Rapin and Olivier Teytaud. Nevergrad, a gradient-free optimization platform. 2018.

    Complexity: that of the selected optimizer, and O(n d) a suggestion for the look-up among n rows.

    Example:
        from hpo_envs import run
        runs = run("nevergrad", "NMTHPO-swen-v0", seeds=range(2), budget=6)
        runs.best()

    Args:
        problem: A box, a grid or rows with features; one objective. Without a budget of evaluations, NGOpt plans
            for 100.
        seed: See `ExternalOptimizer`.
        optimizer: Name in `nevergrad.optimizers.registry`.

    Raises:
        ModuleNotFoundError: Nevergrad is not installed.
        ValueError: The optimizer is unknown, or the problem is of another kind.
    """

    quiet = True

    def __init__(self, problem: Problem, seed: int, *, optimizer: str = "NGOpt") -> None:
        ng = package("nevergrad")
        # Metamodels of 1.0.12 take `float` of an array with one element, which NumPy 2.4 refuses (its issue 1612).
        package("nevergrad.optimization.metamodel").float = lambda value: np.asarray(value).item()
        super().__init__(problem, seed)
        known = ng.optimizers.registry
        one_of("optimizer", optimizer, sorted(known))
        self._name, self._make = optimizer, known[optimizer]
        self._workers, self._waiting, self._outcomes = 1, 0, list[tuple[Any, float]]()
        points = self.rng.random((1, len(self.space))) if self._rows is None else self._points
        self._first = points[self.rng.integers(len(points))]
        self._indexed = {axis.name: axis.choices for j, axis in enumerate(self.space.axes) if _indexed(self.space, j)}
        with self._generators.active():  # its generator is seeded by the global one
            self._start()

    def _start(self) -> None:
        """Create an optimizer for the number of workers and report the known outcomes, if it accepts them."""
        if self._workers > 1 and self._make.no_parallelization:
            raise ValueError(
                f"workers must be 1 for optimizer={self._name!r}, which is sequential, got {self._workers}"
            )
        self._parameter = parameter_of(self.space, self._first)
        self._optimizer = self._make(self._parameter, budget=self.planned, num_workers=self._workers)
        with contextlib.suppress(NotImplementedError):
            for value, loss in self._outcomes:
                self._optimizer.tell(self._parameter.spawn_child(new_value=value), loss)

    def suggest(self) -> tuple[Any, Mapping[str, Any]]:
        """Return (optimizer, its suggestion), and the configuration.

        If all workers are busy, the optimizer is first restarted with twice as many, because those that NGOpt selects
        for one worker would wait for the pending result forever.

        Raises:
            ValueError: The optimizer is sequential, and a result is pending.
        """
        if self._waiting >= self._workers:
            self._workers *= 2
            self._start()
        asked = self._optimizer.ask()
        self._waiting += 1
        config: dict[str, Any] = {}
        for name, value in asked.value.items():
            config |= value if isinstance(value, dict) else {name: value}
        config |= {name: choices[config[name]] for name, choices in self._indexed.items() if name in config}
        return (self._optimizer, asked), config

    def learn(self, suggestion: Any, action: Any, reward: Any, info: Mapping[str, Any]) -> None:
        """Report the negative reward as a loss, for a failed or diverged run infinity, to the current optimizer."""
        optimizer, asked = suggestion
        loss = math.inf if lost(info) else -float(reward)
        self._waiting -= 1
        self._outcomes.append((asked.value, loss))
        with contextlib.suppress(NotImplementedError):
            known = asked if optimizer is self._optimizer else self._parameter.spawn_child(new_value=asked.value)
            self._optimizer.tell(known, loss)


def parameter_of(space: Space, point: Floats) -> Any:
    """Return a space as Nevergrad's `Dict`, which starts at a (d,) point; a parent axis is a choice among `Dict`s.

    Unordered choices have no start, because Nevergrad would prefer that category: it would be 77 % of random
    suggestions if there are two.
    """
    p = package("nevergrad").p

    def made(j: int) -> Any:
        axis, start = space.axes[j], float(point[j])
        if axis.single:
            return axis.natural(0.0)
        if axis.choices and not _indexed(space, j):
            children = [i for i, a in enumerate(space.axes) if a.parent == j]
            each = [
                p.Dict(**{space.names[j]: c}, **{space.names[i]: made(i) for i in children if k in space.axes[i].when})
                if children else c
                for k, c in enumerate(axis.choices)
            ]  # fmt: skip
            if axis.categorical:
                return p.Choice(each)
            ordered = p.TransitionChoice(each)
            ordered.indices.value = np.array([axis.choices.index(axis.natural(start))])
            return ordered
        if axis.choices:
            axis = Axis(high=len(axis.choices) - 1, whole=True)
        low, high = axis.low - 0.5 * axis.whole, axis.high + 0.5 * axis.whole  # both ends round as often as the others
        scalar = p.Log(lower=max(low, 0.5 * axis.low), upper=high) if axis.log else p.Scalar(lower=low, upper=high)
        scalar = scalar.set_integer_casting() if axis.whole else scalar
        scalar.value = axis.natural(start)
        return scalar

    return p.Dict(**{name: made(j) for j, name in enumerate(space.names) if space.axes[j].parent < 0})


def _indexed(space: Space, j: int) -> bool:
    """Return whether Nevergrad gets an ordered axis as indices of its values, which needs ten values or more."""
    return not space.axes[j].categorical and len(space.axes[j].choices) >= 10 and all(a.parent != j for a in space.axes)

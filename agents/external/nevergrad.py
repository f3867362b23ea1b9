"""Optimisers of Nevergrad behind the ask/tell interface. Needs the extra `optimizers`."""

from __future__ import annotations

import contextlib
import math
import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np

from hpo_envs.agents.external.nearest import NearestCandidate
from hpo_envs.agents.external.packages import package
from hpo_envs.agents.models import Floats
from hpo_envs.agents.problem import Problem
from hpo_envs.tables.checks import one_of


class Nevergrad(NearestCandidate):
    """An optimizer of Nevergrad, by default NGOpt, which picks one by dimension and budget (Meunier et al. 2022).

    It starts from a random point: NGOpt picks deterministic optimizers, too, and from the middle of the cube they would
    make the same run for every seed.

    Formula:
        x* = the optimizer's suggestion in the unit cube
        next = x* on boxes and grids; on rows the untried one that stands for x*, see `look_up`; told for x*:
        what NGOpt picks (COBYLA) may wait for its own points for ever

    Paper: Laurent Meunier et al. Black-Box Optimization Revisited: Improving Algorithm Selection Wizards Through
    Massive Benchmarking. IEEE Transactions on Evolutionary Computation 26(3):490-500, 2022. Implementation: Jeremy
    Rapin and Olivier Teytaud. Nevergrad, a gradient-free optimization platform. 2018.

    Complexity: that of the optimizer it picks, and O(n d) a suggestion for the nearest of n rows with d features.

    Args:
        problem: A box, a grid or rows with features; one objective. Without a budget, NGOpt plans for 100 evaluations.
        seed: See `NearestCandidate`.
        optimizer: Name in `nevergrad.optimizers.registry`.

    Raises:
        ModuleNotFoundError: Nevergrad is not installed.
        ValueError: No such optimizer; another kind of space.
        TypeError: By `ask`: metamodels of Nevergrad 1.0.12, which NGOpt picks for several pending results in few
            dimensions, need NumPy below 2.4 (its issue 1612).
    """

    def __init__(self, problem: Problem, seed: int, *, optimizer: str = "NGOpt") -> None:
        super().__init__(problem, seed)
        ng = package("nevergrad")
        known = ng.optimizers.registry
        one_of("optimizer", optimizer, sorted(known))
        evaluations = problem.unit == "evaluations" and math.isfinite(problem.budget or math.inf)
        self._name, self._array, self._make = optimizer, ng.p.Array, known[optimizer]
        self._budget = int(problem.budget or 0) if evaluations else 100
        self._workers, self._waiting, self._outcomes = 1, 0, list[tuple[Floats, float]]()
        with self._generators.active():  # its generator is seeded by the global one
            self._start()

    def _start(self) -> None:
        """Begin with an optimizer for so many workers; tell it what is known, where it takes points of others."""
        if self._workers > 1 and self._make.no_parallelization:
            raise ValueError(f"workers must be 1 for optimizer={self._name!r}, which waits for each result")
        self._cube = self._array(init=self.rng.random(self.size), lower=0.0, upper=1.0)
        self._optimizer = self._make(self._cube, budget=self._budget, num_workers=self._workers)
        with contextlib.suppress(NotImplementedError):
            for place, loss in self._outcomes:
                self._optimizer.tell(self._cube.spawn_child(new_value=place), loss)

    def suggest(self) -> tuple[Any, Floats]:
        """Ask the optimizer, or one for more workers than before if so many results are pending.

        Those that NGOpt picks for one worker would wait for these for ever.
        """
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if self._waiting >= self._workers:
                self._workers *= 2
                self._start()
            point = self._optimizer.ask()
        self._waiting += 1
        return (self._optimizer, point), np.asarray(point.value, dtype=np.float64)

    def learn(self, suggestion: Any, action: Any, loss: float | None, info: Mapping[str, Any]) -> None:
        """Report the outcome; a failed run is worse than any number."""
        asked, point = suggestion
        value = math.inf if loss is None else loss
        self._waiting -= 1
        self._outcomes.append((np.asarray(point.value, dtype=np.float64), value))
        with warnings.catch_warnings(), contextlib.suppress(NotImplementedError):
            warnings.simplefilter("ignore")
            known = point if asked is self._optimizer else self._cube.spawn_child(new_value=point.value)
            self._optimizer.tell(known, value)

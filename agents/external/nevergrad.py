"""Optimisers of Nevergrad behind the ask/tell interface. Needs the extra `nevergrad`."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np

from hpo_envs.agents.base import one_of
from hpo_envs.agents.candidates import Floats
from hpo_envs.agents.external.packages import package
from hpo_envs.agents.external.snapped import Snapped
from hpo_envs.agents.problem import Problem


class Nevergrad(Snapped):
    """An optimiser of Nevergrad, by default NGOpt, which picks one by dimension and budget (Meunier et al. 2022).

    It starts from a random point: NGOpt picks deterministic optimisers, too, and from the middle of the cube they would
    make the same run for every seed.

    Formula:
        x* = the optimiser's suggestion in the unit cube
        next = x* on boxes and grids; on rows argmin over untried rows of |features(row) - x*|^2

    Paper: Laurent Meunier et al. Black-Box Optimization Revisited: Improving Algorithm Selection Wizards Through
    Massive Benchmarking. IEEE Transactions on Evolutionary Computation 26(3):490-500, 2022. Implementation: Jeremy
    Rapin and Olivier Teytaud. Nevergrad, a gradient-free optimization platform. 2018.

    Complexity: that of the optimiser it picks, and O(n d) a suggestion for the nearest of n rows with d features.

    Args:
        problem: A box, a grid or rows with features; one objective. Without a budget, NGOpt plans for 100 evaluations.
        seed: See `Snapped`.
        optimizer: Name in `nevergrad.optimizers.registry`.
        **common: See `Snapped`.

    Raises:
        ModuleNotFoundError: Nevergrad is not installed.
        ValueError: No such optimiser; another kind of space.
    """

    def __init__(self, problem: Problem, seed: int, *, optimizer: str = "NGOpt", **common: Any) -> None:
        super().__init__(problem, seed, **common)
        ng = package("nevergrad")
        known = ng.optimizers.registry
        one_of("optimizer", optimizer, sorted(known))
        cube = ng.p.Array(init=self.rng.random(self.size), lower=0.0, upper=1.0)
        evaluations = problem.unit == "evaluations" and math.isfinite(problem.budget or math.inf)
        with self._generators.active():  # its generator is seeded by the global one
            self._optimizer = known[optimizer](cube, budget=int(problem.budget or 0) if evaluations else 100)

    def suggest(self) -> tuple[Any, Floats]:
        """Asks the optimiser."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            point = self._optimizer.ask()
        return point, np.asarray(point.value, dtype=np.float64)

    def learn(self, suggestion: Any, action: Any, loss: float | None, info: Mapping[str, Any]) -> None:
        """Tells the optimiser; a run that failed is worse than any number."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self._optimizer.tell(suggestion, math.inf if loss is None else loss)

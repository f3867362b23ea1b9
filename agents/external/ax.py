"""Ax behind the ask/tell interface. Needs the extra `optimizers`."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np

from hpo_envs.agents.external.nearest import NearestCandidate
from hpo_envs.agents.external.packages import package
from hpo_envs.agents.models import Floats
from hpo_envs.agents.problem import Problem


class Ax(NearestCandidate):
    """Ax's client with the generation strategy that it chooses itself (Olson et al. 2025).

    Formula:
        x* = the middle of the cube, then Sobol points, then the argmax of log expected improvement over the cube
        next = x* on boxes and grids; on rows the untried one that stands for x*, see `look_up`; told for x*

    Paper: Miles Olson et al. Ax: A Platform for Adaptive Experimentation. AutoML Conference 2025.

    Complexity: a fit and gradient ascent a suggestion, about a second; O(n d) for the nearest of n rows.

    Args:
        problem: A box, a grid or rows with features; one objective.
        seed: See `NearestCandidate`.

    Raises:
        ModuleNotFoundError: Ax is not installed.
    """

    def __init__(self, problem: Problem, seed: int) -> None:
        super().__init__(problem, seed)
        client, configs = package("ax.api.client"), package("ax.api.configs")
        package("ax.utils.common.logger").set_ax_logger_levels(logging.ERROR)  # it reports every trial otherwise
        with self._generators.active():
            self._client = client.Client(random_seed=int(self.rng.integers(2**31)))
            self._names = [f"x{i}" for i in range(self.size)]
            axes = [
                configs.RangeParameterConfig(name=n, parameter_type="float", bounds=(0.0, 1.0)) for n in self._names
            ]
            self._client.configure_experiment(parameters=axes)
            self._client.configure_optimization(objective="reward")

    def suggest(self) -> tuple[Any, Floats]:
        """Ask for one trial."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ((number, point),) = self._client.get_next_trials(max_trials=1).items()
        return number, np.array([point[name] for name in self._names])

    def learn(self, suggestion: Any, action: Any, loss: float | None, info: Mapping[str, Any]) -> None:
        """Complete the trial, or marks it as failed."""
        if loss is None:
            self._client.mark_trial_failed(suggestion)
        else:
            self._client.complete_trial(suggestion, raw_data={"reward": -loss})

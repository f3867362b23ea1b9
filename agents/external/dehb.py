"""DEHB behind the ask/tell interface, on learning curves. Needs `dehb`, see `registry.install`."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from typing import Any

import numpy as np

from hpo_envs.agents.external.nearest import NearestCandidate
from hpo_envs.agents.external.packages import package
from hpo_envs.agents.models import Floats
from hpo_envs.agents.problem import Problem


class DEHB(NearestCandidate):
    """Differential evolution with Hyperband's budgets (Awad et al. 2021), as its authors released it.

    Formula:
        v = x_a + 0.5 (x_b - x_c) of the population one checkpoint below, crossed over with a member at rate 0.5
        next = the untried row that stands for v, see `look_up`, at the bracket's checkpoint

    Paper: Noor Awad, Neeratyoy Mallik and Frank Hutter. DEHB: Evolutionary Hyperband for Scalable, Robust and
    Efficient Hyperparameter Optimization. IJCAI 2021.

    Complexity: O(d) a suggestion, and O(n d) for the nearest of n rows with d features.

    Args:
        problem: (row, checkpoint) pairs.
        seed: See `NearestCandidate`.
        eta: Share of configurations kept from a checkpoint to the next is 1 / eta.

    Raises:
        ModuleNotFoundError: DEHB is not installed.
        ValueError: No checkpoints.
    """

    def __init__(self, problem: Problem, seed: int, *, eta: int = 3) -> None:
        super().__init__(problem, seed)
        if problem.levels is None:
            raise ValueError("problem must have levels for DEHB, got none")
        dehb = package("dehb")
        self._of_config: dict[int, int] = {}
        levels = self._rows.levels
        with self._generators.active(), tempfile.TemporaryDirectory() as folder:  # DEHB writes a log there
            self._dehb = dehb.DEHB(
                dimensions=self.size, min_fidelity=float(levels[0]), max_fidelity=float(levels[self._rows.top]),
                eta=eta, n_workers=1, seed=int(self.rng.integers(2**31)), output_path=folder, log_level="ERROR",
            )  # fmt: skip
            self._dehb.logger.remove()

    def suggest(self) -> tuple[Any, Floats]:
        """Ask for the next job; a configuration that was suggested before keeps its row."""
        job = self._dehb.ask()
        return job, np.asarray(job["config"], dtype=np.float64)

    def level(self, suggestion: Any) -> int | None:
        """The last checkpoint that the job's fidelity pays for."""
        return int(self._rows.level_of(suggestion["fidelity"] / self._rows.levels[0]))

    def row(self, suggestion: Any, point: Any) -> int:
        """The nearest row, or that of the same configuration before."""
        config = int(suggestion["config_id"])
        if config not in self._of_config:
            self._of_config[config] = super().row(suggestion, point)
        return self._of_config[config]

    def learn(self, suggestion: Any, action: Any, loss: float | None, info: Mapping[str, Any]) -> None:
        """Report a loss to DEHB; a failed run is worse than any number."""
        suggestion["config"] = self.coordinates(action)
        fitness = float("inf") if loss is None else loss
        self._dehb.tell(suggestion, {"fitness": fitness, "cost": float(info.get("cost", 0.0))})

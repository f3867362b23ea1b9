"""DEHB behind the ask/tell interface, on learning curves. Needs `dehb`, see `registry.install`."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from typing import Any

from hpo_envs.agents.base import lost
from hpo_envs.agents.external.base import ExternalOptimizer
from hpo_envs.agents.external.configspace import configspace_of, configuration
from hpo_envs.agents.external.packages import package
from hpo_envs.agents.problem import Problem


class DEHB(ExternalOptimizer):
    """Differential evolution with Hyperband's budgets (Awad et al. 2021), in the authors' implementation.

    Formula:
        v = x_a + 0.5 (x_b - x_c) of the population one rung below, crossed over with a member at rate 0.5
        next = the untried row chosen for v by `look_up`, at the bracket's checkpoint

    Given:
        space: the ConfigurationSpace, with ordinals, logarithms and conditions
        initial: DEHB's random population
        choice: differential evolution's offspring, on rows looked up; a promoted configuration keeps its row
        told: the evaluated row, as the configuration of the job
        settings: seed, one worker

    Paper: Noor Awad, Neeratyoy Mallik and Frank Hutter. DEHB: Evolutionary Hyperband for Scalable, Robust and
    Efficient Hyperparameter Optimization. IJCAI 2021.

    Complexity: O(d) a suggestion, and O(n d) for the look-up among n rows.

    Example:
        from hpo_envs import run
        runs = run("dehb", "NMTLC-swen-v0", seeds=range(2))
        runs.best()  # the row, and the fidelity that it was trained to

    Args:
        problem: (row, checkpoint) pairs.
        seed: See `ExternalOptimizer`.
        eta: A bracket keeps 1 / eta of the configurations from each rung, a fidelity, to the next.

    Raises:
        ModuleNotFoundError: DEHB is not installed.
        ValueError: The problem has no checkpoints, or is of another kind.
    """

    quiet = True  # DEHB uses deprecated names of ConfigSpace

    def __init__(self, problem: Problem, seed: int, *, eta: int = 3) -> None:
        dehb = package("dehb")
        super().__init__(problem, seed)
        if problem.levels is None:
            raise ValueError("problem must have levels for DEHB, got none")
        self._of_config: dict[int, int] = {}
        levels = self._rows.levels
        with self._generators.active(), tempfile.TemporaryDirectory() as folder:  # DEHB writes a log there
            own = int(self.rng.integers(2**31))
            self._dehb = dehb.DEHB(
                cs=configspace_of(self.space, own), eta=eta, n_workers=1,
                min_fidelity=float(levels[0]), max_fidelity=float(levels[self._rows.top]),
                seed=own, output_path=folder, log_level="ERROR", save_freq="end",
            )  # fmt: skip
            self._dehb.logger.remove()

    def suggest(self) -> tuple[Any, Mapping[str, Any]]:
        """Return the next job of DEHB and its configuration."""
        job = self._dehb.ask()
        return job, dict(job["config"])

    def level(self, row: int, suggestion: Any) -> int | None:
        """Return the index of the last checkpoint within the job's fidelity."""
        return int(self._rows.level_of(suggestion["fidelity"] / self._rows.levels[0]))

    def row(self, suggestion: Any, point: Any) -> int:
        """Return the row evaluated for the job's configuration, the same for all jobs of one configuration."""
        config = int(suggestion["config_id"])
        if config not in self._of_config:
            self._of_config[config] = super().row(suggestion, point)
        return self._of_config[config]

    def adopt(self, suggestion: Any, action: Any) -> Any:
        """Replace the job's configuration in DEHB's records by that of the evaluated row; return the job."""
        made = configuration(self._dehb.cs, self.space, self.coordinates(action))
        stored = self._dehb.config_repository.configs[suggestion["config_id"]]
        stored.config = self._dehb.configspace_to_vector(made)
        return suggestion

    def learn(self, suggestion: Any, action: Any, reward: Any, info: Mapping[str, Any]) -> None:
        """Report the cost and the negative reward, for a failed or diverged run infinity, to DEHB."""
        fitness = float("inf") if lost(info) else -float(reward)
        self._dehb.tell(suggestion, {"fitness": fitness, "cost": float(info.get("cost", 0.0))})

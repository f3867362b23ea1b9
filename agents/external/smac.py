"""SMAC3 behind the ask/tell interface, with its criterion at every candidate. Needs the extra `optimizers`."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np

from hpo_envs.agents.base import lost
from hpo_envs.agents.external.base import ExternalOptimizer
from hpo_envs.agents.external.configspace import configspace_of, configuration
from hpo_envs.agents.external.packages import package
from hpo_envs.agents.models import Floats
from hpo_envs.agents.problem import Problem
from hpo_envs.tables.checks import one_of

FACADES = {"forest": "HyperparameterOptimization", "multi-fidelity": "MultiFidelity", "random": "Random"}


class SMAC(ExternalOptimizer):
    """SMAC3 with random forests (Lindauer et al. 2022): its facades, with their default settings.

    Once SMAC has no suggestion left, the agent suggests a random candidate and is done; on a box, SMAC's error ends it.

    Formula:
        m(x), s(x) = mean and standard deviation over the trees of a random forest of log costs
        next = argmax over untried candidates of expected improvement; a random one with the facade's probability
        multi-fidelity: Hyperband over checkpoints, with a forest for the highest checkpoint that has enough runs

    Given:
        space: the ConfigurationSpace, with categories, ordinals, integers, logarithms and conditions
        initial: random rows, as many as the facade's Sobol design has; on boxes that design
        choice: its acquisition function at every untried row in place of its local search; its random
            configurations are random rows
        told: the evaluated row, which is the suggested one
        settings: `deterministic=True`, as for tables; `n_trials` is the budget, or 100; seed

    Paper: Marius Lindauer et al. SMAC3: A Versatile Bayesian Optimization Package for Hyperparameter Optimization.
    Journal of Machine Learning Research 23(54):1-9, 2022.

    Complexity: a fit of the forest and O(trees n) predictions a suggestion, some milliseconds each in SMAC.

    Example:
        from hpo_envs import run
        runs = run("smac", "NMTHPO-swen-v0", seeds=range(2), budget=6)
        runs.best()

    Args:
        problem: Rows with features, a grid, a box, or (row, checkpoint) pairs.
        seed: Seed of `self.rng`, which seeds SMAC.
        facade: `forest` or `random`, for which pairs are trained to the end, or `multi-fidelity`, for pairs only.

    Raises:
        ModuleNotFoundError: SMAC is not installed.
        ValueError: An unknown facade, candidates without features, several objectives, or no checkpoints.
    """

    def __init__(self, problem: Problem, seed: int, *, facade: str = "forest") -> None:
        one_of("facade", facade, [*FACADES])
        package("smac")
        super().__init__(problem, seed)
        if facade == "multi-fidelity" and problem.levels is None:
            raise ValueError("problem must have levels for the multi-fidelity facade, got none")
        self._alike: dict[Any, list[int]] = {}
        self._ends = False
        with self._generators.active(), tempfile.TemporaryDirectory() as folder:  # SMAC writes its settings there
            self._space = configspace_of(self.space, int(self.rng.integers(2**31)))
            if self._rows is not None:
                self._list(self._points)
            self._smac = self._facade(facade, Path(folder))

    @staticmethod
    def lists(problem: Problem) -> bool:
        """Return whether actions are listed candidates: all but the points of a box."""
        return not isinstance(problem.action_space, gym.spaces.Box)

    def _list(self, points: Floats) -> None:
        """Replace SMAC's configurations by the candidates, and its random ones by random untried ones, if any."""
        for row, point in enumerate(points):
            self._alike.setdefault(configuration(self._space, self.space, point), []).append(row)
        self._configs = [*self._alike]

        def drawn(size: int | None = None) -> Any:
            left = [c for c, rows in self._alike.items() if not self._rows.times[rows].any()] or self._configs
            at = self.rng.permutation(len(left))[: size or 1]
            return left[at[0]] if size is None else [left[i] for i in at]

        self._space.sample_configuration = drawn

    def _facade(self, name: str, folder: Path) -> Any:
        import smac

        rows = self._rows
        settings, given = dict[str, Any](), dict[str, Any]()
        if name == "multi-fidelity" and rows is not None:
            settings = {"min_budget": float(rows.levels[0]), "max_budget": float(rows.levels[rows.top])}
        scenario = smac.Scenario(
            self._space, deterministic=True, n_trials=self.planned, seed=int(self.rng.integers(2**31)),
            output_directory=folder, **settings,
        )  # fmt: skip
        facade = getattr(smac, f"{FACADES[name]}Facade")
        if rows is not None:
            count = max(1, min(10 * len(self._space), self.planned // 4))
            design = package("smac.initial_design.random_design").RandomInitialDesign
            drawn = self._space.sample_configuration(count)
            given["initial_design"] = design(scenario, n_configs=0, additional_configs=drawn)
            given["acquisition_maximizer"] = _on_list(self._configs)(self._space, seed=scenario.seed)
        return facade(scenario, _budgeted if settings else _plain, overwrite=True, logging_level=False, **given)

    def suggest(self) -> tuple[Any, Mapping[str, Any]]:
        """Return SMAC's next trial and its configuration; once it has none left, (None, {}), on a box SMAC's error."""
        exhausted = package("smac.main.exceptions").ConfigurationSpaceExhaustedException
        try:
            trial = self._smac.ask()
        except (StopIteration, exhausted):
            if self._rows is None:
                raise
            self._ends = True
            return None, {}
        return trial, dict(trial.config)

    def level(self, row: int, suggestion: Any) -> int | None:
        """Return the index of the last checkpoint within the trial's budget; None (the last one) if it has none."""
        if suggestion is None or suggestion.budget is None:
            return None
        return int(np.searchsorted(self._rows.levels, suggestion.budget * (1 + 1e-9)) - 1)

    def row(self, suggestion: Any, point: Any) -> int:
        """Return the row of the trial's configuration, or a random one if SMAC has no trial left.

        Of rows with equal hyperparameters the least tried one is chosen; if the trial has a budget, always the first.
        """
        if suggestion is None:
            return int(self._rows.draw(self.rng))
        alike = self._alike[suggestion.config]
        return min(alike, key=lambda r: self._rows.times[r]) if suggestion.budget is None else alike[0]

    def tell(self, action: Any, reward: Any, info: Mapping[str, Any]) -> None:
        """Report the outcome to SMAC; the agent is done once SMAC has no candidate left."""
        super().tell(action, reward, info)
        self.done = self._ends

    def learn(self, suggestion: Any, action: Any, reward: Any, info: Mapping[str, Any]) -> None:
        """Report the negative reward to SMAC as a cost, with the status of a crash for a failed or diverged run."""
        from smac.runhistory import StatusType, TrialValue

        status = StatusType.CRASHED if lost(info) else StatusType.SUCCESS
        value = TrialValue(cost=-float(np.sum(reward)), time=float(info.get("cost", 0.0)), status=status)
        self._smac.tell(suggestion, value, save=False)


def _on_list(configs: list[Any]) -> Any:
    """Return a class of SMAC that maximises acquisition functions among listed configurations."""
    from smac.acquisition.maximizer.abstract_acquisition_maximizer import AbstractAcquisitionMaximizer

    class OnList(AbstractAcquisitionMaximizer):  # type: ignore[misc]
        def _maximize(self, previous_configs: list[Any], n_points: int) -> list[tuple[float, Any]]:
            tried = set(previous_configs)
            free = [config for config in configs if config not in tried]
            if not free:  # SMAC would look for the best of none
                raise package("smac.main.exceptions").ConfigurationSpaceExhaustedException
            ranked: list[tuple[float, Any]] = self._sort_by_acquisition_value(free)
            return ranked

    return OnList


def _plain(config: Any, seed: int = 0) -> float:
    raise NotImplementedError  # SMAC asks for a signature; it is asked and told instead


def _budgeted(config: Any, seed: int = 0, budget: float = 0.0) -> float:
    raise NotImplementedError

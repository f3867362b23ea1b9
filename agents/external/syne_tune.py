"""Schedulers of Syne Tune behind the ask/tell interface. Needs the extra `syne_tune`."""

from __future__ import annotations

import datetime
import logging
from collections.abc import Mapping
from typing import Any

import numpy as np

from hpo_envs.agents.external.nearest import NearestCandidate
from hpo_envs.agents.external.packages import package
from hpo_envs.agents.models import Floats
from hpo_envs.agents.problem import Problem
from hpo_envs.tables.checks import one_of

METRIC, RESOURCE = "loss", "resource"
WHOLE = ("CQR", "REA", "TPE", "RandomSearch")
"""Schedulers that know complete runs only."""
CURVES = ("ASHA", "ASHACQR", "BOHB")
"""Schedulers that see every checkpoint and may stop a run."""
NEEDS = {"CQR": "xgboost", "ASHACQR": "xgboost", "BOHB": "statsmodels", "TPE": "statsmodels"}
"""What schedulers need besides, which Syne Tune imports late."""


class SyneTune(NearestCandidate):
    """A scheduler of Syne Tune (Salinas et al. 2022), with its defaults, asked by one worker or several.

    Configurations are points of the unit cube. On learning curves every checkpoint is reported, and the run continues
    until the scheduler stops it or it ends.

    Formula:
        CQR: next = argmin over 2,000 random configurations of a draw from conformalised quantile regression
        ASHA: a run stops at a rung 1, 3, 9, ... where it is not among the best third of those that were there
        BOHB, ASHACQR: ASHA, whose configurations are drawn with kernel densities, or with CQR, of the last values
        on rows the untried one that stands for next, see `look_up`

    Paper: David Salinas et al. Syne Tune: A Library for Large Scale Hyperparameter Tuning and Reproducible Research.
    AutoML Conference 2022. David Salinas et al. Optimizing Hyperparameters with Conformal Quantile Regression. ICML
    2023. Liam Li et al. A System for Massively Parallel Hyperparameter Tuning. MLSys 2020. Stefan Falkner, Aaron Klein
    and Frank Hutter. BOHB: Robust and Efficient Hyperparameter Optimization at Scale. ICML 2018.

    Complexity: that of the scheduler, and O(n d) a suggestion for the nearest of n rows with d features.

    Args:
        problem: A box, a grid or rows with features; (row, checkpoint) pairs for those of `CURVES`.
        seed: See `NearestCandidate`.
        scheduler: One of `WHOLE` or of `CURVES`, as `syne_tune.optimizer.baselines` names them.

    Raises:
        ModuleNotFoundError: Syne Tune, or what the scheduler needs besides, is not installed.
        ValueError: No such scheduler, or one of `CURVES` without checkpoints.
    """

    def __init__(self, problem: Problem, seed: int, *, scheduler: str = "CQR") -> None:
        super().__init__(problem, seed)
        one_of("scheduler", scheduler, WHOLE + CURVES)
        self._curves = scheduler in CURVES
        if self._curves and problem.levels is None:
            raise ValueError(f"problem must have levels for {scheduler}, got none")
        baselines = package("syne_tune.optimizer.baselines")
        if scheduler in NEEDS:
            package(NEEDS[scheduler], scheduler)
        spaces = package("syne_tune.config_space")
        space = {f"x{i}": spaces.uniform(0.0, 1.0) for i in range(self.size)}
        settings: dict[str, Any] = {"metric": METRIC}
        if scheduler == "RandomSearch":
            settings = {"metrics": [METRIC]}
        elif self._curves:
            self._resource = self._rows.levels / self._rows.levels[0]
            settings |= {"time_attr": RESOURCE, "max_t": float(self._resource[self._rows.top])}
        logging.getLogger("syne_tune").setLevel(logging.ERROR)  # it warns of its own arguments
        with self._generators.active():
            made = getattr(baselines, scheduler)
            self._scheduler = made(space, random_seed=int(self.rng.integers(2**31)), **settings)
        self._count = 0
        self._running: list[tuple[Any, int, int]] = []

    def suggest(self) -> tuple[Any, Floats]:
        """Start a trial."""
        from syne_tune.backend.trial_status import Trial

        config = self._scheduler.suggest().config
        trial = Trial(self._count, config, datetime.datetime.fromtimestamp(0))
        self._count += 1
        self._scheduler.on_trial_add(trial)
        return trial, np.array([config[f"x{i}"] for i in range(self.size)])

    def ask(self) -> Any:
        """Return the next checkpoint of a continued run, or the configuration of a new trial."""
        if not self._running:
            return super().ask()
        trial, row, level = self._running.pop(0)
        action = self._rows.submit(row, level)
        self.asked.note(action, trial)
        return action

    def level(self, suggestion: Any) -> int | None:
        """New runs on learning curves are trained to the first checkpoint."""
        return 0 if self._curves else None

    def learn(self, suggestion: Any, action: Any, loss: float | None, info: Mapping[str, Any]) -> None:
        """Report to the scheduler; unless it stops the run, the next checkpoint is suggested."""
        suggestion.config.update(zip(suggestion.config, self.coordinates(action).tolist(), strict=True))
        if loss is None:
            self._scheduler.on_trial_error(suggestion)
        elif not self._curves:
            self._scheduler.on_trial_complete(suggestion, {METRIC: loss})
        else:
            row, level = (int(i) for i in action)
            result = {METRIC: loss, RESOURCE: float(self._resource[level])}
            decision = self._scheduler.on_trial_result(suggestion, result)
            if decision == "CONTINUE" and level < self._rows.top:
                self._running.append((suggestion, row, level + 1))
            else:
                self._scheduler.on_trial_remove(suggestion)

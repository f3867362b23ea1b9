"""Schedulers of Syne Tune behind the ask/tell interface. Needs the extra `syne_tune`."""

from __future__ import annotations

import datetime
import logging
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from hpo_envs.agents.base import lost
from hpo_envs.agents.external.base import ExternalOptimizer
from hpo_envs.agents.external.packages import package
from hpo_envs.agents.problem import Axis, Problem
from hpo_envs.tables.checks import one_of

METRIC, RESOURCE = "loss", "resource"
WHOLE = ("CQR", "REA", "TPE", "RandomSearch")
"""Schedulers that receive the losses of complete runs only."""
CURVES = ("ASHA", "ASHACQR", "BOHB")
"""Schedulers that receive the loss of every checkpoint and may stop a run."""
NEEDS = {"CQR": "xgboost", "ASHACQR": "xgboost", "BOHB": "statsmodels", "TPE": "statsmodels"}
"""Packages that schedulers need besides Syne Tune, which imports them late."""


class SyneTune(ExternalOptimizer):
    """A scheduler of Syne Tune (Salinas et al. 2022), with its defaults, for one worker or several.

    To schedulers of `CURVES` every checkpoint is reported, and a run continues until it ends or they stop it.

    Formula:
        CQR: next = argmin over 2,000 random configurations of a draw from conformalised quantile regression
        ASHA: a run stops at a rung 1, 3, 9, ... unless it is among the best third of the runs that reached it
        BOHB, ASHACQR: ASHA, whose configurations are drawn with kernel densities, or with CQR, of the last values
        on rows the untried one chosen for next by `look_up`

    Given:
        space: choices, ordinals, integers, floats and logarithms; it has no conditions, inactive values are ignored
        initial: the scheduler's random configurations
        choice: the scheduler's suggestion; on rows looked up, on learning curves among those not fully trained once all
            were tried
        told: the evaluated row, as the configuration of the trial; on learning curves every checkpoint
        settings: seed

    Paper: David Salinas et al. Syne Tune: A Library for Large Scale Hyperparameter Tuning and Reproducible Research.
    AutoML Conference 2022. David Salinas et al. Optimizing Hyperparameters with Conformal Quantile Regression. ICML
    2023. Liam Li et al. A System for Massively Parallel Hyperparameter Tuning. MLSys 2020. Stefan Falkner, Aaron Klein
    and Frank Hutter. BOHB: Robust and Efficient Hyperparameter Optimization at Scale. ICML 2018.

    Complexity: that of the scheduler, and O(n d) a suggestion for the look-up among n rows.

    Example:
        from hpo_envs import run
        runs = run("syne-asha", "NMTLC-swen-v0", seeds=range(2))
        runs.best()  # the row, and the fidelity that it was trained to

    Args:
        problem: A box, a grid or rows with features; (row, checkpoint) pairs for those of `CURVES`.
        seed: See `ExternalOptimizer`.
        scheduler: One of `WHOLE` or of `CURVES`, named as in `syne_tune.optimizer.baselines`.

    Raises:
        ModuleNotFoundError: Syne Tune, or another package that the scheduler needs, is not installed.
        ValueError: An unknown scheduler, or one of `CURVES` without checkpoints.
    """

    def __init__(self, problem: Problem, seed: int, *, scheduler: str = "CQR") -> None:
        baselines, spaces = package("syne_tune.optimizer.baselines"), package("syne_tune.config_space")
        if scheduler in NEEDS:
            package(NEEDS[scheduler], scheduler)
        super().__init__(problem, seed)
        one_of("scheduler", scheduler, WHOLE + CURVES)
        self._curves = scheduler in CURVES
        if self._curves and problem.levels is None:
            raise ValueError(f"problem must have levels for {scheduler}, got none")
        space = {name: domain(spaces, axis) for name, axis in zip(self.space.names, self.space.axes, strict=True)}
        settings: dict[str, Any] = {"metrics": [METRIC]} if scheduler == "RandomSearch" else {"metric": METRIC}
        if self._curves:
            self._resource = self._rows.levels / self._rows.levels[0]
            settings |= {"time_attr": RESOURCE, "max_t": float(self._resource[self._rows.top])}
        logging.getLogger("syne_tune").setLevel(logging.ERROR)  # it warns of its own arguments
        with self._generators.active():
            made = getattr(baselines, scheduler)
            self._scheduler = made(space, random_seed=int(self.rng.integers(2**31)), **settings)
        self._count, self._running = 0, list[tuple[Any, int, int]]()
        if self._curves:
            self._next = np.zeros(self._rows.count, np.int64)  # first checkpoint without a result

    def suggest(self) -> tuple[Any, Mapping[str, Any]]:
        """Return the scheduler's next configuration as suggestion, and again as configuration."""
        config = self._scheduler.suggest().config
        return config, config

    def adopt(self, suggestion: Any, action: Any) -> Any:
        """Return a new trial of the evaluated configuration, after adding it to the scheduler."""
        from syne_tune.backend.trial_status import Trial

        evaluated = self.config(action) if self._rows is not None else {}
        trial = Trial(self._count, {**suggestion, **evaluated}, datetime.datetime.fromtimestamp(0))
        self._count += 1
        self._scheduler.on_trial_add(trial)
        return trial

    def ask(self) -> Any:
        """Return the action that continues a run to its next checkpoint, if one waits, else that of a new trial."""
        if not self._running:
            return super().ask()
        trial, row, level = self._running.pop(0)
        action = self._rows.submit(row, level)
        self.wait_for(action, trial)
        return action

    def open(self) -> npt.NDArray[np.bool_]:
        """Return the (rows,) mask of rows tried least often; of learning curves, once all were tried, unfinished rows.

        Restarting a finished row would cost nothing, and the scheduler could do so forever.
        """
        if self._curves and self._rows.times.min() and (left := self._next <= self._rows.top).any():
            return np.asarray(left)
        return super().open()

    def level(self, row: int, suggestion: Any) -> int | None:
        """Return the index of the row's first checkpoint without a result, or of the last one; None for whole runs."""
        return min(int(self._next[row]), self._rows.top) if self._curves else None

    def learn(self, suggestion: Any, action: Any, reward: Any, info: Mapping[str, Any]) -> None:
        """Report the outcome to the scheduler; on curves, queue the next checkpoint unless it stops the run."""
        loss = -float(reward)
        if self._curves:
            row, level = (int(i) for i in action)
            self._next[row] = max(self._next[row], self._rows.top + 1 if lost(info) else level + 1)
        if lost(info):
            self._scheduler.on_trial_error(suggestion)
        elif not self._curves:
            self._scheduler.on_trial_complete(suggestion, {METRIC: loss})
        else:
            result = {METRIC: loss, RESOURCE: float(self._resource[level])}
            if self._scheduler.on_trial_result(suggestion, result) == "CONTINUE" and level < self._rows.top:
                self._running.append((suggestion, row, level + 1))
            else:
                self._scheduler.on_trial_remove(suggestion)


def domain(spaces: Any, axis: Axis) -> Any:
    """Return the domain of an axis, from the module `syne_tune.config_space`, or its only value, if it has one."""
    if axis.single:
        return axis.natural(0.0)
    if axis.choices:
        values = list(axis.choices)
        return spaces.choice(values) if axis.categorical else spaces.ordinal(values, kind="equal")
    made = getattr(spaces, ("log" if axis.log else "") + ("randint" if axis.whole else "uniform"))
    return made(*((int(axis.low), int(axis.high)) if axis.whole else (axis.low, axis.high)))

"""Samplers of Optuna as agents, on boxes, grids and rows with features. Needs the extra `optuna`."""

from __future__ import annotations

import copy
import inspect
import warnings
from collections.abc import Mapping
from typing import Any

import gymnasium as gym
import numpy as np

from hpo_envs.agents.base import lost
from hpo_envs.agents.external.base import ExternalOptimizer
from hpo_envs.agents.external.packages import package
from hpo_envs.agents.models import Floats
from hpo_envs.agents.problem import MIDDLE, Axis, Problem
from hpo_envs.tables.checks import one_of

NEEDS = {"GPSampler": "torch", "CmaEsSampler": "cmaes"}
"""Packages that samplers need besides Optuna, which imports them late."""


class AnySampler(ExternalOptimizer):
    """Any sampler of Optuna (Akiba et al. 2019), unchanged.

    Hyperparameters without a name are `x0`, `x1`, ... If actions are (row, checkpoint) pairs, rows are trained to the
    end. The agent is done once its sampler has tried everything (`GridSampler`, `BruteForceSampler`).

    Formula:
        x* = the sampler's suggestion, by default the argmax of l(x) / g(x) of TPE
        next = x* on boxes and grids; on rows the untried one chosen by `look_up`

    Given:
        space: categories, integers, floats, logarithms, suggested while their condition holds; ordered values by index
        initial: the sampler's own
        choice: the sampler's suggestion; on rows looked up
        told: the evaluated row, as an added trial with the attributes of the suggested one, which is marked as failed
        settings: seed

    Paper: Takuya Akiba, Shotaro Sano, Toshihiko Yanase, Takeru Ohta and Masanori Koyama. Optuna: A Next-generation
    Hyperparameter Optimization Framework. KDD 2019.

    Complexity: that of the sampler, and O(n d) a suggestion for the look-up among n rows.

    Example:
        from hpo_envs import run
        runs = run("optuna", "NMTHPO-swen-v0", seeds=range(2), budget=8, sampler="QMCSampler")
        runs.best()

    Args:
        problem: A box, a grid, or rows with features; one or more objectives, as the sampler supports.
        seed: Seed of `self.rng`, and of the sampler, if it takes one.
        sampler: Name of a class of `optuna.samplers`; or a class or function that returns a sampler; or a sampler,
            which is copied with the state of its generator, so that its suggestions do not depend on `seed`.
        fresh: On rows, whether the rows tried least often are evaluated, else the one nearest to the suggestion.
        evaluations: Number of evaluations after which the agent is done; None: not limited.
        **settings: Arguments of the sampler.

    Raises:
        ModuleNotFoundError: Optuna, or another package that the sampler needs, is not installed.
        ValueError: An unknown sampler, settings for a sampler object, or a problem of another kind.
    """

    listens = True
    several = True

    def __init__(
        self, problem: Problem, seed: int, *, sampler: Any = "TPESampler", fresh: bool = True,
        evaluations: int | None = None, **settings: Any,
    ) -> None:  # fmt: skip
        super().__init__(problem, seed)
        optuna = package("optuna")
        optuna.logging.set_verbosity(optuna.logging.WARNING)  # it reports every study and trial otherwise
        self._fresh, self._left = fresh, np.inf if evaluations is None else evaluations
        self._axes = dict(zip(self.space.names, map(distribution_of, self.space.axes), strict=True))
        made = _sampler(sampler, int(np.random.default_rng(seed).integers(2**31)), settings)
        self._study = optuna.create_study(directions=["maximize"] * problem.objectives, sampler=made)
        # Samplers of finite grids stop the study when nothing is left to try; asked step by step, that is an error.
        self._study.stop = self._stop

    def _stop(self) -> None:
        self.done = True

    def suggest(self) -> tuple[Any, Mapping[str, Any]]:
        """Return a new trial and the natural values, by name, of its active hyperparameters."""
        trial, point = self._study.ask(), np.full(len(self.space), MIDDLE)
        config: dict[str, Any] = {}
        for j, (name, axis) in enumerate(zip(self.space.names, self.space.axes, strict=True)):
            if self.space.active(point[None])[0, j]:
                config[name] = _value(axis, _suggest(trial, name, self._axes[name]))
                point[j] = axis.coordinate(config[name])
        return trial, config

    def row(self, suggestion: Any, point: Any) -> int:
        """Return the row evaluated for a suggestion at a (d,) point; without `fresh`, it is the nearest of all rows."""
        if self._fresh:
            return super().row(suggestion, point)
        return int(self.space.distances(point[None], self._points).argmin())

    def params(self, point: Floats) -> dict[str, Any]:
        """Return Optuna's values, by name, of the hyperparameters that are active at a (d,) point."""
        config = self.space.config(point)
        return {a.name: _index(a, config[a.name]) for a in self.space.axes if a.name in config}

    def column(self, axis: Axis, coordinates: Floats) -> Floats:
        """Return the (n,) numbers by which Optuna stores (n,) coordinates of an axis: indices of choices, or values."""
        if axis.choices:
            return np.minimum(np.floor(coordinates * len(axis.choices)), len(axis.choices) - 1.0)
        return np.array([axis.natural(u) for u in coordinates.tolist()], np.float64)

    def tell(self, action: Any, reward: Any, info: Mapping[str, Any]) -> None:
        """Report the outcome to the sampler; set `done` after `evaluations` results."""
        super().tell(action, reward, info)
        self._left -= bool(info.get("finished", True))
        self.done = self.done or self._left <= 0

    def learn(self, suggestion: Any, action: Any, reward: Any, info: Mapping[str, Any]) -> None:
        """Report the rewards of the evaluated configuration to the study, as a new trial if it was not suggested.

        A suggestion whose evaluation fails is a failed trial; failures of other actions are ignored.
        """
        trials, values = package("optuna").trial, np.atleast_1d(reward).tolist()
        params = self.params(self.coordinates(action))
        own = suggestion is not None and (self._rows is None or params == suggestion.params)
        if suggestion is not None:
            known = {"values": values} if own and not lost(info) else {"state": trials.TrialState.FAIL}
            told = self._study.tell(suggestion, **known)
        if not own and not lost(info):
            axes = {name: self._axes[name] for name in params}
            attributes = {} if suggestion is None else told.system_attrs
            made = trials.create_trial(params=params, distributions=axes, values=values, system_attrs=attributes)
            self._study.add_trial(made)


def distribution_of(axis: Axis) -> Any:
    """Return Optuna's distribution of an axis; that of ordered choices is a range of their indices."""
    made = package("optuna").distributions
    if axis.kind == "categorical":
        return made.CategoricalDistribution(axis.choices)
    if axis.kind == "ordinal":
        return made.IntDistribution(0, len(axis.choices) - 1)
    if axis.kind == "integer":
        return made.IntDistribution(int(axis.low), int(axis.high), log=axis.log)
    return made.FloatDistribution(axis.low, axis.high, log=axis.log)


def _suggest(trial: Any, name: str, axis: Any) -> Any:
    kind = type(axis).__name__
    if kind == "CategoricalDistribution":
        return trial.suggest_categorical(name, axis.choices)
    return getattr(trial, f"suggest_{kind[:-12].lower()}")(name, axis.low, axis.high, log=axis.log)


def _value(axis: Axis, value: Any) -> Any:
    """Return the natural value for a value of Optuna."""
    return axis.choices[value] if axis.kind == "ordinal" else value


def _index(axis: Axis, value: Any) -> Any:
    """Return Optuna's value for a natural value."""
    return axis.choices.index(value) if axis.kind == "ordinal" else value


def _sampler(given: Any, seed: int, settings: Mapping[str, Any]) -> Any:
    """Return a sampler of Optuna, given by its name, as a factory or as an object, which is copied."""
    samplers = package("optuna").samplers
    if isinstance(given, str):
        known = [n for n in samplers.__all__ if n.endswith("Sampler") and not n.startswith("Base")]
        given = getattr(samplers, one_of("sampler", given, known))
    if isinstance(given, samplers.BaseSampler):
        if settings:
            raise ValueError(f"settings must be set on the sampler itself, got {', '.join(settings)}")
        return copy.deepcopy(given)
    if not callable(given):
        raise ValueError(f"sampler must be a name, a sampler or a factory of samplers, got {given!r}")
    seeded = {"seed": seed} if "seed" in inspect.signature(given).parameters else {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", package("optuna").exceptions.ExperimentalWarning)
        made = given(**{**seeded, **settings})
    if not isinstance(made, samplers.BaseSampler):
        raise ValueError(f"sampler must return an Optuna sampler, got {made!r}")
    for name in {kind.__name__ for kind in type(made).__mro__} & NEEDS.keys():
        package(NEEDS[name], name)
    return made


class CMAES(AnySampler):
    """CMA-ES (Hansen and Ostermeier 2001), for boxes and one objective.

    Formula:
        x ~ N(m, s^2 C) for each member of a generation
        m, s, C <- weighted recombination of the best half, step-size control, rank-one and rank-mu updates

    Given:
        space: integers, floats, logarithms; categories and their dependent parameters are drawn at random by Optuna
        initial: the sampler's own
        choice: the sampler's suggestion
        told: the suggestion, which is evaluated
        settings: seed

    Paper: Nikolaus Hansen and Andreas Ostermeier. Completely Derandomized Self-Adaptation in Evolution Strategies.
    Evolutionary Computation 9(2):159-195, 2001. Implementation: Optuna with the package cmaes.

    Complexity: O(d^2) a suggestion and O(d^3) a generation in d dimensions; below 1 ms per suggestion.

    Example:
        from hpo_envs import run
        runs = run("cmaes", "CushLEPOR-ted-ende-v0", seeds=range(2), budget=12)
        runs.best()  # the best weights of both seeds

    Raises:
        ModuleNotFoundError: Optuna or the package cmaes is not installed.
        ValueError: More than one objective.
    """

    spaces = (gym.spaces.Box,)
    several = False

    def __init__(self, problem: Problem, seed: int, **settings: Any) -> None:
        quiet = {"warn_independent_sampling": False}  # what it draws at random is documented above
        super().__init__(problem, seed, sampler="CmaEsSampler", **{**quiet, **settings})

"""Samplers of Optuna as agents, on boxes, grids and rows that have features."""

from __future__ import annotations

import copy
import inspect
import warnings
from collections.abc import Mapping
from typing import Any

import gymnasium as gym
import numpy as np

from hpo_envs.agents.candidates import lost
from hpo_envs.agents.external.nearest import ExternalOptimizer
from hpo_envs.agents.external.packages import package
from hpo_envs.agents.models import Floats
from hpo_envs.agents.problem import Problem
from hpo_envs.tables.checks import one_of

NEEDS = {"GPSampler": "torch", "CmaEsSampler": "cmaes"}
"""What samplers need besides Optuna, which imports it late."""


class AnySampler(ExternalOptimizer):
    """Any sampler of Optuna (Akiba et al. 2019), as it is.

    `Box` spaces become floats and the values of a `MultiDiscrete` space ordered ints, named `x0`, `x1`, ... Where
    actions are rows, the sampler searches the box of their features and the nearest row not tried before is evaluated;
    what came back is told for the point suggested. Where actions are (row, checkpoint) pairs, rows are trained to the
    end. Samplers that have tried everything (`GridSampler`, `BruteForceSampler`) are done.

    Formula:
        x* = the sampler's suggestion, by default the argmax of l(x) / g(x) of TPE
        next = x* on boxes and grids; on rows argmin over untried rows of |features(row) - x*|^2

    Paper: Takuya Akiba, Shotaro Sano, Toshihiko Yanase, Takeru Ohta and Masanori Koyama. Optuna: A Next-generation
    Hyperparameter Optimization Framework. KDD 2019.

    Complexity: what the sampler costs, and O(n d) a suggestion for the nearest of n rows with d features.

    Args:
        problem: A box, a grid, or rows with features; one or more objectives, as far as the sampler goes.
        seed: Seed of `self.rng`, and of the sampler, if it takes one.
        sampler: Name of a class of `optuna.samplers`; or a class or function that returns a sampler; or a sampler,
            which is copied with the seed that it has, so that it runs alike for every `seed`.
        fresh: Of rows, whether the nearest one not tried before is evaluated.
        **settings: Arguments of the sampler.

    Raises:
        ModuleNotFoundError: Optuna, or what the sampler needs besides, is not installed.
        ValueError: No such sampler, or settings for a sampler that is made already; another kind of space.
    """

    several = True

    def __init__(
        self, problem: Problem, seed: int, *, sampler: Any = "TPESampler", fresh: bool = True, **settings: Any
    ) -> None:
        super().__init__(problem, seed)
        optuna = package("optuna")
        # Optuna reports every study and trial otherwise.
        optuna.logging.set_verbosity(optuna.logging.WARNING)
        self._fresh = fresh
        if isinstance(problem.action_space, gym.spaces.MultiDiscrete) and self._rows is None:
            axes = [optuna.distributions.IntDistribution(0, int(size) - 1) for size in self._high]
        else:
            ends = zip(self._low.tolist(), self._high.tolist(), strict=True)
            axes = [optuna.distributions.FloatDistribution(low, high) for low, high in ends]
        self._axes = {f"x{i}": axis for i, axis in enumerate(axes)}
        made = _sampler(sampler, int(np.random.default_rng(seed).integers(2**31)), settings)
        self._study = optuna.create_study(directions=["maximize"] * problem.objectives, sampler=made)
        # Samplers of finite grids stop the study when nothing is left to try; asked step by step, that is an error.
        self._study.stop = self._stop

    def _stop(self) -> None:
        self.done = True

    def _suggestion(self) -> tuple[Any, Floats]:
        trial = self._study.ask(self._axes)
        return trial, np.array([trial.params[name] for name in self._axes])

    def row(self, suggestion: Any, point: Any) -> int:
        """The row nearest to the suggestion."""
        return int(self._rows.nearest(((self._x - point) ** 2).sum(axis=1), self._fresh))

    def _report(self, suggestion: Any, action: Any, reward: Any, info: Mapping[str, Any]) -> None:
        """Report the rewards or a failure to the study, for the point that the sampler suggested."""
        trials, values = package("optuna").trial, np.atleast_1d(reward).tolist()
        if suggestion is not None:
            self._study.tell(suggestion, **({"state": trials.TrialState.FAIL} if lost(info) else {"values": values}))
        elif not lost(info):
            point = self._point(np.asarray(action)) if self._rows is None else self._x[self._rows.row(action)]
            params = dict(zip(self._axes, point.ravel().tolist(), strict=True))
            self._study.add_trial(trials.create_trial(params=params, distributions=self._axes, values=values))


def _sampler(given: Any, seed: int, settings: Mapping[str, Any]) -> Any:
    """A sampler by name, by factory or by itself."""
    samplers = package("optuna").samplers
    if isinstance(given, str):
        known = [n for n in samplers.__all__ if n.endswith("Sampler") and not n.startswith("Base")]
        given = getattr(samplers, one_of("sampler", given, known))
    if isinstance(given, samplers.BaseSampler):
        if settings:
            raise ValueError(f"settings must be given to the sampler itself, got {', '.join(settings)}")
        return copy.deepcopy(given)
    if not callable(given):
        raise ValueError(f"sampler must be a name, a sampler or something that makes one, got {given!r}")
    seeded = {"seed": seed} if "seed" in inspect.signature(given).parameters else {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", package("optuna").exceptions.ExperimentalWarning)
        made = given(**{**seeded, **settings})
    if not isinstance(made, samplers.BaseSampler):
        raise ValueError(f"sampler must return a sampler of Optuna, got {made!r}")
    for name in {kind.__name__ for kind in type(made).__mro__} & NEEDS.keys():
        package(NEEDS[name], name)
    return made


class TPE(AnySampler):
    """Tree-structured Parzen estimator (Bergstra et al. 2011), the sampler of the cushLEPOR paper.

    Klyuchnikov et al. 2020, section 5, search the features of their sample of cells so, with Hyperopt. Pending
    evaluations of a box or a grid count as one of the worst (`constant_liar`).

    Formula:
        l(x), g(x) = Parzen densities of the good and of the other evaluations, each dimension on its own
        x* = argmax of l(x) / g(x) among draws from l
        next = x* on boxes and grids; on rows argmin over untried rows of |features(row) - x*|^2

    Paper: James Bergstra, Remi Bardenet, Yoshua Bengio and Balazs Kegl. Algorithms for Hyper-Parameter
    Optimization. NeurIPS 2011. Nikita Klyuchnikov et al. NAS-Bench-NLP: Neural Architecture Search Benchmark for
    Natural Language Processing. arXiv:2006.07116, 2020, section 5. Implementation: Takuya Akiba et al. Optuna: A
    Next-generation Hyperparameter Optimization Framework. KDD 2019.

    Complexity: O(t d) for the densities of t evaluations in d dimensions, about 5 ms per suggestion; O(n d) for the
    nearest of n rows.

    Args:
        problem: A box, a grid, rows with features, or (row, checkpoint) pairs.
        seed: Seed of the sampler.
        evaluations: The agent is done after this number; None = never.
        **settings: See `AnySampler`; the rest are arguments of `optuna.samplers.TPESampler`.

    Raises:
        ModuleNotFoundError: Optuna is not installed.
        ValueError: Rows without features.
    """

    def __init__(self, problem: Problem, seed: int, *, evaluations: int | None = None, **settings: Any) -> None:
        rows = self.lists(problem)
        if rows:
            seed = int(np.random.default_rng(seed).integers(2**31))
        super().__init__(problem, seed, **{"constant_liar": not rows, **settings})
        self.random_first = 0 if rows else settings.get("n_startup_trials", 10)
        self._left = np.inf if evaluations is None else evaluations

    def tell(self, action: Any, reward: Any, info: Mapping[str, Any]) -> None:
        """Report the reward to the sampler."""
        super().tell(action, reward, info)
        self._left -= bool(info.get("finished", True))
        self.done = self._left <= 0


class CMAES(AnySampler):
    """CMA-ES (Hansen and Ostermeier 2001), continuous spaces and one objective only.

    Formula:
        x ~ N(m, s^2 C) for each member of a generation
        m, s, C <- weighted recombination of the best half, step-size control, rank-one and rank-mu updates

    Paper: Nikolaus Hansen and Andreas Ostermeier. Completely Derandomized Self-Adaptation in Evolution Strategies.
    Evolutionary Computation 9(2):159-195, 2001. Implementation: Optuna with the package cmaes.

    Complexity: O(d^2) a suggestion and O(d^3) a generation in d dimensions; below 1 ms per suggestion.

    Raises:
        ModuleNotFoundError: Optuna or the package cmaes is not installed.
        ValueError: More than one objective.
    """

    spaces = (gym.spaces.Box,)
    several = False

    def __init__(self, problem: Problem, seed: int, **settings: Any) -> None:
        super().__init__(problem, seed, sampler="CmaEsSampler", **settings)

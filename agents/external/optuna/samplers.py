"""Samplers of Optuna as agents, on boxes, grids and rows that have features."""

from __future__ import annotations

import copy
import inspect
import warnings
from collections.abc import Mapping
from typing import Any

import gymnasium as gym
import numpy as np

from hpo_envs.agents.base import Agent
from hpo_envs.agents.candidates import Candidates, Incumbent, lost
from hpo_envs.agents.external.nearest import PendingSuggestions
from hpo_envs.agents.external.packages import package
from hpo_envs.agents.problem import Problem
from hpo_envs.tables.checks import one_of

NEEDS = {"GPSampler": "torch", "CmaEsSampler": "cmaes"}
"""What samplers need besides Optuna, which imports it late."""


class AnySampler(Agent):
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

    parallel = True
    spaces: tuple[type, ...] = (gym.spaces.Box, gym.spaces.MultiDiscrete, gym.spaces.Discrete)

    def __init__(
        self,
        problem: Problem,
        seed: int,
        *,
        sampler: Any = "TPESampler",
        fresh: bool = True,
        **settings: Any,
    ) -> None:
        super().__init__(problem, seed)
        optuna = package("optuna")
        space = problem.action_space
        if not isinstance(space, self.spaces):
            kinds = ", ".join(s.__name__ for s in self.spaces)
            raise ValueError(f"action_space must be a {kinds} for this agent, got {space}")
        # Optuna reports every study and trial otherwise.
        optuna.logging.set_verbosity(optuna.logging.WARNING)
        d = optuna.distributions
        self._rows: Candidates | None = None
        self._fresh = fresh
        if on_rows(problem):
            self._rows = Candidates(problem)
            self._x = self._rows.varying
            axes = [d.FloatDistribution(low, high) for low, high in zip(*_ends(self._x), strict=True)]
        elif isinstance(space, gym.spaces.MultiDiscrete):
            axes = [d.IntDistribution(0, size - 1) for size in space.nvec.ravel().tolist()]
        else:
            assert isinstance(space, gym.spaces.Box)
            ends = space.low.ravel().tolist(), space.high.ravel().tolist()
            axes = [d.FloatDistribution(low, high) for low, high in zip(*ends, strict=True)]
        self._axes = {f"x{i}": axis for i, axis in enumerate(axes)}
        made = _sampler(sampler, int(np.random.default_rng(seed).integers(2**31)), settings)
        self._study = optuna.create_study(directions=["maximize"] * problem.objectives, sampler=made)
        # Samplers of finite grids stop the study when nothing is left to try; asked step by step, that is an error.
        self._study.stop = self._stop
        self._asked = PendingSuggestions()
        self._incumbent = self._rows or Incumbent()

    def _stop(self) -> None:
        self.done = True

    def ask(self) -> Any:
        """Return the sampler's next suggestion, or the row nearest to it."""
        trial = self._study.ask(self._axes)
        point = np.array([trial.params[name] for name in self._axes])
        if self._rows is None:
            action = self._action(point)
        else:
            action = self._rows.submit(self._rows.nearest(((self._x - point) ** 2).sum(axis=1), self._fresh))
        self._asked.note(action, trial)
        return action

    def _action(self, point: Any) -> Any:
        space = self.problem.action_space
        return np.array(point, dtype=space.dtype).reshape(space.shape)

    def tell(self, action: Any, reward: Any, info: Mapping[str, Any]) -> None:
        """Report the rewards or a failure to the study, for the point that the sampler suggested."""
        if not self._incumbent.note(action, reward, info):
            return
        trials, values = package("optuna").trial, np.atleast_1d(reward).tolist()
        if (trial := self._asked.take(action)) is not None:
            self._study.tell(trial, **({"state": trials.TrialState.FAIL} if lost(info) else {"values": values}))
        elif not lost(info):  # not asked for
            point = self._action(action) if self._rows is None else self._x[self._rows.row(action)]
            params = dict(zip(self._axes, point.ravel().tolist(), strict=True))
            self._study.add_trial(trials.create_trial(params=params, distributions=self._axes, values=values))

    def recommend(self) -> Any:
        """Return the best evaluated action, by the sum of rewards; the middle, or a random row, before the first."""
        if self._rows is not None:
            return self._rows.recommend(self.rng)
        if self._incumbent.best is not None:
            return self._incumbent.best[1]
        return self._action([(axis.low + axis.high) / 2 for axis in self._axes.values()])


def on_rows(problem: Problem) -> bool:
    """Return whether actions are rows, or (row, checkpoint) pairs."""
    return problem.levels is not None or isinstance(problem.action_space, gym.spaces.Discrete)


def _ends(x: Any) -> tuple[list[float], list[float]]:
    return x.min(axis=0).tolist(), x.max(axis=0).tolist()


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
        rows = on_rows(problem)
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

    def __init__(self, problem: Problem, seed: int, **settings: Any) -> None:
        if problem.objectives != 1:
            raise ValueError(f"objectives must be 1 for CMA-ES, got {problem.objectives}")
        super().__init__(problem, seed, sampler="CmaEsSampler", **settings)

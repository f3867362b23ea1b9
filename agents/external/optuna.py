"""Optuna's samplers behind the ask/tell interface. Needs the extra `optuna`."""

from __future__ import annotations

import copy
import inspect
import warnings
from collections.abc import Mapping
from typing import Any

import gymnasium as gym
import numpy as np

from hpo_envs.agents.base import Agent
from hpo_envs.agents.candidates import Incumbent, lost
from hpo_envs.agents.external.packages import package
from hpo_envs.agents.problem import Problem
from hpo_envs.tables.checks import one_of

NEEDS = {"GPSampler": "torch", "CmaEsSampler": "cmaes"}
"""What samplers need besides Optuna, which imports it late."""


class OptunaAgent(Agent):
    """A sampler of Optuna (Akiba et al. 2019) on a box or a grid, with its own default arguments.

    `Box` spaces become floats; the values of a `MultiDiscrete` space are ordered ints.

    Complexity: what the sampler costs, see the subclasses.

    Args:
        problem: A `Box` or `MultiDiscrete` problem, one or more objectives.
        seed: Seed of `self.rng`, from which the sampler is seeded.
        sampler: See `AnySampler`.
        **settings: Arguments of the sampler.

    Raises:
        ModuleNotFoundError: Optuna is not installed.
        ValueError: Another kind of space, or levels; no such sampler, or settings for one that is made already.
    """

    parallel = True
    spaces: tuple[type, ...] = (gym.spaces.Box, gym.spaces.MultiDiscrete)

    def __init__(self, problem: Problem, seed: int, *, sampler: Any = "TPESampler", **settings: Any) -> None:
        super().__init__(problem, seed)
        optuna = package("optuna")
        space = problem.action_space
        if problem.levels is not None or not isinstance(space, self.spaces):
            kinds = " or ".join(s.__name__ for s in self.spaces)
            raise ValueError(f"action_space must be a {kinds} without levels for this agent, got {space}")
        # Optuna reports every study and trial otherwise.
        optuna.logging.set_verbosity(optuna.logging.WARNING)
        self._shape, self._dtype = space.shape, space.dtype
        d = optuna.distributions
        if isinstance(space, gym.spaces.Box):
            ends = zip(space.low.ravel().tolist(), space.high.ravel().tolist(), strict=True)
            self._axes = {f"x{i}": d.FloatDistribution(low, high) for i, (low, high) in enumerate(ends)}
        else:
            assert isinstance(space, gym.spaces.MultiDiscrete)
            sizes = space.nvec.ravel().tolist()
            self._axes = {f"x{i}": d.IntDistribution(0, size - 1) for i, size in enumerate(sizes)}
        made = _sampler(sampler, int(self.rng.integers(2**31)), settings)
        self._study = optuna.create_study(directions=["maximize"] * problem.objectives, sampler=made)
        # Samplers of finite grids stop the study when nothing is left to try; asked step by step, that is an error.
        self._study.stop = self._stop
        self._trials: list[tuple[bytes, Any]] = []
        self._incumbent = Incumbent()

    def _stop(self) -> None:
        self.done = True

    def ask(self) -> Any:
        """Return the sampler's next suggestion."""
        trial = self._study.ask(self._axes)
        action = np.array([trial.params[name] for name in self._axes], dtype=self._dtype).reshape(self._shape)
        self._trials.append((action.tobytes(), trial))
        return action

    def tell(self, action: Any, reward: Any, info: Mapping[str, Any]) -> None:
        """Report the rewards or a failure to the study; keep the best action by the sum of rewards."""
        if not self._incumbent.note(action, reward, info):
            return
        optuna = package("optuna")
        states, values = optuna.trial.TrialState, np.atleast_1d(reward).tolist()
        given = np.asarray(action, dtype=self._dtype)
        at = next((i for i, (key, _) in enumerate(self._trials) if key == given.tobytes()), None)
        if at is not None:
            _, trial = self._trials.pop(at)
            self._study.tell(trial, **({"state": states.FAIL} if lost(info) else {"values": values}))
        elif not lost(info):  # not asked for
            params = dict(zip(self._axes, given.ravel().tolist(), strict=True))
            self._study.add_trial(optuna.trial.create_trial(params=params, distributions=self._axes, values=values))

    def recommend(self) -> Any:
        """Return the best evaluated action, or the middle of the space before the first."""
        if self._incumbent.best is not None:
            return self._incumbent.best[1]
        middle = [(axis.low + axis.high) / 2 for axis in self._axes.values()]
        return np.array(middle, dtype=self._dtype).reshape(self._shape)


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


class OptunaTPE(OptunaAgent):
    """Tree-structured Parzen estimator (Bergstra et al. 2011), the sampler of the cushLEPOR paper.

    Formula:
        l(x), g(x) = Parzen densities of the good and of the other evaluations, each dimension on its own
        next = argmax of l(x) / g(x) among draws from l

    Paper: James Bergstra, Remi Bardenet, Yoshua Bengio and Balazs Kegl. Algorithms for Hyper-Parameter
    Optimization. NeurIPS 2011. Implementation: Takuya Akiba et al. Optuna: A Next-generation Hyperparameter
    Optimization Framework. KDD 2019.

    Pending evaluations count as one of the worst (`constant_liar`).

    Complexity: O(t d) for the densities of t evaluations in d dimensions; about 5 ms per suggestion.
    """

    def __init__(self, problem: Problem, seed: int, **settings: Any) -> None:
        super().__init__(problem, seed, **{"constant_liar": True, **settings})
        self.random_first = settings.get("n_startup_trials", 10)


class OptunaCMAES(OptunaAgent):
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

"""Any sampler of Optuna as an agent, on boxes, grids and rows that have features. Needs the extra `optuna`."""

from __future__ import annotations

import copy
import difflib
import inspect
import warnings
from collections.abc import Mapping
from typing import Any

import gymnasium as gym
import numpy as np

from hpo_envs.agents.base import Agent, require_result
from hpo_envs.agents.external.optuna import OptunaAgent, _optuna
from hpo_envs.agents.problem import Problem
from hpo_envs.agents.rows import Rows, features_of


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
        seed: Seed of the sampler, if it takes one.
        sampler: Name of a class of `optuna.samplers`; or a class or function that returns a sampler; or a sampler,
            which is copied with the seed that it has, so that it runs alike for every `seed`.
        fresh: Of rows, whether the nearest one not tried before is evaluated.
        **settings: Arguments of the sampler.

    Raises:
        ModuleNotFoundError: Optuna is not installed. What a sampler needs besides (torch, cmaes) it says itself.
        ValueError: No such sampler, or settings for a sampler that is made already; another kind of space.
    """

    def __init__(
        self, problem: Problem, seed: int, *, sampler: Any = "TPESampler", fresh: bool = True, **settings: Any
    ) -> None:
        super().__init__(problem, seed)
        self._fresh = fresh
        self._rows: Rows | None = None
        if problem.levels is not None or isinstance(problem.action_space, gym.spaces.Discrete):
            self._rows = Rows(problem)
            x = features_of(problem)
            low, high = x.min(axis=0), x.max(axis=0)
            self._x = x[:, high > low]
            box = gym.spaces.Box(low[high > low], high[high > low], dtype=np.float64)
            problem = Problem(box, objectives=problem.objectives)
        self._inner = _Inner(problem, seed, sampler=sampler, **settings)

    @property
    def done(self) -> bool:  # type: ignore[override]
        """Whether the sampler has tried everything."""
        return self._inner.done

    def ask(self) -> Any:
        """Returns the sampler's next suggestion, or the row nearest to it."""
        point = self._inner.ask()
        if self._rows is None:
            return point
        return self._rows.action(self._rows.nearest(((self._x - point) ** 2).sum(axis=1), self._fresh))

    def tell(self, action: Any, reward: Any, info: Mapping[str, Any]) -> None:
        """Hands the reward to the sampler.

        Raises:
            RuntimeError: Nothing was asked.
            ValueError: Nothing was evaluated: the sampler's points are told in the order in which it suggests them.
        """
        require_result(self, info)
        if self._rows is not None:
            self._rows.note(action, reward, info)
        self._inner.tell(action, reward, info)

    def recommend(self) -> Any:
        """Returns the best action told, with several objectives by the sum of rewards."""
        if self._rows is None:
            return self._inner.recommend()
        return self._rows.action(0) if self._rows.best is None else self._rows.best[1]


class _Inner(OptunaAgent):
    """A sampler by name, by factory or by itself, on a box or a grid."""

    def __init__(self, problem: Problem, seed: int, *, sampler: Any, **settings: Any) -> None:
        self._given = _class_of(sampler) if isinstance(sampler, str) else sampler
        super().__init__(problem, seed, **settings)

    def _sampler(self, seed: int, settings: Mapping[str, Any]) -> Any:
        given, base = self._given, _optuna().samplers.BaseSampler
        if isinstance(given, base):
            if settings:
                raise ValueError(f"settings must be given to the sampler itself, got {', '.join(settings)}")
            return copy.deepcopy(given)
        if not callable(given):
            raise ValueError(f"sampler must be a name, a sampler or something that makes one, got {given!r}")
        seeded = "seed" in inspect.signature(given).parameters
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", _optuna().exceptions.ExperimentalWarning)
            made = given(**({"seed": seed} if seeded else {}), **settings)
        if not isinstance(made, base):
            raise ValueError(f"sampler must return a sampler of Optuna, got {made!r}")
        return made


def _class_of(name: str) -> Any:
    samplers = _optuna().samplers
    known = [n for n in samplers.__all__ if n.endswith("Sampler") and not n.startswith("Base")]
    if name not in known:
        close = difflib.get_close_matches(name, known, n=1, cutoff=0.4)
        hint = f", did you mean {close[0]!r}?" if close else ""
        raise ValueError(f"sampler must be one of {', '.join(known)}, got {name!r}{hint}")
    return getattr(samplers, name)

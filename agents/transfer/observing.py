"""Base class of agents that act on the observations of `wrappers.CandidateObservation`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from hpo_envs.agents.models import Floats
from hpo_envs.agents.models.candidate_set import CandidateArrays, CandidateSet
from hpo_envs.agents.problem import Problem
from hpo_envs.agents.search.base import CandidateAgent
from hpo_envs.agents.transfer.learned import LONGEST


class ObservingAgent(CandidateAgent):
    """Base class of agents that compute the observations of a policy by the same code as in its training.

    Subclasses call `observe_space` once, in their constructor.

    Args:
        problem: A finite problem with features and one objective.
        seed: Seed of `self.rng`, which draws the candidates that are observed.
        features: Groups of columns, see `candidate_set.GROUPS`.
        most: Largest number of candidates observed; if there are more, a random subset is observed.
        numbers: Hyperparameters of the stacked process, see `CandidateSet`; None: those of `gp.stacked.START`.

    Attributes:
        pool: (n,) candidates observed, ascending.

    Raises:
        ValueError: More than one objective.
    """

    def __init__(
        self, problem: Problem, seed: int, features: tuple[str, ...], most: int,
        numbers: Mapping[str, float] | None = None,
    ) -> None:  # fmt: skip
        super().__init__(problem, seed, initial=1, design="random")
        if problem.objectives != 1:
            raise ValueError(f"problem must have one objective for this agent, got {problem.objectives}")
        n = len(self.features)
        self.random_first, self._columns, self._numbers = 0, features, numbers
        self.pool = np.arange(n) if n <= most else np.sort(self.rng.choice(n, most, replace=False))
        self._at, self._spent = {int(k): i for i, k in enumerate(self.pool)}, 0.0

    def observe_space(self, space: CandidateArrays) -> None:
        """Start a run with the candidates of `pool`, none of them evaluated, as arrays of one episode."""
        budget = int(self.problem.budget or len(self.features)) if "history" in self._columns else 0
        self._space, self._budget = space, budget
        self._set = self._fresh()

    def _fresh(self) -> CandidateSet:
        return CandidateSet(self._space, self._columns, self._numbers, self._budget)

    def observation(self, blind: bool = False) -> dict[str, npt.NDArray[np.float32]]:
        """Return the arrays of `CandidateObservation` by name, with a batch axis of 1.

        If `blind`, return those of a run without evaluations, but with the current budget left.
        """
        left = 1.0 - self._spent / (self.problem.budget or len(self.features))
        return (self._fresh() if blind else self._set).observation(np.array([min(max(left, 0.0), 1.0)]))

    def tell(self, action: Any, reward: Any, info: Mapping[str, Any]) -> None:
        """Record outcome and cost of a candidate; observations have the first `LONGEST` successful ones in `pool`."""
        super().tell(action, reward, info)
        self._spent += float(info.get("cost", 1.0)) if self.problem.budget else 1.0

    def _first(self) -> int:
        return self._suggest()

    def _observe(self, row: int, rewards: Floats) -> None:
        if row in self._at and self._set.rows.shape[1] < LONGEST:
            self._set.observe(np.array([self._at[row]]), rewards[:1])

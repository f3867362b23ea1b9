"""Uniform sampling of arms, the standard practice."""

from __future__ import annotations

import itertools
from typing import Any

from hpo_envs.agents.bandits.base import ConfidentAgent, budget_of
from hpo_envs.agents.problem import Problem


class NonAdaptive(ConfidentAgent):
    """Uniform sampling: all arms equally often, the standard practice (Moss et al. 2019, sections 5.1 and 5.2).

    By default it evaluates each of n arms floor(T / n) times, T the budget (without a budget, it never stops), and
    selects the best sample mean. With a confidence it evaluates every arm once per round and stops after a round in
    which the stopping rule holds.

    Formula:
        T_m = floor(T / n) for every arm m (fixed budget), or one evaluation of each arm a round until the rule holds
        recommend argmax_m mean_m (fixed budget), argmax_m pi_m (confidence)

    Paper: Henry B. Moss, Andrew Moore, David S. Leslie and Paul Rayson. FIESTA: Fast IdEntification of
    State-of-The-Art models using adaptive bandit algorithms. ACL 2019, sections 5.1 and 5.2.

    Complexity: O(1) a suggestion; with a confidence one quadrature a round, O(arms x nodes).

    Example:
        from hpo_envs import run
        runs = run("nonadaptive", "FIESTA-tdsa8-v0", seeds=range(5), budget=48)
        [int(r.recommended) for r in runs]  # the model with the best mean, by seed

    Args:
        confidence: None for the fixed-budget form, else 1 - delta.
        **options: See `ConfidentAgent`.

    Raises:
        ValueError: The fixed budget is smaller than the number of arms or not in evaluations, or an argument is out of
            its range.
    """

    def __init__(self, problem: Problem, seed: int, *, confidence: float | None = None, **options: Any) -> None:
        super().__init__(problem, seed, confidence=confidence, **options)
        self._fixed = confidence is None
        if self._fixed:
            self._first.clear()
            self._limit = None if problem.budget is None else budget_of(problem, self.arms) // self.arms * self.arms
        self._turns = itertools.cycle(range(self.arms))

    def choose(self) -> int:
        """Return the next arm in turn; with a confidence, see `ConfidentAgent.choose`."""
        return self.sample() if self._fixed else super().choose()

    def sample(self) -> int:
        """Return the next arm in turn."""
        return next(self._turns)

    def update(self) -> None:
        """Set `done` at the end of the fixed budget, if there is one; with a confidence, by the stopping rule."""
        if not self._fixed:
            super().update()
        elif self._limit is not None:
            self.done = bool(self.belief.counts.sum() >= self._limit)

    def at_checkpoint(self) -> bool:
        """Return whether the round is complete: all arms have equally many evaluations."""
        return bool(self.belief.counts.min() == self.belief.counts.max())

    def recommend(self) -> Any:
        """Return the arm of `best_mean` if `confidence` is None, else the recommendation of `ConfidentAgent`."""
        return self._action(self.best_mean()) if self._fixed else super().recommend()

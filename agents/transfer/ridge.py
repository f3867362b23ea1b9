"""Quadratic ridge regression on features, fitted to source tasks: the baseline of trained policies."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hpo_envs.agents.models import Floats
from hpo_envs.agents.models.gp.sources import normal_scores
from hpo_envs.agents.problem import Problem
from hpo_envs.agents.search.base import CandidateAgent

PENALTY = 30.0
"""Weight of the squared coefficients."""


def fit(tables: Sequence[tuple[Floats, Floats]]) -> Floats:
    """Return the (q,) coefficients of `terms`, fitted to the (t, d) features and (t,) rewards of one or more tables."""
    x = [terms(features) for features, _ in tables]
    x = [columns - columns.mean(axis=0) for columns in x]
    z = [normal_scores(rewards) for _, rewards in tables]
    squares = sum(a.T @ a for a in x) + PENALTY * np.eye(x[0].shape[1])
    return np.asarray(np.linalg.solve(squares, sum(a.T @ b for a, b in zip(x, z, strict=True))), np.float64)


def terms(features: Floats) -> Floats:
    """Return (n, d + d (d + 1) / 2): (n, d) features, scaled from [0, 1] to [-1, 1], and products, squares included."""
    x = 2.0 * features - 1.0
    i, j = np.triu_indices(x.shape[1])
    return np.concatenate([x, x[:, i] * x[:, j]], axis=1)


class Ridge(CandidateAgent):
    """Search through candidates in the order of a quadratic function of their features, fixed before the run.

    The function is fitted to the normal scores of the sources that have all of the problem's features.

    Formula:
        s(x) = b'x + x'Ax,  minimising sum over tables and rows (z - s(x))^2 + 30 |(b, A)|^2
        z: normal scores; s is centred in each table
        next = argmax_x s(x)

    Paper: Arthur E. Hoerl and Robert W. Kennard. Ridge Regression: Biased Estimation for Nonorthogonal Problems.
    Technometrics 12(1):55-67, 1970.

    Complexity: O(n d^2) once, O(n) a suggestion.

    Example:
        from hpo_envs import run
        runs = run("ridge", "NMTHPO-swen-v0", seeds=range(2), budget=5, transfer="family")
        runs[0].rewards  # of the first five in the fixed order

    Args:
        problem: A finite problem with features, one objective and sources.
        seed: Seed of `self.rng`, which breaks ties.

    Raises:
        ValueError: More than one objective, or no source has all of the problem's features.
    """

    def __init__(self, problem: Problem, seed: int) -> None:
        super().__init__(problem, seed, initial=1, design="random")
        tables = [(s.features, s.rewards[:, 0]) for s in problem.sources if not s.feature_names]
        if problem.objectives != 1:
            raise ValueError(f"problem must have one objective for this agent, got {problem.objectives}")
        if not tables:
            raise ValueError(
                "sources must be tables with all of the problem's features for this agent, which learns from them "
                f"(transfer=, or sources= of tune), got {len(problem.sources)} that lack some"
            )
        self.random_first = 0
        self._scores = terms(self.features) @ fit(tables)

    def _suggest(self) -> int:
        return self.best_free(self._scores)

    _first = _suggest

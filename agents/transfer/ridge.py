"""A quadratic ridge on hyperparameters, fitted to other tables: the row that a trained policy has to beat."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hpo_envs.agents.problem import Problem
from hpo_envs.agents.search.base import CandidateAgent
from hpo_envs.agents.transfer.source_gp import normal_scores

Floats = npt.NDArray[np.float64]

PENALTY = 30.0
"""Of the squared coefficients, common ones and deviations of each table alike."""


@dataclass(frozen=True, eq=False)
class Prior:
    """Quadratic functions of hyperparameters, one for each of J tables.

    Attributes:
        names: Of the d features.
        languages: Of the tables.
        coefficients: (1 + J, q): of all tables together, then of each.
        spaces: (J, 2, d) mean and deviation of each table's features.
    """

    names: tuple[str, ...]
    languages: frozenset[str]
    coefficients: Floats
    spaces: Floats

    @classmethod
    def fit(cls, names: Sequence[str], languages: frozenset[str], tables: Sequence[tuple[Floats, Floats]]) -> Prior:
        """Of (t, d) features and (t,) rewards of each table."""
        x = [terms(features) for features, _ in tables]
        x = [columns - columns.mean(axis=0) for columns in x]
        z = [normal_scores(rewards) for _, rewards in tables]
        eye = PENALTY * np.eye(x[0].shape[1])
        common = np.linalg.solve(sum(a.T @ a for a in x) + eye, sum(a.T @ b for a, b in zip(x, z, strict=True)))
        each = [common + np.linalg.solve(a.T @ a + eye, a.T @ (b - a @ common)) for a, b in zip(x, z, strict=True)]
        spaces = np.stack([np.stack([f.mean(axis=0), f.std(axis=0)]) for f, _ in tables])
        return cls(tuple(names), languages, np.stack([common, *each]), spaces)

    def predict(self, features: Floats) -> Floats:
        """(1 + J, n) scores of (n, d) features, up to a constant each."""
        return np.asarray(self.coefficients @ terms(features).T)

    def distances(self, features: Floats) -> Floats:
        """(J,) as `stacked_gp.distance` of the tables' features."""
        own = np.stack([features.mean(axis=0), features.std(axis=0)])
        return np.asarray(np.sqrt(np.square(self.spaces - own).sum(axis=1).mean(axis=1)))


def terms(features: Floats) -> Floats:
    """(n, d + d (d + 1) / 2) features on [-1, 1] and their products."""
    x = 2.0 * features - 1.0
    i, j = np.triu_indices(x.shape[1])
    return np.concatenate([x, x[:, i] * x[:, j]], axis=1)


class Ridge(CandidateAgent):
    """Asks for candidates in the order of a quadratic function of their hyperparameters; learns nothing in a run.

    The function is fitted to the normal scores of `problem.sources`.

    Formula:
        s(x) = b'x + x'Ax,  minimising sum over tables and rows (z - s(x))^2 + 30 |(b, A)|^2    z: centred normal scores
        next = argmax_x s(x)

    Paper: Arthur E. Hoerl and Robert W. Kennard. Ridge Regression: Biased Estimation for Nonorthogonal Problems.
    Technometrics 12(1):55-67, 1970.

    Complexity: O(n d^2) once, O(n) a suggestion.

    Args:
        problem: A finite problem with features and one objective.
        seed: Seed of `self.rng`, which breaks ties.

    Raises:
        ValueError: More than one objective, or no sources with the problem's features.
    """

    def __init__(self, problem: Problem, seed: int) -> None:
        super().__init__(problem, seed, initial=1, design="random")
        tables = [(s.features, s.rewards[:, 0]) for s in problem.sources if not s.feature_names]
        if problem.objectives != 1:
            raise ValueError(f"objectives must be at most 1 for this agent, got {problem.objectives}")
        if not tables:
            raise ValueError(
                f"sources must have all of the problem's features for this agent (transfer=), got {problem}"
            )
        self.random_first = 0
        self._scores = Prior.fit(problem.feature_names, frozenset(), tables).predict(self.features)[0]

    def _first(self) -> int:
        return self._suggest()

    def _suggest(self) -> int:
        return self.best_free(self._scores) if self.free.any() else self.candidates.draw(self.rng)

    def _observe(self, row: int, rewards: Floats) -> None:
        pass

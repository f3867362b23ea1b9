"""Orders of the candidates that follow from other tables alone: nothing is learned during the run."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hpo_envs.agents.models import Floats
from hpo_envs.agents.problem import Problem
from hpo_envs.agents.search.base import CandidateAgent
from hpo_envs.agents.transfer.base import TransferAgent
from hpo_envs.agents.transfer.source_gp import normal_scores


class ZeroShot(TransferAgent):
    """Tries candidates in the order of the mean normal score that the other tables predict.

    Formula:
        next = argmax_x (1 / J) sum_j s_j(x)        s_j(x): what source j predicts, see `TransferAgent`

    Paper: Martin Wistuba, Nicolas Schilling and Lars Schmidt-Thieme. Sequential Model-Free Hyperparameter Tuning.
    ICDM 2015 (its ranking before any observation), with predictions where a table lacks the configuration.

    Complexity: O(n) a suggestion, n candidates.

    Args:
        problem: A finite problem with features, one objective and sources.
        seed: See `TransferAgent`.
    """

    def _suggest(self) -> int:
        return self._first()


class Portfolio(TransferAgent):
    """Tries a portfolio: each candidate is the one that adds most to those before, over all other tables.

    A world is one tree of one source. Greedy choice is within 1 - 1 / e of the best portfolio, because the objective
    is submodular.

    Formula:
        next = argmax_x sum_w max(0, s_w(x) - max_{x' in P} s_w(x'))    w: worlds, P: suggestions so far

    Paper: Matthias Feurer, Katharina Eggensperger, Stefan Falkner, Marius Lindauer and Frank Hutter. Auto-Sklearn 2.0:
    Hands-free AutoML via Meta-Learning. JMLR 23:1-61, 2022, section 3.2.1.

    Complexity: O(W n) a suggestion, W worlds (16 a source), n candidates.

    Args:
        problem: A finite problem with features, one objective and sources.
        seed: See `TransferAgent`.
    """

    def __init__(self, problem: Problem, seed: int) -> None:
        super().__init__(problem, seed)
        self._worlds = self.scores[0].reshape(-1, self.scores.shape[-1])
        self._best = np.full(len(self._worlds), self._worlds.min())

    def _first(self) -> int:
        return self._suggest()

    def _suggest(self) -> int:
        gains = np.maximum(self._worlds - self._best[:, None], 0.0).mean(axis=0)
        row = self.best_free(gains + 1e-6 * self.means[0].mean(axis=0))  # once no world gains, the mean decides
        self._best = np.maximum(self._best, self._worlds[:, row])
        return row


PENALTY = 30.0
"""Of the squared coefficients."""


def fit(tables: Sequence[tuple[Floats, Floats]]) -> Floats:
    """(q,) coefficients of `terms`, of (t, d) features and (t,) rewards of each table."""
    x = [terms(features) for features, _ in tables]
    x = [columns - columns.mean(axis=0) for columns in x]
    z = [normal_scores(rewards) for _, rewards in tables]
    squares = sum(a.T @ a for a in x) + PENALTY * np.eye(x[0].shape[1])
    return np.asarray(np.linalg.solve(squares, sum(a.T @ b for a, b in zip(x, z, strict=True))), np.float64)


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
        self._scores = terms(self.features) @ fit(tables)

    def _first(self) -> int:
        return self._suggest()

    def _suggest(self) -> int:
        return self.best_free(self._scores) if self.free.any() else self.candidates.draw(self.rng)

"""Gaussian process with predictions of source tasks in its mean and kernel; low rewards are clipped."""

from __future__ import annotations

import numpy as np

from hpo_envs.agents.models import Floats, Indices
from hpo_envs.agents.models.acquisition import expected_hypervolume_improvement, expected_improvement
from hpo_envs.agents.models.gp.kernels import of_square_distances, square_distances
from hpo_envs.agents.problem import Problem
from hpo_envs.agents.transfer.base import TransferAgent, standardised

LENGTHS = (0.3, 0.75, 1.5, 3.0)
"""Length-scales of the models, which are weighted by their marginal likelihood."""

SLOPE, MATERN, CONSTANT, ALONG, ACROSS, NOISE = 0.7, 0.5, 1.0, 0.25, 0.5, 0.02
"""Weight of the sources' mean in the prior mean, then factors of the kernel's four parts and variance of the noise, for
observations of variance 1."""


class StackedGPAgent(TransferAgent):
    """Expected improvement of a Gaussian process with the predictions of other tables in its mean and kernel.

    Formula:
        m(x) = 0.7 e(x),  e: mean of the sources' predictions s_j,  d_j = s_j - e
        k(x, x') = 0.5 M_l(x, x') + 1 + 0.25 e(x) e(x') + 0.5 / J sum_j d_j(x) d_j(x'),  M_l: Matern 5/2
        p(l | y) ~ N(y; m, K_l + 0.02 I),  l in 0.3, 0.75, 1.5, 3,  y: standardised rewards, low ones clipped
        next = argmax sum_l p(l | y) EI_l(x); of two objectives EHVI of the mixtures' moments

    Paper: none; a linear model of the sources' predictions inside the kernel, as in Valerio Perrone, Rodolphe
    Jenatton, Matthias Seeger and Cedric Archambeau. Scalable Hyperparameter Transfer Learning. NeurIPS 2018 (ABLR),
    plus a stationary part. The constants were set by hand on the six NMT tables.

    Complexity: O(t^2 n) a suggestion, t observations, n candidates.

    Example:
        from hpo_envs import run
        runs = run("stacked-gp", "NMTHPO-swen-v0", seeds=range(2), budget=5, transfer="family")
        runs.best()

    Args:
        problem: A finite problem with features, one or two objectives and sources.
        seed: See `TransferAgent`.
    """

    most = 2

    def __init__(self, problem: Problem, seed: int) -> None:
        super().__init__(problem, seed)
        self._prior = self.means.mean(axis=1)
        self._bases = [_basis(scores) for scores in self.means]

    def _suggest(self) -> int:
        rows, rewards = np.array(self.rows, np.intp), np.array(self.rewards)
        observed = np.column_stack([robust(y) for y in rewards.T])
        squares = square_distances(self.features[rows], self.features)
        found = [self._posterior(j, rows, y, squares) for j, y in enumerate(observed.T)]
        if len(found) == 1:
            weights, means, variances = found[0]
            return self.best_free(weights @ expected_improvement(means, np.sqrt(variances), float(observed.max())))
        mean = np.array([w @ m for w, m, _ in found])
        second = np.array([w @ (v + m * m) for w, m, v in found])
        deviation = np.sqrt(np.maximum(second - mean * mean, 1e-12))
        reference = 1.0 - observed.min(axis=0)
        return self.best_free(expected_hypervolume_improvement(-mean, deviation, -observed, reference))

    def _posterior(self, j: int, rows: Indices, y: Floats, squares: Floats) -> tuple[Floats, Floats, Floats]:
        """Return the (L,) weights of an objective's models, one per length-scale, and (L, n) means and variances."""
        from scipy.linalg import cho_solve, cholesky

        e, basis = SLOPE * self._prior[j], self._bases[j]
        rest, shared = y - e[rows], basis[:, rows].T @ basis
        prior = MATERN + np.square(basis).sum(axis=0)
        evidence, means, variances = [], [], []
        for length in LENGTHS:
            cross = MATERN * of_square_distances("matern52", squares / length**2) + shared
            factor = cholesky(cross[:, rows] + NOISE * np.eye(len(y)), lower=True)
            alpha, solved = cho_solve((factor, True), rest), cho_solve((factor, True), cross)
            means.append(e + alpha @ cross)
            variances.append(np.maximum(prior - (cross * solved).sum(axis=0), 1e-12))
            evidence.append(-0.5 * rest @ alpha - np.log(factor.diagonal()).sum())
        weights = np.exp(np.array(evidence) - max(evidence))
        return weights / weights.sum(), np.array(means), np.array(variances)


def _basis(scores: Floats) -> Floats:
    """Return (J + 2, n) features of (J, n) predictions; their inner products are the kernel's non-stationary part."""
    mean = scores.mean(axis=0)
    apart = (scores - mean) * np.sqrt(ACROSS / len(scores))
    return np.vstack([np.full_like(mean, np.sqrt(CONSTANT)), np.sqrt(ALONG) * mean, apart])


def robust(y: Floats) -> Floats:
    """Return standardised (t,) observations; low ones are first raised to median - 1.5 (best - median)."""
    middle, best = float(np.median(y)), float(y.max())
    return standardised(np.maximum(y, middle - 1.5 * (best - middle)))

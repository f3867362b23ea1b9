"""A Gaussian process whose mean and kernel hold what other tables predict."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from hpo_envs.agents.models.acquisition import expected_improvement
from hpo_envs.agents.models.kernels import of_square_distances, square_distances
from hpo_envs.agents.problem import Problem
from hpo_envs.agents.transfer.base import TransferAgent

Floats = npt.NDArray[np.float64]

LENGTHS = (0.3, 0.75, 1.5, 3.0)
"""Length-scales of the hypotheses, weighted by their evidence."""

SLOPE, MATERN, CONSTANT, ALONG, ACROSS, NOISE = 0.7, 0.5, 1.0, 0.25, 0.5, 0.02
"""Weights of the sources' mean in the prior mean, and of the kernel's parts; observations have variance 1."""


class StackedGP(TransferAgent):
    """Expected improvement of a Gaussian process around the other tables' mean, free to scale it and to lean to some.

    Formula:
        m(x) = .7 e(x)                                                  e: mean of the sources' predictions
        k(x, x') = .5 M_l(x, x') + 1 + .25 e(x) e(x') + .5 / J sum_j d_j(x) d_j(x')     d_j = s_j - e, M_l: Matern 5/2
        p(l | y) ~ N(y; m, K_l + .02 I)                                 l in .3, .75, 1.5, 3
        next = argmax sum_l p(l | y) EI_l(x)

    Paper: of our own; a linear model of the sources' predictions inside the kernel, as in Valerio Perrone, Rodolphe
    Jenatton, Matthias Seeger and Cedric Archambeau. Scalable Hyperparameter Transfer Learning. NeurIPS 2018 (ABLR),
    beside a stationary part. The constants are those of an earlier probe on the six NMT tables, set by hand.

    Complexity: O(t^2 n) a suggestion, t observations, n candidates.

    Args:
        problem: A finite problem with features, one objective and sources.
        seed: See `TransferAgent`.
        features: See `CandidateAgent`.
    """

    def __init__(self, problem: Problem, seed: int, *, features: str | tuple[str, ...] = "") -> None:
        super().__init__(problem, seed, features=features)
        self._mean = self.means.mean(axis=0)
        apart = (self.means - self._mean) * np.sqrt(ACROSS / len(self.means))
        self._basis = np.vstack([np.full_like(self._mean, np.sqrt(CONSTANT)), np.sqrt(ALONG) * self._mean, apart])

    def _suggest(self) -> int:
        from scipy.linalg import cho_solve, cholesky

        rows, y = self.told
        y = robust(y)
        rest, shared = y - SLOPE * self._mean[rows], self._basis[:, rows].T @ self._basis
        prior = MATERN + np.square(self._basis).sum(axis=0)
        squares = square_distances(self.features[rows], self.features)
        evidence, gains = [], []
        for length in LENGTHS:
            cross = MATERN * of_square_distances("matern52", squares / length**2) + shared
            factor = cholesky(cross[:, rows] + NOISE * np.eye(len(y)), lower=True)
            alpha, solved = cho_solve((factor, True), rest), cho_solve((factor, True), cross)
            mean = SLOPE * self._mean + alpha @ cross
            variance = np.maximum(prior - (cross * solved).sum(axis=0), 1e-12)
            evidence.append(-0.5 * rest @ alpha - np.log(factor.diagonal()).sum())
            gains.append(expected_improvement(mean, np.sqrt(variance), float(y.max())))
        weights = np.exp(np.array(evidence) - max(evidence))
        return self.best_free(weights / weights.sum() @ np.array(gains))


def robust(y: Floats) -> Floats:
    """(t,) standardised observations, failures cut off at the median less 1.5 times what the best is above it."""
    middle, best = float(np.median(y)), float(y.max())
    cut = np.maximum(y, middle - 1.5 * (best - middle))
    scale = float(cut.std())
    return (cut - cut.mean()) / (scale if scale > 1e-12 * max(1.0, float(np.abs(cut).max())) else 1.0)

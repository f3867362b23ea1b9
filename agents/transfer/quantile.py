"""Quantile-based transfer: predictions from source tasks, corrected by a Gaussian process of normal quantiles."""

from __future__ import annotations

import numpy as np

from hpo_envs.agents.models import Floats, Indices
from hpo_envs.agents.models.acquisition import expected_improvement
from hpo_envs.agents.problem import Problem
from hpo_envs.agents.transfer.base import TargetAgent


class QuantileCopula(TargetAgent):
    """Gaussian copula process: the sources' mean and deviation as prior, a Gaussian process on the residuals.

    The paper's prior is a neural network trained on all tables together; here it is the mean and the deviation (at
    least 0.05) over the agent's trees of all sources.

    Formula:
        z = Phi^-1(F(y)), F: empirical distribution, clipped at delta and 1 - delta
        delta = 1 / (4 t^(1/4) sqrt(pi log t))
        r_j = (z_j - m(x_j)) / s(x_j)                   m, s: the sources' mean and deviation
        z(x) ~ N(m(x) + s(x) m_r(x), s(x)^2 v_r(x))     m_r, v_r: posterior of a Gaussian process on r
        next = argmax EI(z(x), max_j z_j)

    Paper: David Salinas, Huibin Shen and Valerio Perrone. A Quantile-based Approach for Hyperparameter Transfer
    Learning. ICML 2020, sections 3 and 4.

    Complexity: O(t n) a suggestion, t observations, n candidates; t^3 more whenever the kernel is re-estimated.

    Example:
        from hpo_envs import run
        runs = run("quantile-copula", "NMTHPO-swen-v0", seeds=range(2), budget=5, transfer="family")
        runs.best()

    Args:
        problem: A finite problem with features, one objective and sources.
        seed: See `TransferAgent`.
    """

    def __init__(self, problem: Problem, seed: int) -> None:
        super().__init__(problem, seed)
        trees = self.scores[0].reshape(-1, self.scores.shape[-1])
        self._mean, self._deviation = trees.mean(axis=0), np.maximum(trees.std(axis=0), 0.05)

    def _given(self) -> tuple[Indices, Floats]:
        rows, y = self.observed
        return rows, (copula(y) - self._mean[rows]) / self._deviation[rows]

    def _suggest(self) -> int:
        left = self.posterior()
        mean, best = self._mean + self._deviation * left.mean, float(copula(self.observed[1]).max())
        return self.best_free(expected_improvement(mean, self._deviation * left.deviation, best))


def copula(y: Floats) -> Floats:
    """Return the (t,) normal quantiles of (t,) observations' relative ranks, clipped as in `QuantileCopula`."""
    from scipy.special import ndtri
    from scipy.stats import rankdata

    t = len(y)
    delta = 1.0 / (4.0 * t**0.25 * np.sqrt(np.pi * np.log(max(t, 2))))
    return np.asarray(ndtri(np.clip(rankdata(y) / t, delta, 1.0 - delta)))

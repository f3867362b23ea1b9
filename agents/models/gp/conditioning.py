"""Gaussian processes on finitely many candidates: posteriors, undo, jitter, joint draws, and a model of costs."""

from collections.abc import Callable, Sequence

import numpy as np

from hpo_envs.agents.models import Floats, Indices
from hpo_envs.agents.models.gp.kernels import KernelFit, KernelPrior

ROOT_JITTER = 1e-8
"""Jitter added to a prior covariance before its Cholesky factor is computed, relative to the largest variance: well
above round-off for any number of candidates here, and in standard deviations one ten-thousandth of the prior's."""


def root(covariance: Floats) -> Floats:
    """Return the (n, n) lower Cholesky factor of a prior covariance with jitter (`ROOT_JITTER`), for draws."""
    jitter = ROOT_JITTER * float(covariance.diagonal().max())
    return np.asarray(np.linalg.cholesky(covariance + jitter * np.eye(len(covariance))), np.float64)


class FiniteGP:
    """Posterior of zero-mean Gaussian processes over n candidates, exact after every observation.

    With K the prior covariance and L L' = K_observed + noise I, the rows of `V` are L^-1 K_observed,all; observing
    candidate k appends the row v = (K_k - V[:, k]' V) / d with d^2 = K_kk + noise - |V[:, k]|^2, and the mean moves
    by v alpha with alpha = (y - V[:, k]' alphas) / d, the variance by -v^2. This is equations 1 and 2 of Zhang and
    Duh 2020 with an incremental Cholesky factor. One step costs O(t n), t observations.

    All outputs share the covariance. The first output is always the constant 1: the posterior mean is linear in the
    observations, so that means of shifted observations follow without another solve.

    Args:
        column: `column(k)` returns the (n,) float64 prior covariances of candidate k with all candidates.
        variance: (n,) prior variances.
        noise: Observation variance, > 0; no jitter is added to it.
        outputs: Number of observed values per candidate, without the constant.

    Attributes:
        count: Number of observations.
        means: (1 + outputs, n) posterior means, those of the constant 1 in row 0.
        variances: (n,) posterior variances without noise, >= 0.
    """

    def __init__(self, column: Callable[[int], Floats], variance: Floats, noise: float, outputs: int = 1) -> None:
        self._column = column
        self.noise = float(noise)
        self.count = 0
        self.means = np.zeros((1 + outputs, len(variance)))
        self._prior = np.array(variance, dtype=np.float64)
        self.variances = self._prior.copy()
        self._v = np.empty((16, len(variance)))
        self._alphas = np.empty((16, 1 + outputs))

    def observe(self, k: int, values: Sequence[float] | Floats) -> None:
        """Condition on the (outputs,) values of candidate k, which may have been observed before."""
        t = self.count
        if t == len(self._v):
            self._v = np.concatenate([self._v, np.empty_like(self._v)])
            self._alphas = np.concatenate([self._alphas, np.empty_like(self._alphas)])
        v, past = self._v[:t], self._v[:t, k].copy()
        covariances = self._column(k) - past @ v
        # In exact arithmetic the pivot is variance + noise >= noise; round-off cannot push it below.
        d = np.sqrt(max(float(self.variances[k]), 0.0) + self.noise)
        row = self._v[t]
        np.divide(covariances, d, out=row)
        self._alphas[t] = (np.append(1.0, values) - past @ self._alphas[:t]) / d
        self.means += self._alphas[t][:, None] * row
        self.variances -= row * row
        np.maximum(self.variances, 0.0, out=self.variances)
        self.count = t + 1

    def load(self, rows: Indices, cross: Floats, factor: Floats, values: Floats) -> None:
        """Replace all observations by the given ones, in O(t^2 n).

        Args:
            rows: (t,) candidates observed.
            cross: (t, n) prior covariance of the observed candidates with all.
            factor: (t, t) lower Cholesky factor of the observed covariance with noise on its diagonal.
            values: (t, outputs) observations.
        """
        from scipy.linalg import lapack

        t, n = cross.shape
        targets = np.column_stack([np.ones(t), values])
        self._v = np.empty((max(16, 2 * t), n))
        self._alphas = np.empty((len(self._v), targets.shape[1]))
        # LAPACK's routine behind `solve_triangular`, whose checks take as long as it does if observations are few.
        self._v[:t] = lapack.dtrtrs(factor.T, cross, lower=0, trans=1)[0]
        self._alphas[:t] = lapack.dtrtrs(factor.T, targets, lower=0, trans=1)[0]
        self.means = self._alphas[:t].T @ self._v[:t]
        self.variances = np.maximum(self._prior - np.square(self._v[:t]).sum(axis=0), 0.0)
        self.count = t

    def mark(self) -> tuple[int, Floats, Floats]:
        """Return a snapshot for `undo`."""
        return self.count, self.means.copy(), self.variances.copy()

    def undo(self, mark: tuple[int, Floats, Floats]) -> None:
        """Undo all observations since a snapshot."""
        self.count, self.means, self.variances = mark

    def sample(self, prior: Floats, rows: Sequence[int], values: Floats, rng: np.random.Generator) -> Floats:
        """Return an (n,) draw from the posterior by Matheron's rule: a prior draw, corrected by its noisy residuals.

        The observed candidates are `rows`, with (t,) `values`, in order; without any, return the (n,) `prior` itself.
        """
        from scipy.linalg import solve_triangular

        t = self.count
        if t == 0:
            return prior
        index = np.asarray(rows, dtype=np.intp)
        residual = values - prior[index] - np.sqrt(self.noise) * rng.standard_normal(t)
        # V at the observed candidates is L' but for the noise on its diagonal: L = V_oo' with d restored.
        alphas = solve_triangular(self._factor(index), residual, lower=True, check_finite=False)
        return np.asarray(prior + alphas @ self._v[:t])

    def _factor(self, index: Indices) -> Floats:
        """Return the (t, t) lower Cholesky factor of the observed covariance: L[j, i] = V[i, row_j] for i < j."""
        off = np.tril(self._v[: self.count, index].T.copy(), -1)
        squares = self._prior[index] + self.noise - np.square(off).sum(axis=1)
        np.fill_diagonal(off, np.sqrt(np.maximum(squares, self.noise)))
        return off


class CostModel:
    """Gaussian process on the logarithm of the cost, which is positive and varies widely (Snoek et al. 2012).

    Formula:
        ln c(x) ~ N(m(x), v(x)), a Matern 5/2 process with fitted length-scales; E[c(x)] = exp(m(x) + v(x) / 2)

    Paper: Jasper Snoek, Hugo Larochelle and Ryan P. Adams. Practical Bayesian Optimization of Machine Learning
    Algorithms. NIPS 2012, section 3.2.

    Args:
        features: (n, d) features of all candidates in [0, 1].
    """

    def __init__(self, features: Floats) -> None:
        self._features = features
        self._rows: list[int] = []
        self._logs: list[float] = []
        self._fit: KernelFit | None = None

    def observe(self, row: int, cost: float) -> None:
        """Add the cost of a candidate to the observations; ignore it if it is not positive."""
        if cost > 0.0:
            self._rows.append(row)
            self._logs.append(float(np.log(cost)))

    def expected(self, rows: Indices | None = None) -> Floats:
        """Return the (k,) expected costs of candidates (None: all); ones before two different costs are observed."""
        among = self._features if rows is None else self._features[rows]
        logs = np.array(self._logs)
        if len(logs) < 2 or np.ptp(logs) < 1e-12:
            return np.ones(len(among))
        mean, scale = logs.mean(), logs.std()
        x, y = self._features[self._rows], (logs - mean) / scale
        self._fit = fit = KernelFit.estimate("matern52", x, y, KernelPrior(), self._fit)
        cross = fit.covariance(x, among)
        solved = np.linalg.solve(fit.covariance(x, x) + fit.noise * np.eye(len(x)), np.column_stack([y, cross]))
        variance = np.maximum(fit.amplitude - np.einsum("tn,tn->n", cross, solved[:, 1:]), 0.0)
        return np.asarray(np.exp(mean + scale * (cross.T @ solved[:, 0]) + 0.5 * scale**2 * variance))

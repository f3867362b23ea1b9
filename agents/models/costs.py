"""What evaluations will cost, learned from what others did."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from hpo_envs.agents.models.kernel_fit import KernelFit, Prior

Floats = npt.NDArray[np.float64]


class CostModel:
    """A Gaussian process on the logarithm of the cost, which is positive and varies by factors (Snoek et al. 2012).

    Formula:
        ln c(x) ~ N(m(x), v(x)), a Matern 5/2 process with fitted length-scales; E[c(x)] = exp(m(x) + v(x) / 2)

    Paper: Jasper Snoek, Hugo Larochelle and Ryan P. Adams. Practical Bayesian Optimization of Machine Learning
    Algorithms. NIPS 2012, section 3.2.

    Complexity: O(t^3 + t n) a fit on t costs, n candidates.

    Args:
        features: (n, d) in [0, 1], of all candidates.
    """

    def __init__(self, features: Floats) -> None:
        self._features = features
        self._rows: list[int] = []
        self._logs: list[float] = []
        self._fit: KernelFit | None = None

    def observe(self, row: int, cost: float) -> None:
        """Learns what a candidate cost; what was free tells nothing."""
        if cost > 0.0:
            self._rows.append(row)
            self._logs.append(float(np.log(cost)))

    def expected(self, rows: npt.NDArray[np.intp] | None = None) -> Floats:
        """(k,) expected costs of candidates (None: all); all alike where all that is known are."""
        among = self._features if rows is None else self._features[rows]
        logs = np.array(self._logs)
        if len(logs) < 2 or np.ptp(logs) < 1e-12:
            return np.ones(len(among))
        mean, scale = logs.mean(), logs.std()
        x, y = self._features[self._rows], (logs - mean) / scale
        self._fit = fit = KernelFit.estimate("matern52", x, y, Prior(), self._fit)
        cross = fit.covariance(x, among)
        solved = np.linalg.solve(fit.covariance(x, x) + fit.noise * np.eye(len(x)), np.column_stack([y, cross]))
        variance = np.maximum(fit.amplitude - np.einsum("tn,tn->n", cross, solved[:, 1:]), 0.0)
        return np.asarray(np.exp(mean + scale * (cross.T @ solved[:, 0]) + 0.5 * scale**2 * variance))

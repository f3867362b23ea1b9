"""Gaussian process on a box with axes of any kind: prior, scaling of observations, gradients, constraints, costs."""

import functools
from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from hpo_envs.agents.models import Floats
from hpo_envs.agents.models.acquisition import BoxAxes, KernelAxes, log_expected_improvement
from hpo_envs.agents.models.gp.kernels import KernelFit, KernelPrior, square_distances, with_slope

Bools = npt.NDArray[np.bool_]

Slope = Callable[[Floats], tuple[Floats, Floats]]
"""Function of (n, d) points that returns (n,) values and their (n, r) gradients along the real axes."""

PRIOR = KernelPrior(length=0.7, spread=1.3)
"""Prior of a kernel on a box with axes in [0, 1], chosen on the design seeds of `benchmarks/live`."""


def half_linear(y: Floats, feasible: Bools | None = None) -> Floats:
    """Return (t,) standardised observations in which those below a middle are compressed, to model the maximum.

    Above the middle, differences are in units of the upper half's root mean square. Below it they are compressed, so
    that a very bad value or a failure does not determine the scale.

    Args:
        y: (t,) observations.
        feasible: (t,) mask of the observations at which all constraints hold. The middle is their median if that is
            below the median of all observations, since infeasible ones are often better; a difference d below the
            middle becomes -log(1 + d), as ranks would separate nearly equal observations at the border of a constraint.
            None: there are no constraints, and observations below the median become normal scores.
    """
    middle = np.median(y)
    if feasible is not None and feasible.any():
        middle = min(middle, np.median(y[feasible]))
    upper = y[y >= middle] - middle
    scale = float(np.sqrt(np.mean(upper**2))) or float(y.std()) or 1.0
    from scipy.special import ndtri
    from scipy.stats import rankdata

    gap, normal = (y - middle) / scale, ndtri((rankdata(y) - 0.5) / len(y))
    lower = np.minimum(normal, 0.0) if feasible is None else -np.log1p(np.maximum(-gap, 0.0))
    z = np.where(gap >= 0.0, gap, lower)
    return np.asarray((z - z.mean()) / (float(z.std()) or 1.0))


class BoxGP:
    """Posterior of one objective, constraint or cost, given its observations at snapped points.

    Args:
        space: The axes.
        x: (t, d) snapped points.
        z: (t,) standardised observations.
        fit: Estimated kernel; see `estimate`.

    Attributes:
        best: Value that `log_ei` is an improvement over, at first the largest posterior mean at an observed point.
    """

    def __init__(self, space: KernelAxes, x: Floats, z: Floats, fit: KernelFit) -> None:
        from scipy.linalg import cho_factor, cho_solve

        self.space, self.fit = space, fit
        self._inputs = space.inputs(x)
        covariance = fit.covariance(self._inputs, self._inputs)
        noisy = covariance + fit.noise * np.eye(len(z))
        self._factor = cho_factor(noisy, lower=True)
        self._weights = cho_solve(self._factor, z)
        self.best = float((covariance @ self._weights).max())

    @staticmethod
    def estimate(space: KernelAxes, x: Floats, z: Floats, start: KernelFit | None) -> KernelFit:
        """Return the most probable kernel, with a length-scale per axis; `start` is an earlier estimate or None."""
        return KernelFit.estimate("matern52", space.inputs(x), z, PRIOR, start, space.groups)

    def mean(self, x: Floats) -> Floats:
        """Return the (n,) posterior means at (n, d) snapped points."""
        return np.asarray(self.fit.covariance(self.space.inputs(x), self._inputs) @ self._weights)

    def predict(self, x: Floats) -> tuple[Floats, Floats]:
        """Return the (n,) posterior means and (n,) standard deviations at (n, d) snapped points."""
        return self._predict(x)[:2]

    def _predict(self, x: Floats) -> tuple[Floats, Floats, Floats, Floats]:
        """Return (n,) means, (n,) deviations, (t, n) slopes of the covariances (see `with_slope`), (t, n) K^-1 k."""
        from scipy.linalg import cho_solve

        scales = self.fit.scales
        value, slope = with_slope("matern52", square_distances(self._inputs / scales, self.space.inputs(x) / scales))
        cross = self.fit.amplitude * value
        solved = cho_solve(self._factor, cross, check_finite=False)
        variance = np.maximum(self.fit.amplitude - np.einsum("ij,ij->j", cross, solved), 1e-12)
        return cross.T @ self._weights, np.sqrt(variance), self.fit.amplitude * slope, solved

    def log_ei(self, x: Floats) -> Floats:
        """Return the (n,) logarithms of expected improvements over `best` at (n, d) snapped points."""
        mean, deviation = self.predict(x)
        return log_expected_improvement(mean - self.best, deviation)

    def log_ei_slope(self, x: Floats) -> tuple[Floats, Floats]:
        """Return `log_ei` and its (n, r) gradients along the real axes."""
        from scipy.special import log_ndtr

        predicted = mean, deviation, _, _ = self._predict(x)
        u = (mean - self.best) / deviation
        log_h = log_expected_improvement(u, np.ones_like(u))
        by_mean = np.exp(log_ndtr(u) - log_h) / deviation
        by_deviation = np.exp(-0.5 * u * u - 0.5 * np.log(2.0 * np.pi) - log_h) / deviation
        return np.log(deviation) + log_h, self._gradient(x, predicted, by_mean, by_deviation)

    def mean_slope(self, x: Floats) -> tuple[Floats, Floats]:
        """Return `mean` and its (n, r) gradients along the real axes."""
        predicted = self._predict(x)
        return predicted[0], self._gradient(x, predicted, np.ones(len(x)), np.zeros(len(x)))

    def log_below(self, x: Floats, bound: float) -> tuple[Floats, Floats]:
        """Return the (n,) log probabilities of values below a bound, and their (n, r) gradients along the real axes."""
        from scipy.special import log_ndtr

        predicted = mean, deviation, _, _ = self._predict(x)
        u = (bound - mean) / deviation
        value = log_ndtr(u)
        ratio = np.exp(-0.5 * u * u - 0.5 * np.log(2.0 * np.pi) - value) / deviation
        return value, self._gradient(x, predicted, -ratio, -ratio * u)

    def _gradient(
        self, x: Floats, predicted: tuple[Floats, Floats, Floats, Floats], by_mean: Floats, by_deviation: Floats
    ) -> Floats:
        """Return (n, r) gradients along the real axes of a function of mean and deviation, given its derivatives."""
        _, deviation, slope, solved = predicted
        # d f / d k_i, then d k_i / d x_j = -slope_i (x_j - x_ij) / l_j^2.
        weight = (by_mean * self._weights[:, None] - by_deviation / deviation * solved) * slope
        real = self.space.real
        columns = np.searchsorted(self.space.groups, real)
        gradient = weight.T @ self._inputs[:, columns] - x[:, real] * weight.sum(axis=0)[:, None]
        return np.asarray(gradient / self.fit.lengths[real] ** 2)


class Feasibility:
    """Probability that all constraints hold, with a process for each constraint (Gardner et al. 2014, section 3.2).

    Args:
        space: The axes.
        x: (t, d) snapped points.
        violations: (t, c) violation of each constraint; 0 or negative if it holds.
        starts: Earlier estimates of the kernels, one per constraint; empty: none.

    Attributes:
        fits: Estimated kernel of each constraint.
    """

    def __init__(self, space: BoxAxes, x: Floats, violations: Floats, starts: Sequence[KernelFit | None]) -> None:
        # Logarithmic far from the bound, so that one extreme value does not make all others look equal.
        scale = np.median(np.abs(violations), axis=0)
        shrunk = np.sign(violations) * np.log1p(np.abs(violations) / np.where(scale > 0.0, scale, 1.0))
        mean, deviation = shrunk.mean(axis=0), shrunk.std(axis=0)
        deviation[deviation == 0.0] = 1.0
        z = (shrunk - mean) / deviation
        pairs = zip(z.T, starts or [None] * z.shape[1], strict=True)
        self.fits = [BoxGP.estimate(space, x, *pair) for pair in pairs]
        self._models = [BoxGP(space, x, *pair) for pair in zip(z.T, self.fits, strict=True)]
        self._bounds = (-mean / deviation).tolist()

    def log_slope(self, x: Floats) -> tuple[Floats, Floats]:
        """Return the (n,) log probabilities at (n, d) snapped points, and their (n, r) gradients on the real axes."""
        pairs = zip(self._models, self._bounds, strict=True)
        return summed([functools.partial(model.log_below, bound=bound) for model, bound in pairs])(x)


def cheapness(space: BoxAxes, x: Floats, logs: Floats) -> Slope:
    """Return a `Slope` of log(1 / predicted cost) up to a constant, from (t,) log costs at (t, d) snapped points.

    The log costs must differ.
    """
    scale = float(logs.std())
    z = (logs.mean() - logs) / scale
    model = BoxGP(space, x, z, BoxGP.estimate(space, x, z, None))

    def log_slope(points: Floats) -> tuple[Floats, Floats]:
        mean, gradient = model.mean_slope(points)
        return scale * mean, scale * gradient

    return log_slope


def summed(parts: Sequence[Slope]) -> Slope:
    """Return the sum of one or more functions that return values and gradients."""

    def total(x: Floats) -> tuple[Floats, Floats]:
        values, gradients = zip(*(part(x) for part in parts), strict=True)
        return np.sum(values, axis=0), np.sum(gradients, axis=0)

    return total

"""A Gaussian process on a box with axes of all kinds, and the search for the maximum of its acquisition."""

from collections.abc import Callable

import numpy as np

from hpo_envs.agents.models import Floats
from hpo_envs.agents.models.acquisition import log_expected_improvement
from hpo_envs.agents.models.kernel_fit import KernelFit, KernelPrior
from hpo_envs.agents.models.kernels import square_distances, with_slope
from hpo_envs.agents.models.lbfgsb import minimise_each
from hpo_envs.agents.search.box_space import BoxSpace

PRIOR = KernelPrior(length=0.7, spread=1.3)
"""Length-scales on the scale of the box; chosen, as the noise, on the design seeds of `benchmarks/live`."""

RANDOM, NEAR, BEST, STARTS = 400, 400, 5, 6
"""Random points and neighbours of the best observations that are compared, these, and the local searches begun."""

ROUNDS, MOVES, STEPS = 2, 48, 15
"""Rounds of discrete moves, moves of each start in a round, and iterations of L-BFGS-B on real axes after them."""

SPREADS = (0.02, 0.3)
"""Range of the standard deviation of moves along ordered axes."""


def half_rank(y: Floats) -> Floats:
    """(t,) observations as a model of their maximum sees them: standardised, the lower half by rank.

    Above the median, differences are in units of the upper half's root mean square; below it, observations are normal
    scores, so that a cliff or a failure does not flatten everything else.
    """
    middle = np.median(y)
    upper = y[y >= middle] - middle
    scale = float(np.sqrt(np.mean(upper**2)))
    if not scale > 0.0:
        scale = float(y.std()) or 1.0
    from scipy.special import ndtri
    from scipy.stats import rankdata

    scores = ndtri((rankdata(y) - 0.5) / len(y))
    z = np.where(y >= middle, (y - middle) / scale, np.minimum(scores, 0.0))
    deviation = z.std()
    return np.asarray((z - z.mean()) / (deviation if deviation > 0.0 else 1.0))


class BoxGP:
    """The posterior of one objective, given observations at snapped points.

    Args:
        space: The axes.
        x: (t, d) snapped points.
        z: (t,) standardised observations.
        fit: The kernel; see `estimate`.

    Attributes:
        best: Largest posterior mean at an observed point.
    """

    def __init__(self, space: BoxSpace, x: Floats, z: Floats, fit: KernelFit) -> None:
        from scipy.linalg import cho_factor, cho_solve

        self.space, self.fit = space, fit
        self._inputs = space.inputs(x)
        covariance = fit.covariance(self._inputs, self._inputs)
        noisy = covariance + fit.noise * np.eye(len(z))
        self._factor = cho_factor(noisy, lower=True)
        self._weights = cho_solve(self._factor, z)
        self.best = float((covariance @ self._weights).max())

    @staticmethod
    def estimate(space: BoxSpace, x: Floats, z: Floats, start: KernelFit | None) -> KernelFit:
        """The most probable kernel, with a length-scale per axis."""
        return KernelFit.estimate("matern52", space.inputs(x), z, PRIOR, start, space.groups)

    def mean(self, x: Floats) -> Floats:
        """(n,) posterior means at (n, d) snapped points."""
        return np.asarray(self.fit.covariance(self.space.inputs(x), self._inputs) @ self._weights)

    def predict(self, x: Floats) -> tuple[Floats, Floats]:
        """(n,) posterior means and standard deviations at (n, d) snapped points."""
        mean, deviation, _, _ = self._predict(x)
        return mean, deviation

    def _predict(self, x: Floats) -> tuple[Floats, Floats, Floats, Floats]:
        """Means and deviations, and (t, n) slopes of the kernel and solves against it."""
        from scipy.linalg import cho_solve

        scales = self.fit.scales
        value, slope = with_slope("matern52", square_distances(self._inputs / scales, self.space.inputs(x) / scales))
        cross = self.fit.amplitude * value
        solved = cho_solve(self._factor, cross, check_finite=False)
        variance = np.maximum(self.fit.amplitude - np.einsum("ij,ij->j", cross, solved), 1e-12)
        return cross.T @ self._weights, np.sqrt(variance), self.fit.amplitude * slope, solved

    def log_ei(self, x: Floats) -> Floats:
        """(n,) logarithm of the expected improvement over `best` at (n, d) snapped points."""
        mean, deviation = self.predict(x)
        return log_expected_improvement(mean - self.best, deviation)

    def log_ei_slope(self, x: Floats) -> tuple[Floats, Floats]:
        """`log_ei`, and its (n, r) gradient along the real axes."""
        from scipy.special import log_ndtr

        mean, deviation, slope, solved = self._predict(x)
        u = (mean - self.best) / deviation
        log_h = log_expected_improvement(u, np.ones_like(u))
        by_mean = np.exp(log_ndtr(u) - log_h) / deviation
        by_deviation = np.exp(-0.5 * u * u - 0.5 * np.log(2.0 * np.pi) - log_h) / deviation
        # d log EI / d k_i, then d k_i / d x_j = -slope_i (x_j - x_ij) / l_j^2.
        weight = (by_mean * self._weights[:, None] - by_deviation / deviation * solved) * slope
        real = self.space.real
        columns = np.searchsorted(self.space.groups, real)
        lengths = self.fit.lengths[real]
        gradient = (weight.T @ self._inputs[:, columns] - x[:, real] * weight.sum(axis=0)[:, None]) / lengths**2
        return np.log(deviation) + log_h, gradient


def maximise(
    space: BoxSpace,
    score: Callable[[Floats], Floats],
    slope: Callable[[Floats], tuple[Floats, Floats]] | None,
    best: Floats,
    rng: np.random.Generator,
) -> Floats:
    """(n, d) snapped points where an acquisition was found to be large, the largest first.

    Args:
        space: The axes.
        score: Acquisition at (n, d) snapped points.
        slope: The same with its gradient along the real axes; None: no gradient is known.
        best: (k, d) points near which good ones are expected.
        rng: Draws points and moves.
    """
    near = best[rng.integers(len(best), size=NEAR)]
    spread = np.exp(rng.uniform(np.log(SPREADS[0]), np.log(SPREADS[1]), (NEAR, 1)))
    points = np.concatenate([space.snap(rng.random((RANDOM, len(space)))), space.neighbours(near, rng, spread)])
    scores = score(points)
    order = np.argsort(-scores)
    spare, top, held = points[order[STARTS:]], points[order[:STARTS]], scores[order[:STARTS]]
    for k in range(ROUNDS):
        moved = space.neighbours(np.repeat(top, MOVES, axis=0), rng, SPREADS[1] * 0.3 ** (k + 1))
        found = score(moved).reshape(len(top), MOVES)
        better = found.max(axis=1) > held
        top = np.where(
            better[:, None], moved.reshape(len(top), MOVES, -1)[np.arange(len(top)), found.argmax(axis=1)], top
        )
        held = np.maximum(held, found.max(axis=1))
    if slope is not None and len(space.real):
        top, held = _climb(space, slope, top, held)
    return np.concatenate([top[np.argsort(-held)], spare])


def _climb(
    space: BoxSpace, slope: Callable[[Floats], tuple[Floats, Floats]], top: Floats, held: Floats
) -> tuple[Floats, Floats]:
    """Start and scores after L-BFGS-B along the active real axes."""
    real, active = space.real, space.active(top)[:, space.real]

    def negative(points: Floats, which: list[int]) -> tuple[Floats, Floats]:
        x = top[which]
        x[:, real] = np.where(active[which], points, x[:, real])
        values, gradients = slope(x)
        return -values, np.where(active[which], -gradients, 0.0)

    ends = np.zeros(len(real)), np.ones(len(real))
    found = minimise_each(negative, np.ascontiguousarray(top[:, real]), *ends, STEPS)  # type: ignore[arg-type]
    climbed = top.copy()
    climbed[:, real] = np.where(active, found, top[:, real])
    values = slope(climbed)[0]
    better = values > held
    return np.where(better[:, None], climbed, top), np.maximum(values, held)

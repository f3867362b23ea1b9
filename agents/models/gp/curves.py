"""Gaussian process of candidates' learning curves, and its prior, from other tables' curves or a power law."""

import functools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hpo_envs.agents.models import Floats
from hpo_envs.agents.models.gp.kernels import of_square_distances, square_distances
from hpo_envs.agents.models.source import Source

COMMON, SMOOTH, SINGLE = 1.0, 0.35, 0.15
"""Variances of the effects common to all curves, common to similar candidates, and specific to a curve, in units of the
variance of a source's curves. The last two sum to less than 1, as the sources' predictions explain the rest."""

SLOPE, SLOPE_VARIANCE, DEVIATION = 0.7, 0.25, 0.5
"""Mean and variance of the weight of the sources' mean prediction; variance of the weights of deviations from it."""

OFFSET = 4.0
"""Variance of the common level of all curves, in units of their variance at the last checkpoint."""

STEEPNESS, ROUGHNESS = 1.7, 0.05
"""Without source tasks: mean rise of the curves from the first checkpoint, in standard deviations of their limits, and
variance of the independent deviations at the checkpoints."""

RANK, NOISE = 3, 1e-2
"""Number of shapes in a curve, and its observation variance, relative to the mean variance of the curves."""

RIDGE, LOWEST = 0.1, 0.1
"""Noise of the smoother of a source's curves; quantile of rewards at a checkpoint, to which lower ones are raised."""

NEAR = 0.05
"""Smallest similarity of a source that is used, see `alike`."""

CLIP, STRENGTH = 3.0, 10.0
"""Largest prediction error, in standard deviations; number of prediction errors that the prior scale of 1 counts as."""


@dataclass(frozen=True)
class CurvePrior:
    """Prior of n curves at K checkpoints.

    Attributes:
        mean: (n, K) mean curves.
        basis: (K, R) shapes: a curve is its mean plus a linear combination of them.
        noise: (K,) observation variances.
        effects: (E, n, R) coefficients of E effects on all curves, each multiplied by one standard normal number.
    """

    mean: Floats
    basis: Floats
    noise: Floats
    effects: Floats


def curve_prior(
    resources: Floats, features: Floats, names: tuple[str, ...], length: float, sources: Sequence[Source]
) -> tuple[CurvePrior, bool]:
    """Return the prior of n candidates' curves at K checkpoints, and whether it uses any source.

    With sources, it follows from the mean and covariance of their curves and from smoothed curves that they predict for
    the candidates' features; without, from `power_law`.

    Args:
        resources: (K,) resources of the checkpoints.
        features: (n, d) features of the candidates.
        names: Names of the features.
        length: Length-scale of the kernel of features.
        sources: Source tasks, of which those of `alike` are used.
    """
    n, k = len(features), len(resources)
    mean, covariance = power_law(resources)
    predicted = np.zeros((1, n, k))
    if chosen := alike(features, names, length, sources):
        known = [_smoothed(s, tuple(mine), tuple(resources.tolist()), length) for s, mine, _ in chosen]
        mean, covariance = (np.mean([one[j] for one in known], axis=0) for j in (0, 1))
        each = [(s.features[:, mine], features[:, theirs], known[j][2]) for j, (s, mine, theirs) in enumerate(chosen)]
        predicted = np.stack([_kernel(x, observed, length) @ weights for observed, x, weights in each])
    values, vectors = np.linalg.eigh(covariance)
    basis = vectors[:, ::-1][:, :RANK] * np.sqrt(np.maximum(values[::-1][:RANK], 0.0))
    rest = np.maximum(covariance.diagonal() - np.square(basis).sum(axis=1), 0.0)
    average = predicted.mean(axis=0)
    level = np.full((n, k), np.sqrt(OFFSET * covariance[-1, -1]))
    deviations = np.sqrt(DEVIATION / len(predicted)) * (predicted - average)
    effects = np.stack([level, np.sqrt(SLOPE_VARIANCE) * average, *deviations])
    noise = rest + NOISE * covariance.diagonal().mean()
    return CurvePrior(mean + SLOPE * average, basis, noise, effects @ np.linalg.pinv(basis).T), bool(chosen)


def alike(
    features: Floats, names: tuple[str, ...], length: float, sources: Sequence[Source]
) -> list[tuple[Source, list[int], list[int]]]:
    """Return (source, its columns, matching columns of the candidates) of each source with curves near the candidates.

    The similarity of a source is the kernel's value at its closest configuration, averaged over the candidates, times
    the fraction of the candidates' columns that it has; it must be at least half of the largest one, and `NEAR`.
    """
    known = [(s, *both) for s in sources if s.curves is not None and (both := s.shared(names))[0]]
    nearest = [_kernel(features[:, theirs], s.features[:, mine], length).max(axis=1) for s, mine, theirs in known]
    near = [x.mean() * len(theirs) / features.shape[1] for x, (_, _, theirs) in zip(nearest, known, strict=True)]
    least = max([2 * NEAR, *near]) / 2
    return [one for one, value in zip(known, near, strict=True) if value >= least]


@functools.lru_cache(maxsize=32)
def _smoothed(
    source: Source, columns: tuple[int, ...], resources: tuple[float, ...], length: float
) -> tuple[Floats, Floats, Floats]:
    """Return the (K,) mean and (K, K) covariance of a source's curves, and the (t, K) weights of a kernel smoother.

    A curve is the best reward so far of the first objective, after a run's end its last value.
    """
    assert source.curves is not None
    assert source.levels is not None
    at = np.maximum(np.searchsorted(source.levels, np.array(resources) * (1 + 1e-9), side="right") - 1, 0)
    best = np.fmax.accumulate(source.curves[:, :, 0], axis=1)[:, at]
    best = np.maximum(best, np.quantile(best, LOWEST, axis=0))
    mean = best.mean(axis=0)
    x = source.features[:, list(columns)]
    weights = np.linalg.solve(_kernel(x, x, length) + RIDGE * np.eye(len(x)), best - mean)
    return mean, (best - mean).T @ (best - mean) / len(best), weights


def _kernel(a: Floats, b: Floats, length: float) -> Floats:
    return of_square_distances("matern52", square_distances(a / length, b / length))


def power_law(resources: Floats) -> tuple[Floats, Floats]:
    """Return the (K,) mean and (K, K) covariance of f - e (r_1 / r)^(1/2) plus noise.

    f and e have variance 1, f has mean 0 and e mean `STEEPNESS`; the noise has variance `ROUGHNESS`.
    """
    left = np.sqrt(resources[0] / resources)
    return -STEEPNESS * left, 1.0 + np.outer(left, left) + ROUGHNESS * np.eye(len(left))


class CurveProcess:
    """Posterior of n candidates' curves at K checkpoints, updated by one observation at a time.

    Candidate i's curve is m_i + B z_i, with B the (K, R) shapes and z_i normal: the covariance of z_i and z_j is
    (COMMON + SMOOTH k(x_i, x_j) + SINGLE [i = j]) I + sum_e u_ei u_ej', k a Matern 5/2 kernel. The shapes' covariance
    B B' approximates that of the prior's curves, and u_e are unknown effects: the level, the scale of the predictions,
    and differences between the sources. All deviations are multiplied by `scale`.

    One observation costs O(t n R + n K R), t observations.

    Args:
        prior: See `curve_prior`.
        kernel: (n, n) kernel matrix of the candidates.

    Attributes:
        mean: (n, K) posterior means.
    """

    def __init__(self, prior: CurvePrior, kernel: Floats) -> None:
        self._prior, self._kernel = prior, kernel
        self.mean = prior.mean.copy()
        n, shapes = len(kernel), prior.basis
        own = COMMON + SMOOTH + SINGLE
        self._variance = own * np.square(shapes).sum(axis=1) + np.square(prior.effects @ shapes.T).sum(axis=0)
        self._rows = np.empty((64, n * shapes.shape[1]))
        self._count, self._surprise = 0, 0.0

    @property
    def scale(self) -> float:
        """Factor of the prior standard deviations: root mean square of the prediction errors so far, see `STRENGTH`."""
        return float(np.sqrt((self._surprise + STRENGTH) / (self._count + STRENGTH)))

    @property
    def deviation(self) -> Floats:
        """(n, K) posterior standard deviations."""
        return np.asarray(self.scale * np.sqrt(self._variance))

    def observe(self, i: int, k: int, value: float) -> None:
        """Condition on a value of candidate i at checkpoint k; prediction errors are clipped (`CLIP`)."""
        p, t = self._prior, self._count
        if t == len(self._rows):
            self._rows = np.concatenate([self._rows, np.empty_like(self._rows)])
        shape, shapes = p.basis[k], p.basis.shape[1]
        relation = COMMON + SMOOTH * self._kernel[i]
        relation[i] += SINGLE
        effects = (p.effects[:, i] @ shape) @ p.effects.reshape(len(p.effects), -1)
        covariance = np.outer(relation, shape).ravel() + effects
        past = self._rows[:t, i * shapes : (i + 1) * shapes] @ shape
        d = np.sqrt(self._variance[i, k] + p.noise[k])
        most = CLIP * self.scale
        surprise = float(np.clip((value - self.mean[i, k]) / d, -most, most))
        self._rows[t] = (covariance - past @ self._rows[:t]) / d
        step = self._rows[t].reshape(-1, shapes) @ p.basis.T
        self.mean += surprise * step
        self._variance = np.maximum(self._variance - np.square(step), 0.0)
        self._surprise += surprise**2
        self._count = t + 1

    def mark(self) -> tuple[int, float, Floats, Floats]:
        """Return a snapshot for `undo`."""
        return self._count, self._surprise, self.mean.copy(), self._variance

    def undo(self, mark: tuple[int, float, Floats, Floats]) -> None:
        """Undo all observations since a snapshot."""
        self._count, self._surprise, self.mean, self._variance = mark

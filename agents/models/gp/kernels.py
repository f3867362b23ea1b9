"""Kernels (Matern 5/2, squared exponential), shared kernel matrices, and estimation of kernels: bounds, priors."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hpo_envs.agents.models import Floats, Indices
from hpo_envs.agents.models.lbfgsb import minimise_each

KERNELS = ("matern52", "rbf")
"""Matern with nu = 5/2 and the squared exponential (Zhang and Duh 2020, section 6.1.1 and footnote 15)."""

LARGEST_SHARED = 4000
"""Largest number of candidates whose whole kernel matrix (then 128 MB) is cached and shared."""

Groups = Indices | None

LENGTH_BOUNDS = (0.05, 30.0)
"""Bounds of length-scales; features lie in [0, 1]."""

NOISES = (1e-5, 1.0)
"""Bounds of the noise variance relative to the amplitude; above the lower one, no covariance needs jitter."""

STEPS = 25
"""Largest number of iterations of L-BFGS-B in one estimate, which starts where the last one ended."""

TOGETHER = 1 << 14
"""Largest total number of entries of the matrices inverted together: 128 kB, which stay in the processor's cache."""


def square_distances(a: Floats, b: Floats) -> Floats:
    """Return the (len(a), len(b)) squared Euclidean distances of two (rows, d) arrays; exactly 0 for equal rows."""
    # |a|^2 + |b|^2 - 2ab would leave round-off where rows are equal.
    from scipy.spatial.distance import cdist

    return np.asarray(cdist(a, b, "sqeuclidean"))


def of_square_distances(kernel: str, r2: Floats) -> Floats:
    """Return the values of a kernel at squared distances of any shape, in units of the length-scale; 1 at 0."""
    if kernel == "rbf":
        return np.exp(-0.5 * r2)
    return _matern52(z := np.sqrt(5.0 * r2), np.exp(-z))


def with_slope(kernel: str, r2: Floats) -> tuple[Floats, Floats]:
    """Return the values of `of_square_distances`, and -2 times their derivatives with respect to squared distances."""
    if kernel == "rbf":
        value = of_square_distances(kernel, r2)
        return value, value
    z = np.sqrt(5.0 * r2)
    decay = np.exp(-z)
    return _matern52(z, decay), (5.0 / 3.0) * (1.0 + z) * decay


def _matern52(z: Floats, decay: Floats) -> Floats:
    return (1.0 + z + z * z / 3.0) * decay


def gram(kernel: str, features: Floats, length_scale: float) -> Floats:
    """Return the (n, n) read-only kernel matrix of (n, d) features; equal arguments share one array."""
    return _gram(kernel, features.tobytes(), features.shape, float(length_scale))


def gram_row(kernel: str, features: Floats, length_scale: float, k: int) -> Floats:
    """Return the (n,) row k of `gram`, without the matrix, which may not fit in memory."""
    r2 = square_distances(features[k : k + 1] / length_scale, features / length_scale)
    return np.asarray(of_square_distances(kernel, r2)[0])


@functools.lru_cache(maxsize=8)
def _gram(kernel: str, content: bytes, shape: tuple[int, int], length_scale: float) -> Floats:
    x = np.frombuffer(content).reshape(shape) / length_scale
    matrix = of_square_distances(kernel, square_distances(x, x))
    matrix.setflags(write=False)
    return matrix


def is_due(t: int, estimated_at: int, growth: float) -> bool:
    """Return whether `t` observations are a fraction `growth`, and at least 1, more than at the last estimate."""
    return t >= estimated_at + max(1, int(growth * estimated_at))


@dataclass(frozen=True)
class KernelFit:
    """An estimated kernel.

    Attributes:
        kernel: `matern52` or `rbf`.
        lengths: (d,) length-scales.
        amplitude: Prior variance.
        noise: Observation variance.
        groups: (c,) index of the length-scale of each feature, ascending; None: one per feature.
    """

    kernel: str
    lengths: Floats
    amplitude: float
    noise: float
    groups: Groups = None

    @property
    def scales(self) -> Floats:
        """(c,) length-scale of each feature."""
        return self.lengths if self.groups is None else self.lengths[self.groups]

    def covariance(self, a: Floats, b: Floats) -> Floats:
        """Return the (len(a), len(b)) prior covariances of two (rows, c) arrays of features."""
        return self.amplitude * of_square_distances(self.kernel, square_distances(a / self.scales, b / self.scales))

    @staticmethod
    def estimate(
        kernel: str, x: Floats, y: Floats, prior: KernelPrior, start: KernelFit | None, groups: Groups = None
    ) -> KernelFit:
        """Return the most probable kernel of (t, c) features in [0, 1] and (t,) standardised observations.

        The search begins at `start`, an earlier estimate; None: at the medians of the prior. `groups`: see `KernelFit`.
        """
        return KernelFit.estimate_each(kernel, [(x, y, start)], prior, groups)[0]

    @staticmethod
    def estimate_each(
        kernel: str, given: Sequence[tuple[Floats, Floats, KernelFit | None]], prior: KernelPrior, groups: Groups = None
    ) -> list[KernelFit]:
        """Return the result of `estimate` for each (x, y, start) of `given`, up to three times faster."""
        fits: dict[int, KernelFit] = {}
        shapes: dict[tuple[int, ...], list[int]] = {}
        for k, (x, _, _) in enumerate(given):
            shapes.setdefault(x.shape, []).append(k)
        for (t, _), alike in shapes.items():
            size = max(1, TOGETHER // t**2)
            for chunk in (alike[first : first + size] for first in range(0, len(alike), size)):
                xs, ys, starts = zip(*(given[k] for k in chunk), strict=True)
                found = _most_probable(Posteriors(kernel, np.stack(xs), np.stack(ys), prior, groups), starts, groups)
                fits |= zip(chunk, found, strict=True)
        return [fits[k] for k in range(len(given))]


def _most_probable(posteriors: Posteriors, starts: Sequence[KernelFit | None], groups: Groups) -> list[KernelFit]:
    first = [posteriors.center if s is None else np.log(np.append(s.lengths, s.noise / s.amplitude)) for s in starts]
    low, high = np.log([*[LENGTH_BOUNDS] * (len(posteriors.center) - 1), NOISES]).T.copy()
    found = minimise_each(posteriors.at, np.array(first), low, high, STEPS)
    if stale := np.flatnonzero((found != posteriors.last).any(axis=1)).tolist():
        posteriors.at(found[stale], stale)
    fits = []
    for point, amplitude in zip(found, posteriors.amplitudes.tolist(), strict=True):
        lengths, noise = np.exp(point[:-1]), float(np.exp(point[-1]))
        fits.append(KernelFit(posteriors.kernel, lengths, amplitude, amplitude * noise, groups))
    return fits


@dataclass(frozen=True)
class KernelPrior:
    """Prior of the parameters of a kernel, for standardised observations.

    Attributes:
        length: Median of the log-normal prior of each length-scale.
        spread: Standard deviation of the logarithm of the length-scale.
        noise: Median of the log-normal prior of the noise relative to the amplitude.
        noise_spread: Standard deviation of the logarithm of the noise.
        strength: Shape and scale of the inverse-gamma prior of the amplitude, which gives its logarithm the mode 0.
    """

    length: float = 1.0
    spread: float = 1.0
    noise: float = 1e-2
    noise_spread: float = 2.0
    strength: float = 1.0


class Posteriors:
    """Negative log posterior densities of log parameters at the best amplitudes, and their gradients, for k problems.

    With A = R + eta I, R the correlation and a the amplitude: (t/2 + c) log a + 1/2 log |A| + (y' A^-1 y / 2 + c) / a
    and the priors of the log parameters; the best a is (y' A^-1 y / 2 + c) / (t/2 + c).

    Args:
        kernel: `matern52` or `rbf`.
        x: (k, t, c) features of k problems.
        y: (k, t) standardised observations.
        prior: Priors of the parameters.
        groups: (c,) index of the length-scale of each feature, ascending; None: one per feature, d = c.

    Attributes:
        center: (d + 1,) logarithms of the priors' medians, that of the noise last.
        amplitudes: (k,) best amplitudes at `last`; ones before the first evaluation.
        last: (k, d + 1) log parameters evaluated last; NaN before the first evaluation.
    """

    def __init__(self, kernel: str, x: Floats, y: Floats, prior: KernelPrior, groups: Indices | None = None) -> None:
        from scipy.linalg import lapack

        self._factorise, self._invert = lapack.dpotrf, lapack.dpotri
        k, t, _ = x.shape
        columns = np.ascontiguousarray(x.transpose(0, 2, 1))
        self.kernel, self.y, self.strength = kernel, y, prior.strength
        squares = np.square(columns[:, :, :, None] - columns[:, :, None, :]).reshape(k, -1, t * t)
        if groups is not None:
            squares = np.add.reduceat(squares, np.searchsorted(groups, np.arange(groups[-1] + 1)), axis=1)
        self.squares = list(squares)
        d = squares.shape[1]
        self.center = np.log(np.append(np.full(d, prior.length), prior.noise))
        self.widths = np.append(np.full(d, prior.spread), prior.noise_spread)
        self.amplitudes = np.ones(k)
        self.last = np.full((k, d + 1), np.nan)

    def at(self, log_parameters: Floats, which: Sequence[int]) -> tuple[Floats, Floats]:
        """Return (m,) negative log densities of the problems `which` at (m, d + 1) log parameters, and their slopes.

        The slopes are (m, d + 1) gradients. Set `amplitudes` and `last` of these problems.
        """
        m, t, c = len(which), self.y.shape[1], self.strength
        some = which if m < len(self.y) else slice(None)
        y = self.y[some]
        weights = np.exp(-2.0 * log_parameters[:, :-1])
        eta = np.exp(log_parameters[:, -1:])
        r2 = np.empty((m, t * t))
        for weight, i, row in zip(weights, which, r2, strict=True):
            np.matmul(weight, self.squares[i], out=row)
        # dR / dlog l_i = slope * squares_i / l_i^2.
        correlation, slope = with_slope(self.kernel, r2)
        inverse, diagonals = self._inverses(correlation.reshape(m, t, t), eta)
        alpha = np.matmul(inverse, y[:, :, None])
        amplitude = (np.matmul((0.5 * y)[:, None], alpha) + c) / (0.5 * t + c)
        offset = (log_parameters - self.center) / self.widths
        half = np.matmul((0.5 * offset)[:, None], offset[:, :, None])
        values = ((0.5 * t + c) * np.log(amplitude) + np.log(diagonals).sum(axis=1)[:, None, None] + half).reshape(m)
        outer = inverse - alpha * alpha.reshape(m, 1, t) / amplitude
        flat = outer.reshape(m, t * t)
        gradients = offset / self.widths
        gradients[:, -1:] += 0.5 * eta * flat[:, :: t + 1].sum(axis=1, keepdims=True)
        slope *= flat
        products = np.empty_like(weights)
        for product, i, row in zip(products, which, slope, strict=True):
            np.matmul(self.squares[i], row, out=product)
        gradients[:, :-1] += 0.5 * weights * products
        self.amplitudes[some], self.last[some] = amplitude.reshape(m), log_parameters
        return values, gradients

    def _inverses(self, correlation: Floats, eta: Floats) -> tuple[Floats, Floats]:
        """Return (m, t, t) inverses of correlations plus (m, 1) noise, and (m, t) diagonals of Cholesky factors."""
        noisy = correlation.transpose(0, 2, 1).copy()  # LAPACK reads columns first, and writes where it reads
        diagonals = noisy.reshape(len(noisy), -1)[:, :: noisy.shape[1] + 1]
        diagonals += eta
        for matrix in noisy:
            self._factorise(matrix.T, lower=1, clean=1, overwrite_a=1)
        factors = diagonals.copy()
        for matrix in noisy:
            self._invert(matrix.T, lower=1, overwrite_c=1)
        inverse = noisy.transpose(0, 2, 1) + noisy
        inverse.reshape(len(noisy), -1)[:, :: noisy.shape[1] + 1] = diagonals
        return inverse, factors

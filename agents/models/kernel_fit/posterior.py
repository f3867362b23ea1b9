"""How probable the parameters of kernels are, of many problems of one size at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hpo_envs.agents.models.kernels import with_slope

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Prior:
    """What is believed of a kernel of standardised observations before the first of them.

    Attributes:
        length: Median of the log-normal prior of each length-scale.
        spread: Its standard deviation in the logarithm.
        noise: Median of the log-normal prior of the noise relative to the amplitude.
        noise_spread: Its standard deviation in the logarithm.
        strength: Shape and scale of the inverse-gamma prior of the amplitude, whose mode is near 1.
    """

    length: float = 1.0
    spread: float = 1.0
    noise: float = 1e-2
    noise_spread: float = 2.0
    strength: float = 1.0


class Posteriors:
    """Negative log posterior densities of the log parameters, with the amplitudes maximised out, and their gradients.

    With A = R + eta I, R the correlation and a the amplitude: (t/2 + c) log a + 1/2 log |A| + (y' A^-1 y / 2 + c) / a
    and the priors of the log parameters; the best a is (y' A^-1 y / 2 + c) / (t/2 + c).

    Args:
        kernel: `matern52` or `rbf`.
        x: (k, t, c) features of k problems.
        y: (k, t) standardised observations.
        prior: Priors of the parameters.
        groups: (c,) which of d length-scales each feature has, ascending; None: its own, d = c.

    Attributes:
        center: (d + 1,) the priors' medians.
        amplitudes: (k,) the best ones at the log parameters that were last asked for.
        last: (k, d + 1) these.
    """

    def __init__(
        self, kernel: str, x: Floats, y: Floats, prior: Prior, groups: npt.NDArray[np.intp] | None = None
    ) -> None:
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
        """(m,) densities and (m, d + 1) gradients of the problems `which` at (m, d + 1) points."""
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
        """(m, t, t) inverses of correlations with (m, 1) noise, and (m, t) diagonals of their Cholesky factors."""
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

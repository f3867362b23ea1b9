"""Maximum a posteriori estimates of a kernel with one length-scale a feature."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hpo_envs.agents.models.kernels import of_square_distances, square_distances, with_slope

Floats = npt.NDArray[np.float64]

LENGTHS = (0.05, 30.0)
"""Bounds of length-scales; features lie in [0, 1]."""

NOISES = (1e-5, 1.0)
"""Bounds of the noise variance relative to the amplitude. The lower one keeps the observed covariance far enough from
singular, so no jitter is ever needed."""

STEPS = 25
"""Iterations of the optimiser in one estimate; estimates start where the last one ended."""


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


@dataclass(frozen=True)
class KernelFit:
    """An estimated kernel.

    Attributes:
        kernel: `matern52` or `rbf`.
        lengths: (d,) length-scales.
        amplitude: Prior variance.
        noise: Observation variance.
    """

    kernel: str
    lengths: Floats
    amplitude: float
    noise: float

    def covariance(self, a: Floats, b: Floats) -> Floats:
        """(len(a), len(b)) prior covariance of two (rows, d) arrays of features."""
        return self.amplitude * of_square_distances(self.kernel, square_distances(a / self.lengths, b / self.lengths))

    @staticmethod
    def estimate(kernel: str, x: Floats, y: Floats, prior: Prior, start: KernelFit | None) -> KernelFit:
        """The most probable kernel of (t, d) features and (t,) standardised observations.

        Args:
            kernel: `matern52` or `rbf`.
            x: (t, d) features in [0, 1].
            y: (t,) observations.
            prior: Priors of the parameters.
            start: An earlier estimate to start from; the prior's medians otherwise.
        """
        from scipy.optimize import minimize

        d = x.shape[1]
        center = np.log(np.append(np.full(d, prior.length), prior.noise))
        first = center if start is None else np.log(np.append(start.lengths, start.noise / start.amplitude))
        bounds = [tuple(np.log(LENGTHS))] * d + [tuple(np.log(NOISES))]
        low, high = np.array(bounds).T
        columns = np.ascontiguousarray(x.T)
        squares = np.square(columns[:, :, None] - columns[:, None, :]).reshape(d, -1)
        posterior = _Posterior(kernel, squares, y, prior, center)
        found = minimize(
            posterior.value,
            np.clip(first, low, high),
            jac=posterior.gradient,
            method="L-BFGS-B",
            bounds=bounds,
            options={"maxiter": STEPS},
        )
        posterior.at(found.x)
        lengths, noise = np.exp(found.x[:-1]), float(np.exp(found.x[-1]))
        return KernelFit(kernel, lengths, posterior.amplitude, posterior.amplitude * noise)


class _Posterior:
    """Negative log posterior density of the log parameters, with the amplitude maximised out, and its gradient.

    With A = R + eta I, R the correlation and a the amplitude: (t/2 + c) log a + 1/2 log |A| + (y' A^-1 y / 2 + c) / a
    and the priors of the log parameters; the best a is (y' A^-1 y / 2 + c) / (t/2 + c).

    Attributes:
        amplitude: The best one at the log parameters that were last asked for.
    """

    def __init__(self, kernel: str, squares: Floats, y: Floats, prior: Prior, center: Floats) -> None:
        from scipy.linalg import lapack

        self._factorise, self._invert = lapack.dpotrf, lapack.dpotri
        self.kernel, self.squares, self.y, self.prior, self.center = kernel, squares, y, prior, center
        self.widths = np.append(np.full(len(squares), prior.spread), prior.noise_spread)
        self.amplitude = 1.0
        self._last, self._both = b"", (0.0, np.empty(0))

    def value(self, log_parameters: Floats) -> float:
        """The density."""
        return self.at(log_parameters)[0]

    def gradient(self, log_parameters: Floats) -> Floats:
        """(d + 1,) its gradient."""
        return self.at(log_parameters)[1]

    def at(self, log_parameters: Floats) -> tuple[float, Floats]:
        """Both; optimisers ask for one after the other."""
        if (content := log_parameters.tobytes()) != self._last:
            self._last, self._both = content, self._computed(log_parameters)
        return self._both

    def _computed(self, log_parameters: Floats) -> tuple[float, Floats]:
        t = len(self.y)
        weights = np.exp(-2.0 * log_parameters[:-1])
        eta = float(np.exp(log_parameters[-1]))
        r2 = (weights @ self.squares).reshape(t, t)
        # dR / dlog l_i = slope * squares_i / l_i^2.
        correlation, slope = with_slope(self.kernel, r2)
        noisy = correlation.copy()
        noisy.reshape(-1)[:: t + 1] += eta
        factor, _ = self._factorise(noisy, lower=1, clean=1)
        lower, _ = self._invert(factor, lower=1)
        inverse = np.add(lower, lower.T, order="C")
        inverse.reshape(-1)[:: t + 1] = lower.diagonal()
        alpha = inverse @ self.y
        c = self.prior.strength
        self.amplitude = float((0.5 * self.y @ alpha + c) / (0.5 * t + c))
        offset = (log_parameters - self.center) / self.widths
        value = (0.5 * t + c) * np.log(self.amplitude) + np.log(factor.diagonal()).sum() + 0.5 * offset @ offset
        outer = inverse - alpha[:, None] * alpha / self.amplitude
        gradient = offset / self.widths
        gradient[:-1] += 0.5 * weights * (self.squares @ (outer * slope).ravel())
        gradient[-1] += 0.5 * eta * outer.trace()
        return float(value), gradient

"""Maximum a posteriori estimates of a kernel with one length-scale a feature."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hpo_envs.agents.models.kernel_fit.lbfgsb import minimise_each
from hpo_envs.agents.models.kernel_fit.posterior import Posteriors, Prior
from hpo_envs.agents.models.kernels import of_square_distances, square_distances

Floats = npt.NDArray[np.float64]
Groups = npt.NDArray[np.intp] | None

LENGTHS = (0.05, 30.0)
"""Bounds of length-scales; features lie in [0, 1]."""

NOISES = (1e-5, 1.0)
"""Bounds of the noise variance relative to the amplitude. The lower one keeps the observed covariance far enough from
singular, so no jitter is ever needed."""

STEPS = 25
"""Iterations of the optimiser in one estimate; estimates start where the last one ended."""

TOGETHER = 1 << 14
"""Entries of the matrices whose posteriors are computed together, 128 kB each: what stays in cache."""


def is_due(t: int, estimated_at: int, growth: float) -> bool:
    """Whether observations have grown by so much, and by one at least, since a kernel was estimated from them.

    Args:
        t: Observations now.
        estimated_at: Observations then; 0: there was no estimate.
        growth: Relative growth.
    """
    return t >= estimated_at + max(1, int(growth * estimated_at))


@dataclass(frozen=True)
class KernelFit:
    """An estimated kernel.

    Attributes:
        kernel: `matern52` or `rbf`.
        lengths: (d,) length-scales.
        amplitude: Prior variance.
        noise: Observation variance.
        groups: (c,) which of the length-scales each feature has, ascending; None: its own.
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
        """(len(a), len(b)) prior covariance of two (rows, d) arrays of features."""
        return self.amplitude * of_square_distances(self.kernel, square_distances(a / self.scales, b / self.scales))

    @staticmethod
    def estimate(
        kernel: str, x: Floats, y: Floats, prior: Prior, start: KernelFit | None, groups: Groups = None
    ) -> KernelFit:
        """The most probable kernel of (t, c) features and (t,) standardised observations.

        Args:
            kernel: `matern52` or `rbf`.
            x: (t, c) features in [0, 1].
            y: (t,) observations.
            prior: Priors of the parameters.
            start: An earlier estimate to start from; the prior's medians otherwise.
            groups: (c,) which length-scale each feature has, see `KernelFit`.
        """
        return KernelFit.estimate_each(kernel, [(x, y, start)], prior, groups)[0]

    @staticmethod
    def estimate_each(
        kernel: str, given: Sequence[tuple[Floats, Floats, KernelFit | None]], prior: Prior, groups: Groups = None
    ) -> list[KernelFit]:
        """`estimate` of several (x, y, start), the same numbers in a third of the time where there are many."""
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
    low, high = np.log([*[LENGTHS] * (len(posteriors.center) - 1), NOISES]).T.copy()
    found = minimise_each(posteriors.at, np.array(first), low, high, STEPS)
    if stale := np.flatnonzero((found != posteriors.last).any(axis=1)).tolist():
        posteriors.at(found[stale], stale)
    fits = []
    for point, amplitude in zip(found, posteriors.amplitudes.tolist(), strict=True):
        lengths, noise = np.exp(point[:-1]), float(np.exp(point[-1]))
        fits.append(KernelFit(posteriors.kernel, lengths, amplitude, amplitude * noise, groups))
    return fits

"""Gaussian processes averaged over sets of length-scales by marginal likelihood, for many episodes at once.

Few observations do not determine which hyperparameters matter, and maximum likelihood chooses a single answer. Here all
sets of length-scales of `KINDS`, drawn once for each number of features, are weighted by marginal likelihood.
"""

import functools

import numpy as np
import numpy.typing as npt

from hpo_envs.agents.models import Floats, Indices
from hpo_envs.agents.models.acquisition import expected_improvement
from hpo_envs.agents.models.gp.kernels import of_square_distances

KINDS = {"equal": 4, "few": 16, "different": 8}
"""Number of sets of length-scales by kind: all equal, long except for a few features, or all different."""

CONSTANT, NOISE_VARIANCE = 1.0, 0.02
"""Variances of the constant mean and of the observation noise; the Matern part has variance 1."""

LONG = 10.0
"""Length-scale of a feature that does not matter."""

*_STARTS, _COUNT = np.cumsum([0, *KINDS.values()]).tolist()


@functools.cache
def length_scales(width: int) -> Floats:
    """Return the (sets, width) length-scales, the same at each call, for a number of features.

    Those of k features that matter are in units of sqrt(k / 6); those of other features are `LONG`.
    """
    rng, unit = np.random.default_rng(width), np.sqrt(width / 6.0)
    equal = np.geomspace(0.4, 1.6, KINDS["equal"])[:, None] * np.full(width, unit)
    few = np.full((KINDS["few"], width), LONG)
    for row in few:
        k = min(width, int(rng.geometric(0.3)) + 1)
        row[rng.choice(width, k, replace=False)] = np.sqrt(k / 6.0) * rng.lognormal(0.0, 0.7, k)
    level = np.exp(rng.normal(0.0, 0.5, (KINDS["different"], 1)))
    different = unit * level * rng.lognormal(0.0, 1.0, (KINDS["different"], width))
    return np.concatenate([equal, few, different])


class AveragedGP:
    """Exact Gaussian-process posteriors of E episodes over n candidates for all sets of length-scales.

    Args:
        x: (E, n, d) features in [0, 1], zeros beyond an episode's width.
        widths: (E,) number of features of each episode.

    Attributes:
        count: Number of observations of each episode so far.
    """

    def __init__(self, x: npt.NDArray[np.floating], widths: Indices) -> None:
        self._x = np.asarray(x, np.float32)
        e, n, d = x.shape
        self._precision = np.zeros((e, _COUNT, d), np.float32)
        for width in np.unique(widths):
            self._precision[widths == width, :, :width] = 1.0 / np.square(length_scales(int(width)))
        self._each, self.count = np.arange(e), 0
        self._v, self._inverse = np.zeros((e, _COUNT, 8, n), np.float32), np.zeros((e, _COUNT, 8, 8), np.float32)
        self._variance = np.full((e, _COUNT, n), CONSTANT + 1.0, np.float32)
        self._log_det = np.zeros((e, _COUNT))

    def observe(self, rows: Indices) -> None:
        """Condition each episode on one of its candidates, given by (E,) `rows`; `posteriors` takes the values."""
        e, t = self._each, self.count
        if t == self._v.shape[2]:
            self._v = np.concatenate([self._v, np.zeros_like(self._v)], axis=2)
            self._inverse = np.pad(self._inverse, ((0, 0), (0, 0), (0, t), (0, t)))
        squares = np.square(self._x - self._x[e, rows][:, None])
        column = of_square_distances("matern52", self._precision @ np.swapaxes(squares, 1, 2)) + np.float32(CONSTANT)
        past = self._v[e, :, :t, rows]
        pivot = np.sqrt(np.maximum(CONSTANT + 1.0 + NOISE_VARIANCE - np.square(past).sum(axis=2), NOISE_VARIANCE))
        row = (column - (past[:, :, None] @ self._v[:, :, :t])[:, :, 0]) / pivot[..., None]
        self._v[:, :, t] = row
        self._inverse[:, :, t, :t] = -(past[:, :, None] @ self._inverse[:, :, :t, :t])[:, :, 0] / pivot[..., None]
        self._inverse[:, :, t, t] = 1.0 / pivot
        self._log_det += np.log(pivot)
        self._variance = np.maximum(self._variance - row * row, np.float32(1e-6))
        self.count = t + 1

    def posteriors(self, z: Floats) -> tuple[Floats, Floats, Floats]:
        """Return (kinds, E, n) means, (kinds, E, n) deviations and (kinds + 1, E, n) expected improvements.

        They are averages over the sets of each kind, and the last improvements over the sets of all kinds, weighted by
        marginal likelihood. The deviations are roots of mean variances, without the spread of the means. `z` are (E, t)
        observations with mean 0 and deviation 1.
        """
        t, counts = self.count, [*KINDS.values()]
        seen = (self._inverse[:, :, :t, :t] @ z[:, None, :, None].astype(np.float32))[..., 0]
        log = -0.5 * np.square(seen).sum(axis=2) - self._log_det
        mean, deviation = (seen[:, :, None] @ self._v[:, :, :t])[:, :, 0], np.sqrt(self._variance)
        gain = expected_improvement(mean.astype(np.float64), deviation, z.max(axis=1)[:, None, None] if t else 0.0)
        weights = np.exp(log - log.max(axis=1, keepdims=True))
        every = ((weights / weights.sum(axis=1, keepdims=True))[:, None] @ gain)[:, 0]
        weights = np.exp(log - np.repeat(np.maximum.reduceat(log, _STARTS, axis=1), counts, axis=1))
        weights /= np.repeat(np.add.reduceat(weights, _STARTS, axis=1), counts, axis=1)
        parts = (np.add.reduceat(weights[..., None] * part, _STARTS, axis=1) for part in (mean, self._variance, gain))
        first, second, third = (np.moveaxis(part, 1, 0) for part in parts)
        return first, np.sqrt(second), np.concatenate([third, every[None]])

    def typicality(self, valid: npt.NDArray[np.bool_]) -> Floats:
        """Return the (E, n) standardised mean correlations with at most 256 candidates in the (E, n) mask `valid`."""
        x = self._x / np.sqrt(1.0 / self._precision[:, 1].max(axis=1))[:, None, None]
        step = -(-x.shape[1] // 256)
        others, shown = x[:, ::step], valid[:, ::step]
        squares = np.einsum("end,end->en", x, x)[:, :, None] + np.einsum("end,end->en", others, others)[:, None]
        near = of_square_distances("matern52", np.maximum(squares - 2.0 * x @ np.swapaxes(others, 1, 2), 0.0))
        mean = (near * shown[:, None]).sum(axis=2) / shown.sum(axis=1, keepdims=True)
        count = valid.sum(axis=1, keepdims=True)
        apart = np.where(valid, mean - (mean * valid).sum(axis=1, keepdims=True) / count, 0.0)
        spread = np.sqrt(np.square(apart).sum(axis=1, keepdims=True) / count)
        return np.asarray(apart / np.maximum(spread, 1e-6))

"""Several Gaussian processes on one finite candidate set, weighted by their marginal likelihood; many episodes at once.

The learned optimiser's view of a problem. Its trainer runs hundreds of episodes side by side, its agent one: both run
this code.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hpo_envs.agents.models.kernels import of_square_distances

Floats = npt.NDArray[np.float64]
Indices = npt.NDArray[np.intp]

CONSTANT = 1.0
"""Prior variance of the unknown mean, in units of the standardised observations."""

STRENGTH = 1.0
"""Shape and scale of the inverse-gamma prior of each process's amplitude, as in `length_scales.Prior`."""

DROP_UP_TO = 8
"""Up to this many features there is one hypothesis for each of them that says it does not matter."""

FLOOR = 1e-10
"""Smallest variance and pivot: far above round-off, far below every noise."""


@dataclass(frozen=True)
class Family:
    """What tables with the same hyperparameters taught.

    Attributes:
        lengths: (d,) length-scales, the geometric mean over the tables.
        prior: (1 + d + d (d + 1) / 2,) coefficients of `basis` that predict the normal score of a candidate.
    """

    lengths: Floats
    prior: Floats

    def expectation(self, features: Floats) -> Floats:
        """(n,) prior expectation of each candidate, mean 0 and standard deviation 1 over the candidates."""
        raw = basis(features) @ self.prior
        deviation = raw.std()
        return (raw - raw.mean()) / deviation if deviation > FLOOR else np.zeros(len(raw))


def basis(features: Floats) -> Floats:
    """(n, 1 + d + d (d + 1) / 2) constant, centred features, their squares and products."""
    centred = features - 0.5
    i, j = np.triu_indices(features.shape[1])
    return np.concatenate([np.ones((len(features), 1)), centred, centred[:, i] * centred[:, j]], axis=1)


class Hypotheses:
    """Prior covariances: how smooth the reward is, what does not matter, what other tables say.

    Each is amplitude * Matern 5/2 with its own length-scales + CONSTANT + slope variance * expectation expectation',
    with mean slope * expectation. In order: short, long, and long length-scales with little noise; one without each
    feature and with little noise (up to `DROP_UP_TO` features), which exact ties speak for; the family's
    length-scales; the same around the family's expectation. The last two need a family.

    Args:
        features: (n, d) in [0, 1].
        family: What is known from other tables.

    Attributes:
        expectation: (n,) the family's expectation, zeros without one.
        noise: (G,) observation variances.
        slope: (G,) prior mean in units of the expectation.
        log_weight: (G,) logarithm of the prior weight.
        variance: (G, n) prior variances.
    """

    def __init__(self, features: Floats, family: Family | None) -> None:
        n, d = features.shape
        wide = np.sqrt(d / 6.0)  # distances grow with the root of the number of features
        rows = [(np.full(d, 0.5 * wide), 1e-2, 0.0), (np.full(d, 1.2 * wide), 1e-2, 0.0)]
        rows.append((np.full(d, 1.2 * wide), 1e-4, 0.0))
        for j in range(d if d <= DROP_UP_TO else 0):
            lengths = np.full(d, 0.8 * wide)
            lengths[j] = np.inf
            rows.append((lengths, 1e-4, -np.log(d)))
        if family is not None:
            rows += [(family.lengths, 1e-2, 0.0)] * 2
        self.features = features
        self.expectation = np.zeros(n) if family is None else family.expectation(features)
        self._weights = 1.0 / np.square(np.stack([lengths for lengths, _, _ in rows]))
        self.noise, self.log_weight = (np.array([row[c] for row in rows]) for c in (1, 2))
        count = len(rows)
        self._amplitude, self.slope, self._slope_variance = np.ones(count), np.zeros(count), np.zeros(count)
        if family is not None:
            self._amplitude[-1], self.slope[-1], self._slope_variance[-1] = 0.5, 0.7, 0.5
        self.variance = (self._amplitude + CONSTANT)[:, None] + np.outer(
            self._slope_variance, np.square(self.expectation)
        )

    def __len__(self) -> int:
        return len(self.noise)

    def column(self, k: int) -> Floats:
        """(G, n) prior covariance of candidate k with all."""
        r2 = self._weights @ np.square(self.features - self.features[k]).T
        smooth = self._amplitude[:, None] * of_square_distances("matern52", r2)
        return smooth + CONSTANT + np.outer(self._slope_variance * self.expectation[k], self.expectation)

    def gram(self) -> Floats:
        """(G, n, n) prior covariances, for trainers; n small."""
        return np.stack([self.column(k) for k in range(len(self.features))], axis=1)


class MixturePosterior:
    """Posteriors of all hypotheses in R episodes on the same candidates, exact after every observation.

    With L the Cholesky factor of the observed covariance plus noise, `_v` holds the rows of L^-1 K(observed, all) and
    `_inverse` L^-1; an observation appends a row to both. Observed values enter in `predict` alone, so they may be
    transformed anew at each step. One step costs O(R G t n).

    Args:
        hypotheses: The prior.
        episodes: R.
        capacity: Observations to make room for; more room is made as needed.
        gram: (G, n, n) prior covariances, where they are at hand.
    """

    def __init__(
        self, hypotheses: Hypotheses, episodes: int = 1, capacity: int = 16, gram: Floats | None = None
    ) -> None:
        h = self.hypotheses = hypotheses
        self.count, self._gram, self._episodes = 0, gram, np.arange(episodes)
        shape = (len(h), episodes, capacity)
        self._v, self._inverse = np.zeros((*shape, h.variance.shape[1])), np.zeros((*shape, capacity))
        self._log_det = np.zeros(shape[:2])
        self.variance = np.repeat(h.variance[:, None], episodes, axis=1)
        self.rows = np.zeros((episodes, capacity), np.intp)

    def observe(self, rows: Indices) -> None:
        """Conditions on one candidate of each episode, (R,)."""
        h, t, ar = self.hypotheses, self.count, self._episodes
        if t == self._v.shape[2]:
            self._grow()
        past = np.moveaxis(self._v[:, ar, :t, rows], 0, 1)
        if self._gram is None:
            column = np.stack([h.column(int(k)) for k in rows], axis=1)
        else:
            column = self._gram[:, rows]
        own = h.variance[:, rows] + h.noise[:, None] - np.square(past).sum(axis=2)
        d = np.sqrt(np.maximum(own, FLOOR))
        row = (column - (past[:, :, None] @ self._v[:, :, :t])[:, :, 0]) / d[:, :, None]
        self._v[:, :, t] = row
        self._inverse[:, :, t, :t] = -(past[:, :, None] @ self._inverse[:, :, :t, :t])[:, :, 0] / d[:, :, None]
        self._inverse[:, :, t, t] = 1.0 / d
        self._log_det += np.log(d)
        self.variance = np.maximum(self.variance - row * row, FLOOR)
        self.rows[:, t] = rows
        self.count = t + 1

    def mark(self) -> tuple[int, Floats, Floats]:
        """What `undo` goes back to."""
        return self.count, self.variance.copy(), self._log_det.copy()

    def undo(self, mark: tuple[int, Floats, Floats]) -> None:
        """Forgets what was observed since a mark."""
        self.count, self.variance, self._log_det = mark

    def predict(self, z: Floats) -> tuple[Floats, Floats, Floats]:
        """Means, variances and weights of the hypotheses.

        Args:
            z: (R, t) standardised observations, in order.

        Returns:
            Means (G, R, n), variances (G, R, n) with each amplitude at its most probable value, weights (G, R).
        """
        h, t = self.hypotheses, self.count
        residual = z - h.slope[:, None, None] * h.expectation[self.rows[:, :t]]
        alpha = (self._inverse[:, :, :t, :t] @ residual[..., None])[..., 0]
        means = (alpha[:, :, None] @ self._v[:, :, :t])[:, :, 0]
        means += (h.slope[:, None] * h.expectation)[:, None]
        scale, shape = 0.5 * np.square(alpha).sum(axis=2) + STRENGTH, 0.5 * t + STRENGTH
        log = h.log_weight[:, None] - self._log_det - shape * np.log(scale)
        weights = np.exp(log - log.max(axis=0))
        return means, self.variance * (scale / shape)[:, :, None], weights / weights.sum(axis=0)

    def _grow(self) -> None:
        t = self._v.shape[2]
        wide = ((0, 0), (0, 0), (0, t))
        self._v = np.pad(self._v, (*wide, (0, 0)))
        self._inverse = np.pad(self._inverse, (*wide, (0, t)))
        self.rows = np.pad(self.rows, ((0, 0), (0, t)))

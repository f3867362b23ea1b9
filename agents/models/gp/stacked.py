"""Gaussian processes around the predictions of source tasks: weights of sources, cut of the lower tail, log EI.

This is the model of the agent `learned`: training computes it for thousands of episodes at once, the agent for one.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hpo_envs.agents.models import Floats, Indices
from hpo_envs.agents.models.acquisition import expected_improvement
from hpo_envs.agents.models.gp.kernels import of_square_distances

LENGTHS = 4
"""Number of sets of length-scales, which are weighted by marginal likelihood; see `length_scales`."""

START = {
    "log matern": -0.7, "log constant": 1.4, "log expectation": -1.4, "log deviations": -0.7, "log noise": -4.0,
    "slope": 1.0, "similarity": 0.0, **{f"log weight {g}": 0.0 for g in range(LENGTHS)}, "log strength": 0.0,
    "log deviation": 0.0, "log deviation, early": 0.0, "incumbent": 0.0, "incumbent, early": 0.0,
}  # fmt: skip
"""Hyperparameters of the model before any training, by name; see `StackedGP`."""

TAIL = 1.5
"""Observations are raised to at least the median minus this many times the distance from the median to the best one: a
failed training says little about the best ones, and would dominate the scale."""

FLOOR = 1e-10
"""Smallest variance and squared pivot: far above round-off, far below every noise."""


def length_scales(width: int, fitted: Floats | None) -> Floats:
    """Return (LENGTHS, width) length-scales: short, long, fitted to other tables, and half of the fitted ones.

    Without `fitted` ones (None), medium ones replace them. All but `fitted` ones grow with the root of `width`.
    """
    unit = np.full(width, np.sqrt(width / 6.0))
    fitted = 0.8 * unit if fitted is None else fitted
    return np.stack([0.5 * unit, 1.2 * unit, fitted, 0.5 * fitted])


def correlations(features: Floats, k: int, lengths: Floats) -> Floats:
    """Return the (LENGTHS, n) Matern 5/2 correlations of candidate k with all of (n, d) features in [0, 1]."""
    return of_square_distances("matern52", (1.0 / np.square(lengths)) @ np.square(features - features[k]).T)


def scaled(values: Floats) -> Floats:
    """Return (..., n) values scaled to mean 0 and deviation 1 along the last axis; zeros where all are equal."""
    spread = values.std(axis=-1, keepdims=True)
    return np.asarray((values - values.mean(axis=-1, keepdims=True)) / np.where(spread > 1e-9, spread, np.inf))


def robust(y: Floats) -> Floats:
    """Return (..., t) observations with the lower tail along the last axis raised to a bound, see `TAIL`."""
    ordered, t = np.sort(y, axis=-1), y.shape[-1]  # several times faster than `np.median` of short rows
    median = 0.5 * (ordered[..., (t - 1) // 2, None] + ordered[..., t // 2, None])
    lead = ordered[..., -1:] - median
    return np.asarray(np.where(lead > 0.0, np.maximum(y, median - TAIL * lead), y))


@dataclass(frozen=True)
class Tables:
    """Predictions of J source tasks for the candidates of E episodes.

    Attributes:
        predictions: (E, J, n) predictions, those of a task with mean 0 and deviation 1 over an episode's candidates.
        distances: (E, J) distances of the source tasks from the candidates, see `distance`.
        used: (E, J) mask of the source tasks of each episode.
        valid: (E, n) mask of the candidates of each episode.
    """

    predictions: Floats
    distances: Floats
    used: npt.NDArray[np.bool_]
    valid: npt.NDArray[np.bool_]

    def expected(self, similarity: Floats) -> tuple[Floats, Floats]:
        """Return the weighted mean of the predictions, and the deviations of each task's predictions from it.

        Args:
            similarity: (P,) factors s of P models: the weight of a task is proportional to exp(-s * distance).

        Returns:
            (P, E, n) weighted means, scaled to mean 0 and deviation 1 over an episode's candidates; (P, E, J, n)
            deviations of each task's predictions from the unscaled mean, times the root of the task's weight.
        """
        score = np.where(self.used, -similarity[:, None, None] * self.distances, -np.inf)
        score -= np.maximum(score.max(axis=2, keepdims=True, initial=-1e300), -1e299)
        weights = np.exp(score)
        weights /= np.maximum(weights.sum(axis=2, keepdims=True), FLOOR)
        share = self.valid / self.valid.sum(axis=1, keepdims=True)
        raw = (weights[:, :, None] @ self.predictions)[:, :, 0]
        raw = np.where(self.valid, raw - (raw * share).sum(axis=2, keepdims=True), 0.0)
        spread = np.sqrt((np.square(raw) * share).sum(axis=2, keepdims=True))
        apart = np.where(self.valid[:, None], self.predictions - raw[:, :, None], 0.0)
        return raw / np.where(spread > FLOOR, spread, 1.0), apart * np.sqrt(weights)[..., None]


def distance(source: Floats, features: Floats) -> float:
    """Return the distance of (t, d) features of a source from (n, d) ones, by each feature's mean and deviation."""
    means, spreads = source.mean(axis=0) - features.mean(axis=0), source.std(axis=0) - features.std(axis=0)
    return float(np.sqrt(np.mean(np.square(means) + np.square(spreads))))


class StackedGP:
    """Exact posteriors of P models in each of E episodes.

    In units in which other tables' results have mean 0 and deviation 1 over the candidates, the reward of x is

        u(x) ~ GP(slope m(x), matern M_g(x, x') + constant + expectation m(x) m(x') + deviations sum_j d_j(x) d_j(x'))

    plus noise, with m and d_j of `Tables.expected` and M_g the Matern 5/2 correlations with one of `LENGTHS` sets of
    length-scales. Standardised observations are u / q plus a constant: each set's most probable scale q, under the
    prior q^(2 strength) exp(-strength q^2), has a closed form. Sets are weighted by likelihood and prior weights.

    With L the Cholesky factor of the observed covariance plus noise, `_v` holds the rows of L^-1 K(observed, all) and
    `_inverse` L^-1; an observation appends a row to both. `observe` needs no values, since they are standardised
    again at each prediction. One step costs O(P E LENGTHS t n).

    Args:
        numbers: (P, len(START)) hyperparameters of each model, in the order of `START`.
        tables: Predictions of source tasks.
        columns: `columns(rows)` returns (P, E, LENGTHS, n) correlations of (P, E) candidates with all candidates.
        capacity: Number of observations for which memory is reserved; it grows as needed.

    Attributes:
        count: Number of observations so far.
        rows: (P, E, capacity) candidates observed, in order.
        expected: (P, E, n) mean m predicted from the tables.
        variance: (P, E, LENGTHS, n) posterior variances of u.
    """

    def __init__(
        self, numbers: Floats, tables: Tables, columns: Callable[[Indices], Floats], capacity: int = 16
    ) -> None:
        (e, n), p = tables.valid.shape, len(numbers)
        self._columns, self.count = columns, 0
        # Numbers as (P, 1, 1, 1), to be multiplied with (P, E, LENGTHS, n).
        self._numbers = dict(zip(START, np.asarray(numbers, float).T[..., None, None, None], strict=True))
        self.expected, self._deviations = tables.expected(self._numbers["similarity"].ravel())
        self._mean = self._numbers["slope"][..., 0] * self.expected
        spread = np.square(self._deviations).sum(axis=2)
        self._variance = self._covariance(np.ones(1), np.square(self.expected)[:, :, None], spread[:, :, None])
        self.variance = np.repeat(self._variance, LENGTHS, axis=2)
        self._v, self._inverse = np.zeros((p, e, LENGTHS, capacity, n)), np.zeros((p, e, LENGTHS, capacity, capacity))
        self._log_det = np.zeros((p, e, LENGTHS))
        self.rows = np.zeros((p, e, capacity), np.intp)
        self._p, self._e = np.indices((p, e))

    def _covariance(self, matern: Floats, expectation: Floats, deviations: Floats) -> Floats:
        names = ("log expectation", "log deviations", "log constant", "log matern")
        a, b, c, d = (np.exp(self._numbers[name]) for name in names)
        return np.asarray(a * expectation + b * deviations + c + d * matern)

    def observe(self, rows: Indices) -> None:
        """Condition each model on one candidate in each episode, given by (P, E) `rows`."""
        t, p, e = self.count, self._p, self._e
        if t == self._v.shape[3]:
            self._v = np.concatenate([self._v, np.zeros_like(self._v)], axis=3)
            self._inverse = np.pad(self._inverse, ((0, 0), (0, 0), (0, 0), (0, t), (0, t)))
            self.rows = np.pad(self.rows, ((0, 0), (0, 0), (0, t)))
        m, d = self.expected, self._deviations
        shared = d[p, e, :, rows][:, :, None] @ d
        column = self._covariance(self._columns(rows), (m[p, e, rows][..., None] * m)[:, :, None], shared)
        past = self._v[p, e, :, :t, rows]
        own = self._variance[p, e, :, rows] + np.exp(self._numbers["log noise"][..., 0]) - np.square(past).sum(axis=3)
        pivot = np.sqrt(np.maximum(own, FLOOR))
        row = (column - (past[..., None, :] @ self._v[..., :t, :])[..., 0, :]) / pivot[..., None]
        self._v[..., t, :] = row
        self._inverse[..., t, :t] = -(past[..., None, :] @ self._inverse[..., :t, :t])[..., 0, :] / pivot[..., None]
        self._inverse[..., t, t] = 1.0 / pivot
        self._log_det += np.log(pivot)
        self.variance = np.maximum(self.variance - row * row, FLOOR)
        self.rows[..., t] = rows
        self.count = t + 1

    def mark(self) -> tuple[int, Floats, Floats]:
        """Return a snapshot for `undo`."""
        return self.count, self.variance.copy(), self._log_det.copy()

    def undo(self, mark: tuple[int, Floats, Floats]) -> None:
        """Undo all observations since a snapshot."""
        self.count, self.variance, self._log_det = mark

    def predict(self, y: Floats) -> tuple[Floats, Floats, Floats, Floats]:
        """Return means of u, scales and weights, and incumbents, given (P, E, t) observations in order, in any unit.

        Returns:
            (P, E, LENGTHS, n) means, (P, E, LENGTHS) scales q, (P, E, LENGTHS) weights, and (P, E, LENGTHS) best
            observations on the scale of the means.
        """
        t, z = self.count, standardised(y)
        inverse, strength = self._inverse[..., :t, :t], np.exp(self._numbers["log strength"][..., 0])
        mean = np.take_along_axis(self._mean, self.rows[..., :t], axis=2)
        seen = (inverse @ z[:, :, None, :, None])[..., 0]
        prior = (inverse @ mean[:, :, None, :, None])[..., 0]
        # log p(z | q) = (t + 2 strength) log q - |q seen - prior|^2 / 2 - strength q^2, at its maximum.
        a, b, count = np.square(seen).sum(axis=3) + 2.0 * strength, (seen * prior).sum(axis=3), t + 2.0 * strength
        q = (b + np.sqrt(b * b + 4.0 * count * a)) / (2.0 * a)
        residual = q[..., None] * seen - prior
        log = count * np.log(q) - 0.5 * np.square(residual).sum(axis=3) - strength * q * q - self._log_det
        log += np.concatenate([self._numbers[f"log weight {g}"][..., 0] for g in range(LENGTHS)], axis=2)
        weights = np.exp(log - log.max(axis=2, keepdims=True))
        means = (residual[..., None, :] @ self._v[..., :t, :])[..., 0, :] + self._mean[:, :, None]
        return means, q, weights / weights.sum(axis=2, keepdims=True), q * z.max(axis=2, keepdims=True)

    def log_improvement(self, y: Floats, left: Floats | float) -> Floats:
        """Return the (P, E, n) logarithms of expected improvements, given (P, E, t) observations in order, in any unit.

        Deviations are multiplied by exp("log deviation" + left * "log deviation, early"), the incumbent is raised by
        "incumbent" + left * "incumbent, early"; `left` is the fraction of the budget left, (E,) or one number.
        """
        means, q, weights, best = self.predict(y)
        early, at = np.broadcast_to(left, self.expected.shape[1])[:, None, None], self._numbers
        deviation = np.sqrt(self.variance) * np.exp(at["log deviation"] + at["log deviation, early"] * early)
        gap = means - best[..., None] - at["incumbent"] - at["incumbent, early"] * early
        gain = expected_improvement(gap, deviation, 0.0) / q[..., None]
        return np.asarray(np.log(np.maximum((weights[..., None] * gain).sum(axis=2), 1e-300)))

    def expected_rewards(self, y: Floats) -> Floats:
        """Return the (P, E, n) expected rewards in the unit of `y`, the (P, E, t) observations in order."""
        means, q, weights, best = self.predict(y)
        cut = robust(y)
        above = ((means - best[..., None]) / q[..., None] * weights[..., None]).sum(axis=2)
        return np.asarray(cut.max(axis=2, keepdims=True) + above * cut.std(axis=2, keepdims=True))


def standardised(y: Floats) -> Floats:
    """Return `robust` (..., t) observations scaled to mean 0 and deviation 1; zeros where all are equal."""
    cut = robust(y)
    apart = cut - cut.mean(axis=-1, keepdims=True)
    deviation = np.sqrt(np.square(apart).mean(axis=-1, keepdims=True))
    # Where all are equal, the deviation is round-off, and must not be a divisor.
    floor = 1e-9 * np.maximum(1.0, np.abs(y).max(axis=-1, keepdims=True))
    return np.asarray(apart / np.where(deviation > floor, deviation, 1.0))

"""The learned acquisition function: what it sees of a candidate, and the network that scores it."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from hpo_envs.agents.models.acquisition import expected_improvement
from hpo_envs.agents.models.mixture import FLOOR, MixturePosterior

Floats = npt.NDArray[np.float64]

INPUTS = (
    "advantage",
    "deviation",
    "advantage over deviation",
    "expected improvement",
    "rank of the mean",
    "expectation",
    "rank of the expectation",
    "trusted expectation",
    "covered expectation",
    "trust",
    "unexplained",
    "budget left",
    "early",
)
"""Inputs of the network for each candidate; `inputs` defines them."""

HIDDEN = 4
"""Hidden units."""

SIZE = len(INPUTS) * HIDDEN + HIDDEN + HIDDEN + len(INPUTS)
"""Weights: first layer, its biases, second layer, skip connection."""

COVERED = 5.0
"""A budget for a fifth of the candidates or more counts as enough to work through what other tables recommend."""

TAIL = 1.5
"""Observations further below the median than this many times the best's lead over it are moved up to there: a
training that failed says little about the best ones, and would set the scale."""


def standardised(y: Floats) -> Floats:
    """(R, t) observations with their lower tail cut (`TAIL`), mean 0 and standard deviation 1 in each episode."""
    median = np.median(y, axis=1, keepdims=True)
    lead = y.max(axis=1, keepdims=True) - median
    cut = np.where(lead > 0.0, np.maximum(y, median - TAIL * lead), y)
    deviation = cut.std(axis=1, keepdims=True)
    # Means of equal numbers leave round-off, which must not be blown up.
    floor = 1e-9 * np.maximum(1.0, np.abs(y).max(axis=1, keepdims=True))
    return np.asarray((cut - cut.mean(axis=1, keepdims=True)) / np.where(deviation > floor, deviation, 1.0))


def inputs(
    posterior: MixturePosterior, y: Floats, free: npt.NDArray[np.bool_], left: Floats, evaluations: float
) -> Floats:
    """What the network sees of each candidate.

    Args:
        posterior: After t >= 1 observations in each of R episodes.
        y: (R, t) rewards observed, in order.
        free: (R, n) candidates that may be chosen.
        left: (R,) share of the budget left.
        evaluations: How many evaluations the whole budget pays for.

    Returns:
        (R, n, len(INPUTS)): the mixture's mean minus the best so far; its deviation; their quotient, cut at 6 and
        divided by 3; expected improvement relative to the largest among the free candidates; the logarithmic rank of
        the mean among the free ones (0 = best, 1 = last); the family's expectation and its rank; the expectation
        times the weight of the hypothesis around it; the expectation times min(1, COVERED * evaluations / n), because
        a short list can be worked through and a long one cannot; that weight; the share of the prior variance that is
        left; and, equal for all candidates, the share of the budget left and exp(-t / 3).
    """
    z = standardised(y)
    means, variances, weights = posterior.predict(z)
    w = weights[:, :, None]
    mean = (w * means).sum(axis=0)
    variance = (w * (variances + np.square(means))).sum(axis=0) - np.square(mean)
    deviation = np.sqrt(np.maximum(variance, FLOOR))
    advantage = mean - z.max(axis=1, keepdims=True)
    u = np.clip(advantage / deviation, -6.0, 6.0)
    gain = deviation * expected_improvement(u, 1.0, 0.0)
    top = np.where(free, gain, 0.0).max(axis=1, keepdims=True)
    h = posterior.hypotheses
    expectation = np.broadcast_to(h.expectation, mean.shape)
    told = bool(h.slope[-1])
    trust = np.broadcast_to(weights[-1][:, None] if told else 0.0, mean.shape)
    unexplained = (w * (posterior.variance / h.variance[:, None])).sum(axis=0)
    columns = [advantage, deviation, u / 3.0, gain / np.maximum(top, FLOOR), log_ranks(mean, free), expectation]
    columns += [log_ranks(expectation, free) if told else np.zeros_like(mean)]
    columns += [trust * expectation, expectation * min(1.0, COVERED * evaluations / mean.shape[1]), trust]
    columns += [unexplained, np.broadcast_to(left[:, None], mean.shape)]
    columns.append(np.full_like(mean, np.exp(-posterior.count / 3.0)))
    return np.stack(columns, axis=-1)


def score(x: Floats, weights: Floats) -> Floats:
    """Scores of candidates by P networks, each on its own episodes.

    Args:
        x: (P * B, n, len(INPUTS)).
        weights: (P, SIZE).

    Returns:
        (P * B, n).
    """
    p, (r, n, d) = len(weights), x.shape
    first, bias, second, skip = np.split(weights, np.cumsum([d * HIDDEN, HIDDEN, HIDDEN]), axis=1)
    flat = x.reshape(p, -1, d)
    hidden = np.maximum(flat @ first.reshape(p, d, HIDDEN) + bias[:, None], 0.0)
    out = hidden @ second[:, :, None] + flat @ skip[:, :, None]
    return np.asarray(out.reshape(r, n))


def log_ranks(values: Floats, free: npt.NDArray[np.bool_]) -> Floats:
    """(R, n) log(rank) / log(n + 1), ranks from 1 = highest among the free candidates; the others come last."""
    order = np.argsort(np.where(free, -values, np.inf), axis=1, kind="stable")
    n = values.shape[1]
    scale = np.log1p(np.arange(n)) / np.log(n + 1.0)
    ranks = np.empty_like(values)
    np.put_along_axis(ranks, order, np.broadcast_to(scale, values.shape), axis=1)
    return ranks

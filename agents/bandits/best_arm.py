"""The belief pi: the probability that each arm is the best, given the scores so far.

Moss et al. 2019, section 4.2: with a uniform prior on mean and standard deviation of Gaussian scores, the mean of an
arm that was evaluated T times has a Student-t posterior with T - 2 degrees of freedom, centred on the sample mean,
with scale sqrt(S / (T (T - 2))), S being the sum of squared deviations (Honda and Takemura 2014). pi_m is the
probability that arm m's mean is the largest of independent draws from these posteriors,

    pi_m = integral of f_m(x) * product over j != m of F_j(x) dx.

The paper draws samples; `hpo_envs.agents.bandits.quadrature` computes the integral.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from hpo_envs.agents.bandits.quadrature import RULES, ArmPosteriors, Quadrature
from hpo_envs.agents.base import whole
from hpo_envs.agents.models import Floats

MINIMUM = 3
"""Number of evaluations of each arm that the posterior needs (section 4.2, footnote 3)."""

SMALLEST_SCALE = 1e-9
"""Smallest scale of a posterior, relative to the range of the means, the largest scale or a millionth of the largest
mean in size, whichever is largest; needed for equal scores."""

LARGEST = 1e150
"""Largest absolute value of a score, whose square is still a number."""


def posterior(counts: npt.ArrayLike, means: npt.ArrayLike, squares: npt.ArrayLike) -> ArmPosteriors:
    """Return the posteriors of the arms' means, given sufficient statistics.

    Args:
        counts: (n,) evaluations of each arm, at least 3.
        means: (n,) sample means.
        squares: (n,) sums of squared deviations from the sample mean. Where one is 0 (equal scores), the posterior has
            a tiny scale, see `SMALLEST_SCALE`, so that pi is defined: tied arms share it.

    Raises:
        ValueError: Fewer than two arms, other shapes, fewer than three evaluations of an arm, NaN or infinite
            `means` or `squares`, or negative `squares`.
    """
    t, m, s = (np.asarray(a, dtype=np.float64) for a in (counts, means, squares))
    if t.ndim != 1 or len(t) < 2 or t.shape != m.shape or t.shape != s.shape:
        raise ValueError(
            f"counts, means and squares must be (n,) with n >= 2 models, got {t.shape}, {m.shape}, {s.shape}"
        )
    if not (np.isfinite(t) & (t >= MINIMUM)).all():
        raise ValueError(f"each model must have at least {MINIMUM} evaluations, got {t.tolist()}")
    if not (np.isfinite(m).all() and np.isfinite(s).all() and (s >= 0).all()):
        raise ValueError(f"means and squares must be finite and squares >= 0, got {m.tolist()}, {s.tolist()}")
    scale = np.sqrt(s / (t * (t - 2.0)))
    low, high = float(np.minimum.reduce(m)), float(np.maximum.reduce(m))
    widest = max(high - low, float(np.maximum.reduce(scale)), 1e-6 * max(abs(low), abs(high)))
    if widest < 1e-140:  # all scores are 0, or have no squares: any unit will do
        widest = 1.0
    return ArmPosteriors(m, np.maximum(scale, SMALLEST_SCALE * widest), t - 2.0)


def best_probability(p: ArmPosteriors) -> Floats:
    """Return the (n,) probabilities that each arm is the best; they sum to 1, with errors of at most 1e-6."""
    return Quadrature(p, RULES["exact"]).pi


class Belief:
    """Statistics of the scores of each arm, and pi, computed from the statistics by the quadrature rule `fast`.

    Each arm's density and distribution function are kept at the nodes, so that a new score only updates one row; the
    nodes are replaced when they are no longer accurate, or if more than half of the arms have new scores.

    Args:
        arms: Number of arms, >= 2.

    Attributes:
        counts: (arms,) evaluations of each arm.
        means: (arms,) sample means.
        squares: (arms,) sums of squared deviations.
    """

    def __init__(self, arms: int) -> None:
        whole("arms", arms, 2)
        self.counts = np.zeros(arms)
        self.means = np.zeros(arms)
        self.squares = np.zeros(arms)
        self._quadrature: Quadrature | None = None
        self._changed: set[int] = set()
        self._pi: Floats | None = None

    def add(self, arm: int, score: float) -> None:
        """Add a score of an arm.

        Raises:
            ValueError: The score is NaN or beyond `LARGEST` in size.
        """
        if not abs(score) <= LARGEST:
            raise ValueError(f"score must be in [-1e150, 1e150], got {score!r} for model {arm}")
        n = self.counts[arm] = self.counts[arm] + 1.0
        delta = score - self.means[arm]
        self.means[arm] += delta / n
        self.squares[arm] += delta * (score - self.means[arm])
        self._changed.add(int(arm))
        self._pi = None

    @property
    def ready(self) -> bool:
        """Whether every arm has the three evaluations that the posterior needs."""
        return bool(self.counts.min() >= MINIMUM)

    def posterior(self) -> ArmPosteriors:
        """Return the posteriors of the arms' means; raise ValueError unless `ready`."""
        return posterior(self.counts, self.means, self.squares)

    @property
    def pi(self) -> Floats:
        """(arms,) probability that each arm is the best.

        Raises:
            ValueError: An arm has fewer than three evaluations.
        """
        if self._pi is None:
            p, q = self.posterior(), self._quadrature
            # More than half of the rows changed: fresh nodes cost the same and fit better.
            if q is None or 2 * len(self._changed) > len(self.counts) or not q.update(p, sorted(self._changed)):
                q = self._quadrature = Quadrature(p, RULES["fast"])
            self._changed.clear()
            self._pi = q.pi
        return self._pi

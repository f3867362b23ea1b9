"""Generalised log-likelihood ratio of "the arm with the best mean is the best arm", and transportation costs."""

import numpy as np

from hpo_envs.agents.bandits.best_arm import Belief
from hpo_envs.agents.models import Floats


def likelihood_ratio(belief: Belief) -> float:
    """Return the generalised log-likelihood ratio of "the arm with the best mean is the best arm" for Gaussian arms.

    It is the smallest transportation cost from the arm with the best mean.
    """
    return float(transport(belief, int(belief.means.argmax())).min())


def transport(belief: Belief, leader: int) -> Floats:
    """Return the (arms,) transportation costs: the evidence against each arm being at least as good as the leader.

    That of arm j is min over u of sum over k in {leader, j} of T_k / 2 * log(1 + (mean_k - u)^2 / variance_k), with
    variances by maximum likelihood (Jourdan, Degenne and Kaufmann 2023, "Dealing with unknown variances in best-arm
    identification"); 0 if its mean is at least the leader's, and infinite for the leader itself. The minimum is taken
    on a grid between the two means, then on a finer one around the best node.
    """
    counts, means = belief.counts, belief.means
    # The last term keeps the square above 0 where all scores are 0.
    floor = (1e-9 * max(float(np.ptp(means)), 1e-6 * float(np.abs(means).max()), 1e-140)) ** 2
    variances = np.maximum(belief.squares / counts, floor)

    def cost(u: Floats) -> Floats:
        own = np.log1p((means[:, None] - u) ** 2 / variances[:, None]) * counts[:, None]
        theirs = np.log1p((means[leader] - u) ** 2 / variances[leader]) * counts[leader]
        return np.asarray(0.5 * (own + theirs))

    grid = np.linspace(0.0, 1.0, 33)
    gap = np.maximum(means[leader] - means, 0.0)
    first = cost(means[:, None] + gap[:, None] * grid).argmin(axis=1)
    fine = (first[:, None] + np.linspace(-1.0, 1.0, 65)) / 32.0  # never lower outside of the two means
    out: Floats = cost(means[:, None] + gap[:, None] * fine).min(axis=1)
    return np.where(np.arange(len(means)) == leader, np.inf, np.where(gap > 0.0, out, 0.0))

"""Track-and-Stop, and the optimal proportions of evaluations that it tracks."""

from __future__ import annotations

from typing import Any

import numpy as np

from hpo_envs.agents.bandits.base import ConfidentAgent
from hpo_envs.agents.models import Floats
from hpo_envs.agents.problem import Problem


class TrackAndStop(ConfidentAgent):
    """Track-and-Stop with D-tracking (Garivier and Kaufmann 2016).

    Evaluates arms in the proportions that are optimal for Gaussian arms with the current means and variances; arms with
    fewer than sqrt(t) - n/2 evaluations come first. Stops by the generalised likelihood ratio with unknown variances.

    Formula:
        w = argmax over proportions of min_{j != best} gap_j^2 / (2 (var_best / w_best + var_j / w_j))
        evaluate argmin_m T_m if min T_m < sqrt(t) - n / 2, else argmax_m (t w_m - T_m)
        stop when GLR > log((1 + log t) / delta)

    Paper: Aurelien Garivier and Emilie Kaufmann. Optimal Best Arm Identification with Fixed Confidence. COLT 2016.
    Unknown variances: Marc Jourdan, Remy Degenne and Emilie Kaufmann. Dealing with Unknown Variances in Best-Arm
    Identification. ALT 2023.

    Complexity: O(arms) a suggestion: a bisection of 60 steps, and the likelihood ratio on a fixed grid.

    Example:
        from hpo_envs import run
        runs = run("track-and-stop", "FIESTA-tdsa8-v0", seeds=range(3), confidence=0.9)
        [len(r.rewards) for r in runs]  # evaluations until confident

    Args:
        stopping: `glr` (the rule above) or `pi`.
        **options: See `hpo_envs.agents.bandits.base.ConfidentAgent`.
    """

    def __init__(self, problem: Problem, seed: int, *, stopping: str = "glr", **options: Any) -> None:
        super().__init__(problem, seed, stopping=stopping, **options)

    def sample(self) -> int:
        """Return the least evaluated arm if it is undersampled, else the arm furthest behind its optimal proportion."""
        counts = self.belief.counts
        t = float(counts.sum())
        if counts.min() < np.sqrt(t) - self.arms / 2.0:
            return int(counts.argmin())
        p = self.belief.posterior()
        weights = optimal_weights(self.belief.means, p.scale**2 * (counts - 2.0))
        return int((t * weights - counts).argmax())


def optimal_weights(means: Floats, variances: Floats) -> Floats:
    """Return the optimal proportions of evaluations for identifying the best Gaussian arm.

    Maximises min over j of (gap_j^2 / 2) / (variance_1 / w_1 + variance_j / w_j). At the optimum all of these equal
    some y, and sum over j of (variance_1 / w_1^2) / (variance_j / w_j^2) = 1 (Garivier and Kaufmann 2016, Theorem 5,
    with unequal variances); y is found by bisection with w_1 = 1.

    Args:
        means: (n,) means; gaps to the best below a millionth of the range count as that.
        variances: (n,) variances, > 0.

    Returns:
        (n,) float64 >= 0, summing to 1.
    """
    best = int(means.argmax())
    others = np.arange(len(means)) != best
    spread = max(float(np.ptp(means)), 1e-300)
    gap2 = np.maximum(means[best] - means[others], 1e-6 * spread) ** 2
    v1, v = float(variances[best]), variances[others]
    low, high = 0.0, float(gap2.min() / (2.0 * v1))
    x = v / v1
    for _ in range(60):
        y = 0.5 * (low + high)
        if y <= 0.0:
            break
        room = gap2 / (2.0 * y) - v1
        if room.min() <= 0.0:
            high = y
            continue
        x = v / room
        # The sum grows with y: more on the others relative to the best.
        low, high = (y, high) if float((v1 * x * x / v).sum()) < 1.0 else (low, y)
    weights = np.empty(len(means))
    weights[best], weights[others] = 1.0, x
    return np.asarray(weights / weights.sum())

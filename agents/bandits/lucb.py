"""Lower and upper confidence bounds (LUCB): widths of the intervals, arms of a round, stopping rule."""

from __future__ import annotations

from typing import Any

import numpy as np

from hpo_envs.agents.bandits.base import ConfidentAgent
from hpo_envs.agents.models import Floats
from hpo_envs.agents.problem import Problem


class LUCB(ConfidentAgent):
    """LUCB1 (Kalyanakrishnan, Tewari, Auer and Stone 2012).

    Each round evaluates the arm with the best mean and, among the others, the one with the highest upper bound; it
    stops when the lower bound of the first is above the upper bound of the second. Bounds are Student-t intervals of
    level 4 delta / (5 n t^4) (the paper's failure rate k1 = 5/4, for bounded rewards by Hoeffding's inequality,
    which is too wide to be useful for scores in [0, 1]).

    Formula:
        width_m = t_{T_m - 1, 1 - q} sd_m / sqrt(T_m), q = 4 delta / (5 n t^4)
        I = argmax_m mean_m; J = argmax_{m != I} mean_m + width_m; evaluate both
        stop when mean_I - width_I > mean_J + width_J

    Paper: Shivaram Kalyanakrishnan, Ambuj Tewari, Peter Auer and Peter Stone. PAC Subset Selection in Stochastic
    Multi-armed Bandits. ICML 2012.

    Complexity: O(arms) a suggestion.

    Example:
        from hpo_envs import run
        runs = run("lucb", "FIESTA-tdsa8-v0", seeds=range(3), stopping="bounds")
        [len(r.rewards) for r in runs]  # evaluations until confident

    Args:
        stopping: `bounds` (the rule above), `pi` or `glr`.
        **options: See `hpo_envs.agents.bandits.base.ConfidentAgent`.

    Raises:
        ValueError: An argument is out of its range.
    """

    rules = ("bounds", "pi", "glr")

    def __init__(self, problem: Problem, seed: int, *, stopping: str = "bounds", **options: Any) -> None:
        super().__init__(problem, seed, stopping=stopping, **options)

    def half_widths(self) -> Floats:
        """Return the (arms,) half widths of the intervals around the means; if `confidence` is None, delta is 0.05."""
        from scipy.special import stdtrit

        counts = self.belief.counts
        delta = 0.05 if self.confidence is None else 1.0 - self.confidence
        level = 4.0 * delta / (5.0 * self.arms * float(counts.sum()) ** 4)
        deviation = np.sqrt(self.belief.squares / (counts - 1.0))
        return np.asarray(-stdtrit(counts - 1.0, level) * deviation / np.sqrt(counts))

    def pair(self) -> tuple[int, int]:
        """Return the arm with the best mean, and the arm with the highest upper bound among the others."""
        first = self.best_mean()
        upper = self.belief.means + self.half_widths()
        upper[first] = -np.inf
        return first, int(upper.argmax())

    def sample(self) -> int:
        """Return the first arm of a new round, and queue the second."""
        first, second = self.pair()
        self._queue.append(second)
        return first

    def stops(self) -> bool:
        """Return whether the stopping rule holds; always False if `confidence` is None.

        For `bounds`, the interval of the best mean must lie above that of the other arm of `pair`.
        """
        if self.stopping != "bounds" or self.confidence is None:
            return super().stops()
        width = self.half_widths()
        first, second = self.pair()
        return bool(self.belief.means[first] - width[first] > self.belief.means[second] + width[second])

"""Pure functions of finished selections: summaries and verdicts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hpo_envs.benchmarks.papers.common import Verdict, judge


@dataclass(frozen=True)
class Selections:
    """Model selections of one agent.

    Attributes:
        evaluations: (k,) evaluations that each run spent.
        right: (k,) bool, whether the run selected the best arm.
    """

    evaluations: npt.NDArray[np.int64]
    right: npt.NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.right)

    def summary(self) -> dict[str, tuple[float, float]]:
        """Value and standard error (NaN if there is none) of `min`, `mean`, `max` and `correct` (per cent)."""
        n, x, p = len(self), self.evaluations, float(self.right.mean())
        spread = float(x.std(ddof=1)) if n > 1 else 0.0
        return {
            "min": (float(x.min()), float("nan")),
            "mean": (float(x.mean()), spread / n**0.5),
            "max": (float(x.max()), float("nan")),
            "correct": (100.0 * p, 100.0 * (p * (1.0 - p) / n) ** 0.5),
        }


def verdict(quantity: str, ours: float, error: float, published: float, n: int, published_n: int) -> Verdict:
    """Return whether a published number and ours are the same but for chance.

    The published number's own standard error is taken to be ours, scaled to its number of runs. Extremes of a
    few hundred runs have no such error: they are reported without a verdict.

    Args:
        quantity: `mean`, `correct`, `min` or `max`.
        ours: Our value.
        error: Its standard error.
        published: The paper's value, rounded to a whole number there.
        n: Our runs.
        published_n: The paper's runs.

    Returns:
        `agrees` (within three standard errors of the difference, plus the rounding), `differs`, or `reported`.
    """
    if quantity not in ("mean", "correct"):
        return "reported"
    if quantity == "correct":  # at 100 % the observed error is 0: add one failure to either side
        p = (ours / 100.0 * n + 1.0) / (n + 2.0)
        error = max(error, 100.0 * (p * (1.0 - p) / n) ** 0.5)
    both = error * (1.0 + n / published_n) ** 0.5
    return judge(ours - published, 3.0 * both + 0.5)

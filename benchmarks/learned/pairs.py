"""One method against others on several tables: what the committed results of `learned` were computed by."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hpo_envs.benchmarks.analysis import inference, statistics

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Difference:
    """A method's regret minus another's, over tables and seeds.

    Attributes:
        mean: Mean difference; negative: the method is better.
        low: Lower end of its paired percentile bootstrap interval, resampled within each table.
        high: Upper end.
        p: Wilcoxon's signed-rank test over all pairs of runs, Holm-corrected for all pairs of methods.
    """

    mean: float
    low: float
    high: float
    p: float

    @property
    def verdict(self) -> str:
        """`better` or `worse` if the corrected test and the interval agree, else `tie`."""
        if self.p >= inference.ALPHA or self.low <= 0.0 <= self.high:
            return "tie"
        return "better" if self.high < 0.0 else "worse"


def against(final: Mapping[str, Floats], method: str, draws: int = 2000) -> dict[str, Difference]:
    """`method` against every other one, by (tables, seeds) scores that share their seeds."""
    names = [method, *(m for m in final if m != method)]
    chosen = [(a, b) for i, a in enumerate(names) for b in names[i + 1 :]]
    p = inference.holm([statistics.wilcoxon((final[a] - final[b]).ravel()) for a, b in chosen])
    tables, seeds = final[method].shape
    rng = np.random.default_rng(0)
    weights = [rng.multinomial(seeds, np.full(seeds, 1.0 / seeds), size=draws) / seeds for _ in range(tables)]
    found = {}
    for (_, b), adjusted in zip(chosen[: len(names) - 1], p, strict=False):
        apart = final[method] - final[b]
        resampled = np.mean([w @ row for w, row in zip(weights, apart, strict=True)], axis=0)
        low, high = np.quantile(resampled, [0.025, 0.975])
        found[b] = Difference(float(apart.mean()), float(low), float(high), float(adjusted))
    return found

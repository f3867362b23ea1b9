"""Agreement of hLEPOR with the human scores of a corpus.

Results of a setting are bit-identical in any batch of settings.
"""

import functools
from typing import Any

import numpy as np
import numpy.typing as npt

from hpo_envs.tables import exact, hlepor
from hpo_envs.tables.checks import one_of
from hpo_envs.tables.datasets.cushlepor import build
from hpo_envs.tables.table import ByHash, Floats, Metric, Table

METRICS = (
    Metric("pearson", "", "max", -1.0, 1.0, "Pearson correlation of segment scores with human scores."),
    Metric("kendall", "", "max", -1.0, 1.0, "Kendall's tau-b of segment scores with human scores."),
    Metric("system_pearson", "", "max", -1.0, 1.0, "Pearson correlation of mean scores of systems."),
    Metric("rmse", "", "min", 0.0, 1.0, "Root mean squared difference of segment scores and human scores."),
)
"""Rewarded metrics. Correlations with a constant are 0."""


class Split:
    """(n,) human scores of the segments of some documents, and (n,) ascending indices of their systems."""

    def __init__(self, human: Floats, systems: npt.NDArray[np.intp]) -> None:
        self.human, self.n = human, float(len(human))
        self._mean = float(human.mean())
        self.centred = human - self._mean
        self._square = float(exact.product(self.centred, self.centred))
        _, self.starts, counts = np.unique(systems, return_index=True, return_counts=True)
        self._counts = counts.astype(np.float64)
        means = np.add.reduceat(human, self.starts) / self._counts
        self._system_centred = means - means.mean()
        self._system_square = float(exact.product(self._system_centred, self._system_centred))

    def agreement(self, mean: Floats, cross: Floats, spread: Floats, systems: Floats) -> dict[str, Floats]:
        """`pearson`, `system_pearson`, `rmse` and `skill` of k settings, see `Agreement.evaluate`.

        Args:
            mean: (k,) mean scores.
            cross: (k,) sums of products of centred scores with centred human scores.
            spread: (k,) sums of squares of centred scores.
            systems: (k, systems) sums of scores by system; overwritten.
        """
        error = spread - 2.0 * cross + self._square + self.n * (mean - self._mean) ** 2
        mse = np.maximum(error, 0.0) / self.n
        count = len(self._counts)
        systems /= self._counts
        systems -= (systems.sum(axis=1) / count)[:, None]
        by_system = (systems * self._system_centred).sum(axis=1), (systems * systems).sum(axis=1)
        return {
            "pearson": _correlation(cross, spread, self._square, self.n),
            "system_pearson": _correlation(*by_system, self._system_square, float(count)),
            "rmse": np.sqrt(mse),
            "skill": 1.0 - mse * self.n / self._square if self._square > 0 else np.zeros(len(mse)),
        }


def _correlation(cross: Floats, square: Floats, other: float, n: float) -> Floats:
    """Correlations in [-1, 1]; 0 if a side is constant up to rounding."""
    constant = (square <= 1e-20 * n) | (other <= 1e-20 * n)
    result = np.where(constant, 0.0, cross / np.sqrt(np.where(constant, 1.0, square * other)))
    return np.minimum(np.maximum(result, -1.0), 1.0)


def _kendall(scores: Floats, human: Floats) -> float:
    from scipy.stats import kendalltau

    tau = float(kendalltau(scores, human).statistic)
    return tau if np.isfinite(tau) else 0.0


class Agreement:
    """A table of segments prepared for metric tuning.

    Args:
        table: Rows are segments, see `hpo_envs.tables.datasets.cushlepor.build`.
        variant: Form of the position difference, one of `hlepor.VARIANTS`.
        held_out: Held-out documents, which rewards must not use; None for the table's own split.

    Attributes:
        documents: Names of the documents, in the table's order.
        held_out: Names of the held-out documents.

    Raises:
        ValueError: The variant or a document is unknown, or no document is left for training.
    """

    def __init__(self, table: Table, variant: str = "released", held_out: tuple[str, ...] | None = None) -> None:
        s = build.statistics(table, variant)
        human = table.values[:, 0, 0, 0]
        system, document = (table.configs[:, j].astype(np.intp) for j in (0, 1))
        self.documents: tuple[str, ...] = table.space[1].values
        if held_out is None:
            test = table.configs[:, 3] == 1
        else:
            named = [self.documents.index(one_of("document in held_out", n, self.documents)) for n in held_out]
            test = np.isin(document, named)
        if test.all():
            raise ValueError(f"held_out must leave a document to train on, got {held_out!r}")
        self.held_out = tuple(self.documents[i] for i in np.unique(document[test]))
        order = np.lexsort((system, test))  # training segments first, each part by system
        left = len(order) - int(test.sum())
        self._basis = hlepor.Basis(
            hlepor.Statistics(
                s.hypothesis_length[order], s.reference_length[order], s.matches[order], s.npd[order], s.variant
            )
        )
        places = [slice(0, left), slice(left, len(order))] if left < len(order) else [slice(0, left)]
        self._parts = [(at, Split(human[order[at]], system[order[at]])) for at in places]

    def evaluate(self, vectors: Floats, *, kendall: bool = False) -> list[dict[str, Floats]]:
        """Agreement of valid (k, 6) parameter vectors on the training documents, then on the held-out ones if any.

        Settings are evaluated one at a time, on arrays that fit the processor's cache, without matrix products, so that
        results are bit-identical in any batch and on any processor.

        Returns:
            For each part, (k,) float64 arrays: `pearson`, `system_pearson`, `rmse`, `skill` (1 - MSE / variance, 0 for
            the best constant), and `kendall` on demand.
        """
        both = np.empty((2, len(self._basis)))
        sums = np.zeros((len(self._parts), 4, len(vectors)))
        systems = [np.empty((len(vectors), len(split.starts))) for _, split in self._parts]
        for i, vector in enumerate(vectors.tolist()):
            self._basis.write(*both, *vector)
            for j, (at, split) in enumerate(self._parts):
                sums[j, :, i] = _sums(both[:, at], split, systems[j][i], kendall)
        found = []
        for (_, split), (mean, cross, spread, tau), by_system in zip(self._parts, sums, systems, strict=True):
            found.append(split.agreement(mean, cross, spread, by_system) | ({"kendall": tau} if kendall else {}))
        return found


def _sums(both: Floats, split: Split, systems: Floats, kendall: bool) -> tuple[float, float, float, float]:
    """Return mean, centred sum of products with human scores, centred sum of squares and tau (else 0) of scores.

    The scores are the first of the (2, n) `both`, which is overwritten; their sums by system are written to `systems`.
    """
    scores, scratch = both
    np.add.reduceat(scores, split.starts, out=systems)
    tau = _kendall(scores, split.human) if kendall else 0.0
    mean = float(np.add.reduce(scores)) / split.n
    np.subtract(scores, mean, out=scores)
    np.multiply(scores, scores, out=scratch)
    np.multiply(scores, split.centred, out=scores)
    cross, spread = np.add.reduce(both, axis=1).tolist()
    return mean, cross, spread, tau


@functools.lru_cache(maxsize=16)
def _prepared(key: ByHash, variant: str, held_out: tuple[str, ...] | None) -> Agreement:
    return Agreement(key.table, variant, held_out)


def prepare(table: Table, variant: str, held_out: Any) -> Agreement:
    """Return the `Agreement` of a table, cached because `gymnasium.make` is called often.

    Raises:
        ValueError: See `Agreement`; or the table has no segments.
    """
    one_of("variant", variant, hlepor.VARIANTS)
    if table.metric_names[:4] != tuple(m.name for m in build.metrics(0)[:4]):
        raise ValueError(f"table must hold translated segments (tables.datasets.cushlepor), got {table.name}")
    return _prepared(ByHash(table), variant, None if held_out is None else tuple(held_out))

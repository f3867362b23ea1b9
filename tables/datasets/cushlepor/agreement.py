"""How well hLEPOR agrees with human scores: a corpus, and the agreement of any setting of the metric on it.

A setting's numbers do not depend, bit for bit, on the settings that it is evaluated with.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np
import numpy.typing as npt

from hpo_envs.checks import nearest
from hpo_envs.tables import exact, extras, hlepor
from hpo_envs.tables.datasets.cushlepor import build
from hpo_envs.tables.table import ByHash, Metric, Table

Floats = npt.NDArray[np.float64]

METRICS = (
    Metric("pearson", "", "max", -1.0, 1.0, "Pearson correlation of segment scores with human scores."),
    Metric("kendall", "", "max", -1.0, 1.0, "Kendall's tau-b of segment scores with human scores."),
    Metric("system_pearson", "", "max", -1.0, 1.0, "Pearson correlation of mean scores of systems."),
    Metric("rmse", "", "min", 0.0, 1.0, "Root mean squared difference of segment scores and human scores."),
)
"""What can be rewarded. Correlations of something constant are 0."""

NAMES = tuple(m.name for m in METRICS)


class Split:
    """The segments of some documents and their human scores, segments in the order of their systems.

    Args:
        statistics: Of the segments.
        human: (n,) human scores.
        systems: (n,) ascending numbers of systems.
    """

    def __init__(self, statistics: hlepor.Statistics, human: Floats, systems: npt.NDArray[np.intp]) -> None:
        self._basis = hlepor.Basis(statistics)
        self._human = human
        self._n = float(len(human))
        self._mean = float(human.mean())
        self._centred = human - self._mean
        self._square = float(exact.product(self._centred, self._centred))
        _, self._starts, counts = np.unique(systems, return_index=True, return_counts=True)
        self._counts = counts.astype(np.float64)
        means = np.add.reduceat(human, self._starts) / self._counts
        self._system_centred = means - means.mean()
        self._system_square = float(exact.product(self._system_centred, self._system_centred))

    def evaluate(self, vectors: Floats, *, kendall: bool = False) -> dict[str, Floats]:
        """Agreement of valid (k, 6) parameter vectors.

        One setting after the other, on arrays that a processor's cache holds, and never through a matrix product: a
        setting gets the same bits in any batch and on any processor.

        Returns:
            (k,) float64 each: `pearson`, `system_pearson`, `rmse`, `skill` (1 - MSE / variance, 0 for the best
            constant), and `kendall` on demand.
        """
        both = np.empty((2, len(self._human)))
        mean, cross, spread, tau = np.empty((4, len(vectors)))
        systems = np.empty((len(vectors), len(self._counts)))
        for i, vector in enumerate(vectors.tolist()):
            mean[i], cross[i], spread[i], tau[i] = self._sums(vector, both, systems[i], kendall)
        error = spread - 2.0 * cross + self._square + self._n * (mean - self._mean) ** 2
        mse = np.maximum(error, 0.0) / self._n
        systems /= self._counts
        systems -= (systems.sum(axis=1) / len(self._counts))[:, None]
        found = {
            "pearson": _correlation(cross, spread, self._square, self._n),
            "system_pearson": _correlation(
                (systems * self._system_centred).sum(axis=1),
                (systems * systems).sum(axis=1),
                self._system_square,
                float(len(self._counts)),
            ),
            "rmse": np.sqrt(mse),
            "skill": 1.0 - mse * self._n / self._square if self._square > 0 else np.zeros(len(mse)),
        }
        return found | {"kendall": tau} if kendall else found

    def one(self, vector: list[float], *, kendall: bool = False) -> dict[str, float]:
        """`evaluate` of one vector, as Python's numbers: most of NumPy's time on one is its calls."""
        both, systems = np.empty((2, len(self._human))), np.empty(len(self._counts))
        mean, cross, spread, tau = self._sums(vector, both, systems, kendall)
        off, count = mean - self._mean, float(len(self._counts))
        mse = max(spread - 2.0 * cross + self._square + self._n * (off * off), 0.0) / self._n
        systems /= self._counts
        systems -= np.add.reduce(systems) / count
        by_system = float(np.add.reduce(systems * self._system_centred)), float(np.add.reduce(systems * systems))
        found = {
            "pearson": _correlation_of_one(cross, spread, self._square, self._n),
            "system_pearson": _correlation_of_one(*by_system, self._system_square, count),
            "rmse": math.sqrt(mse),
            "skill": 1.0 - mse * self._n / self._square if self._square > 0 else 0.0,
        }
        return found | {"kendall": tau} if kendall else found

    def _sums(
        self, vector: list[float], both: Floats, systems: Floats, kendall: bool
    ) -> tuple[float, float, float, float]:
        """Mean, sum of products with human scores, sum of squares and tau of a setting's scores.

        Args:
            vector: Six valid parameters.
            both: (2, n), overwritten.
            systems: (systems,), gets the sums of each system.
            kendall: Whether tau is computed; else 0.
        """
        scores, scratch = both
        self._basis.write(scores, scratch, *vector)
        np.add.reduceat(scores, self._starts, out=systems)
        tau = self._kendall(scores) if kendall else 0.0
        mean = float(np.add.reduce(scores)) / self._n
        if (loops := extras.loops("hpo_envs.tables.hlepor.loops")) is not None:
            loops.products(both, mean, self._centred)
        else:
            np.subtract(scores, mean, out=scores)
            np.multiply(scores, scores, out=scratch)
            np.multiply(scores, self._centred, out=scores)
        cross, spread = np.add.reduce(both, axis=1).tolist()
        return mean, cross, spread, tau

    def _kendall(self, row: Floats) -> float:
        from scipy.stats import kendalltau

        tau = float(kendalltau(row, self._human).statistic)
        return tau if np.isfinite(tau) else 0.0


def _correlation(cross: Floats, square: Floats, other: float, n: float) -> Floats:
    """Correlations in [-1, 1]; 0 where a side is constant up to rounding."""
    product = square * other
    constant = (square <= 1e-20 * n) | (other <= 1e-20 * n)
    result = np.where(constant, 0.0, cross / np.sqrt(np.where(constant, 1.0, product)))
    return np.minimum(np.maximum(result, -1.0), 1.0)


def _correlation_of_one(cross: float, square: float, other: float, n: float) -> float:
    """`_correlation` of numbers."""
    if square <= 1e-20 * n or other <= 1e-20 * n:
        return 0.0
    return min(max(cross / math.sqrt(square * other), -1.0), 1.0)


class Agreement:
    """A table prepared for tuning.

    Args:
        table: Rows are segments, see `hpo_envs.tables.datasets.cushlepor.build`.
        variant: Reading of the position difference, one of `hlepor.VARIANTS`.
        held_out: Documents that rewards must not see; None for the table's own split.

    Attributes:
        documents: Names of the documents, in the table's order.
        held_out: Names of the held-out ones.
        train, test: Segments of the training documents and of the held-out ones (None without).

    Raises:
        ValueError: Unknown variant or document, or nothing left to train on.
    """

    def __init__(self, table: Table, variant: str = "released", held_out: tuple[str, ...] | None = None) -> None:
        statistics = build.statistics(table, variant)
        human = table.values[:, 0, 0, 0]
        system, document = (table.configs[:, j].astype(np.intp) for j in (0, 1))
        self.documents: tuple[str, ...] = table.space[1].values
        if held_out is None:
            test = table.configs[:, 3] == 1
        else:
            for name in held_out:
                if name not in self.documents:
                    raise ValueError(
                        f"held_out must name documents, {', '.join(self.documents)}, got {name!r}"
                        f"{nearest(name, self.documents)}"
                    )
            test = np.isin(document, [self.documents.index(name) for name in held_out])
        if test.all():
            raise ValueError(f"held_out must leave a document to train on, got {held_out!r}")
        self.held_out = tuple(self.documents[i] for i in np.unique(document[test]))
        parts = [np.flatnonzero(part)[system[part].argsort(kind="stable")] for part in (~test, test)]
        s = statistics
        train, self.test = (
            Split(
                hlepor.Statistics(
                    s.hypothesis_length[rows], s.reference_length[rows], s.matches[rows], s.npd[rows], s.variant
                ),
                human[rows],
                system[rows],
            )
            if len(rows)
            else None
            for rows in parts
        )
        assert train is not None
        self.train = train

    def evaluate(self, vectors: Floats, *, kendall: bool = False) -> tuple[dict[str, Floats], dict[str, Floats]]:
        """Agreement on the training documents and on the held-out ones (empty without), see `Split.evaluate`."""
        train = self.train.evaluate(vectors, kendall=kendall)
        return train, self.test.evaluate(vectors, kendall=kendall) if self.test else {}


@functools.lru_cache(maxsize=16)
def _prepared(key: ByHash, variant: str, held_out: tuple[str, ...] | None) -> Agreement:
    return Agreement(key.table, variant, held_out)


def prepare(table: Table, variant: str, held_out: Any) -> Agreement:
    """`Agreement` of a table; cached, because `make` is called often.

    Raises:
        ValueError: As `Agreement`, or a table without segments.
    """
    hlepor.align.check_variant(variant)
    if table.metric_names[:4] != tuple(m.name for m in build.metrics(0)[:4]):
        raise ValueError(f"table must hold translated segments (tables.datasets.cushlepor), got {table.name}")
    return _prepared(ByHash(table), variant, None if held_out is None else tuple(held_out))

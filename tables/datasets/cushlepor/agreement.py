"""How well hLEPOR agrees with human scores: a corpus, and the agreement of any setting of the metric on it.

A setting's numbers do not depend, bit for bit, on the settings that it is evaluated with.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import numpy.typing as npt

from hpo_envs.tables import exact, hlepor
from hpo_envs.tables.datasets.cushlepor import build
from hpo_envs.tables.table import ByHash, Metric, Table, nearest

Floats = npt.NDArray[np.float64]

METRICS = (
    Metric("pearson", "", "max", -1.0, 1.0, "Pearson correlation of segment scores with human scores."),
    Metric("kendall", "", "max", -1.0, 1.0, "Kendall's tau-b of segment scores with human scores."),
    Metric("system_pearson", "", "max", -1.0, 1.0, "Pearson correlation of mean scores of systems."),
    Metric("rmse", "", "min", 0.0, 1.0, "Root mean squared difference of segment scores and human scores."),
)
"""What can be rewarded. Correlations of something constant are 0."""

NAMES = tuple(m.name for m in METRICS)

_CHUNK = 16
"""Settings scored together: 16 x 6,877 scores are 0.9 MB, which a processor's cache holds."""


class _Part:
    """Human scores of one split, segments in the order of their systems, prepared for sums over segments."""

    def __init__(self, human: Floats, systems: npt.NDArray[np.intp]) -> None:
        self.human = human
        self.n = float(len(human))
        self.mean = float(human.mean())
        self.centred = human - self.mean
        self.square = float(exact.product(self.centred, self.centred))
        _, self.starts, counts = np.unique(systems, return_index=True, return_counts=True)
        self.counts = counts.astype(np.float64)
        means = np.add.reduceat(human, self.starts) / self.counts
        self.system_centred = means - means.mean()
        self.system_square = float(exact.product(self.system_centred, self.system_centred))

    def agreement(self, scores: Floats, kendall: bool) -> dict[str, Floats]:
        """Metrics of (k, n) scores, each (k,).

        Sums run along rows and never through a matrix product, so that a setting gets the same bits in any batch and
        on any processor.
        """
        mean = scores.sum(axis=1) / self.n
        deviation = scores - mean[:, None]
        product = deviation * self.centred
        cross = product.sum(axis=1)
        np.multiply(deviation, deviation, out=product)
        spread = product.sum(axis=1)
        error = spread - 2.0 * cross + self.square + self.n * (mean - self.mean) ** 2
        mse = np.maximum(error, 0.0) / self.n
        systems = np.add.reduceat(scores, self.starts, axis=1) / self.counts
        systems -= (systems.sum(axis=1) / len(self.counts))[:, None]
        found = {
            "pearson": _correlation(cross, spread, self.square, self.n),
            "system_pearson": _correlation(
                (systems * self.system_centred).sum(axis=1),
                (systems * systems).sum(axis=1),
                self.system_square,
                float(len(self.counts)),
            ),
            "rmse": np.sqrt(mse),
            "skill": 1.0 - mse * self.n / self.square if self.square > 0 else np.zeros(len(mse)),
        }
        if kendall:
            found["kendall"] = np.array([self._kendall(row) for row in scores])
        return found

    def _kendall(self, row: Floats) -> float:
        from scipy.stats import kendalltau

        tau = float(kendalltau(row, self.human).statistic)
        return tau if np.isfinite(tau) else 0.0


def _correlation(cross: Floats, square: Floats, other: float, n: float) -> Floats:
    """Correlations in [-1, 1]; 0 where a side is constant up to rounding."""
    product = square * other
    constant = (square <= 1e-20 * n) | (other <= 1e-20 * n)
    result = np.where(constant, 0.0, cross / np.sqrt(np.where(constant, 1.0, product)))
    return np.minimum(np.maximum(result, -1.0), 1.0)


class Agreement:
    """A table prepared for tuning.

    Args:
        table: Rows are segments, see `hpo_envs.tables.datasets.cushlepor.build`.
        variant: Reading of the position difference, one of `hlepor.VARIANTS`.
        held_out: Documents that rewards must not see; None for the table's own split.

    Attributes:
        documents: Names of the documents, in the table's order.
        held_out: Names of the held-out ones.

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
        order = np.lexsort((system, test))
        self._cut = int((~test).sum())
        s = statistics
        columns = (s.hypothesis_length[order], s.reference_length[order], s.matches[order], s.npd[order])
        self._basis = hlepor.Basis(hlepor.Statistics(*columns, s.variant))
        human, system = human[order], system[order]
        self._train = _Part(human[: self._cut], system[: self._cut])
        self._test = _Part(human[self._cut :], system[self._cut :]) if test.any() else None

    def evaluate(self, vectors: Floats, *, kendall: bool = False) -> tuple[dict[str, Floats], dict[str, Floats]]:
        """Agreement of valid (k, 6) parameter vectors; k settings are one call.

        Returns:
            Metrics on the training documents and on the held-out ones (empty without), each (k,) float64: `pearson`,
            `system_pearson`, `rmse`, `skill` (1 - MSE / variance, 0 for the best constant), and `kendall` on demand.
        """
        if len(vectors) > _CHUNK:
            parts = [self.evaluate(vectors[i : i + _CHUNK], kendall=kendall) for i in range(0, len(vectors), _CHUNK)]
            train, test = ({k: np.concatenate([p[j][k] for p in parts]) for k in parts[0][j]} for j in (0, 1))
            return train, test
        scores = self._basis.scores_unchecked(vectors)
        train = self._train.agreement(scores[:, : self._cut], kendall)
        return train, self._test.agreement(scores[:, self._cut :], kendall) if self._test else {}


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

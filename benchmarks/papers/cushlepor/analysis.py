"""Pure functions of scores: agreement of any scores with human ones, split by document, with bootstrap intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from hpo_envs.benchmarks.papers.common import compare
from hpo_envs.tables import hlepor
from hpo_envs.tables.datasets.cushlepor import build as cushlepor
from hpo_envs.tables.table import Table

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Corpus:
    """Labels and human scores of a table's rows.

    Attributes:
        human: (rows,) float64 in [0, 1].
        system: (rows,) int64.
        document: (rows,) int64, index into `documents`.
        segment: (rows,) int64, number of the source segment.
        held_out: (rows,) bool.
        documents: Names.
        basis: Scores any parameter vector.
    """

    human: Floats
    system: npt.NDArray[np.int64]
    document: npt.NDArray[np.int64]
    segment: npt.NDArray[np.int64]
    held_out: npt.NDArray[np.bool_]
    documents: tuple[str, ...]
    basis: hlepor.Basis

    @staticmethod
    def of(table: Table, variant: str = "released") -> Corpus:
        """Prepare a table."""
        system, document, segment = (table.configs[:, j].astype(np.int64) for j in range(3))
        return Corpus(
            table.values[:, 0, 0, 0],
            system,
            document,
            segment,
            table.configs[:, 3] == 1,
            table.space[1].values,
            hlepor.Basis(cushlepor.statistics(table, variant)),
        )


def rmse(x: Floats, y: Floats) -> float:
    """Root mean squared difference."""
    return float(np.sqrt(np.square(x - y).mean()))


def pearson(x: Floats, y: Floats) -> float:
    """Pearson's correlation; 0 where a side is constant."""
    x, y = x - x.mean(), y - y.mean()
    norm = float(np.sqrt((x @ x) * (y @ y)))
    return float(x @ y) / norm if norm > 1e-14 else 0.0


def agreement(scores: Floats, corpus: Corpus, rows: npt.NDArray[np.bool_]) -> dict[str, float]:
    """All agreement metrics of (rows,) scores on some rows."""
    from scipy.stats import kendalltau

    x, y, s = scores[rows], corpus.human[rows], corpus.system[rows]
    means = np.array([[v[s == k].mean() for k in np.unique(s)] for v in (x, y)])
    mse = float(np.mean((x - y) ** 2))
    return {
        "pearson": pearson(x, y),
        "kendall": float(np.nan_to_num(kendalltau(x, y).statistic)),
        "system_pearson": pearson(means[0], means[1]),
        "rmse": mse**0.5,
        "skill": 1.0 - mse / float(y.var()),
    }


def both_splits(scores: Mapping[str, Floats], corpus: Corpus) -> list[dict[str, Any]]:
    """One record for each metric's scores: agreement on training and held-out documents."""
    records = []
    for name, x in scores.items():
        record: dict[str, Any] = {"metric": name}
        for split, rows in (("train", ~corpus.held_out), ("held-out", corpus.held_out)):
            record |= {f"{k} {split}": v for k, v in agreement(x, corpus, rows).items()}
        records.append(record)
    return records


def scaled(scores: Floats, human: Floats, rows: npt.NDArray[np.bool_]) -> Floats:
    """The least-squares line through some rows, applied to all: what RMSE would be if scale and offset were free."""
    slope, offset = np.polyfit(scores[rows], human[rows], 1)
    out: Floats = slope * scores + offset
    return out


def mean_of_documents(
    scores: Mapping[str, Floats], corpus: Corpus, documents: Sequence[int], weights: Floats | None = None
) -> dict[str, Floats]:
    """Pearson correlation inside each document, averaged with the documents' sizes as weights.

    Args:
        scores: (rows,) scores by name.
        corpus: Labels.
        documents: Which documents.
        weights: (resamples, rows) how often each row counts; None for once each.

    Returns:
        (resamples,) float64 by name; one entry without weights.
    """
    result = {}
    w = np.ones((1, len(corpus.human))) if weights is None else weights
    for name, x in scores.items():
        total, size = np.zeros(len(w)), np.zeros(len(w))
        for d in documents:
            rows = np.flatnonzero(corpus.document == d)
            v, a, b = w[:, rows], x[rows], corpus.human[rows]
            n = v.sum(axis=1)
            columns = np.stack([a, b, a * a, b * b, a * b], axis=1)
            ma, mb, aa, bb, ab = (v @ columns).T / n
            spread = np.sqrt(np.maximum((aa - ma**2) * (bb - mb**2), 1e-30))
            total += len(rows) * (ab - ma * mb) / spread
            size += len(rows)
        result[name] = total / size
    return result


def resamples(corpus: Corpus, count: int, seed: int = 0) -> Floats:
    """(count, rows) bootstrap weights: source segments are drawn with replacement inside each document.

    All systems' translations of a segment are drawn together, for they share its difficulty.
    """
    rng = np.random.default_rng(seed)
    weights = np.zeros((count, len(corpus.human)), np.float64)
    for d in np.unique(corpus.document):
        rows = np.flatnonzero(corpus.document == d)
        segments, place = np.unique(corpus.segment[rows], return_inverse=True)
        drawn = rng.multinomial(len(segments), np.full(len(segments), 1.0 / len(segments)), size=count)
        weights[:, rows] = drawn[:, place]
    return weights


def differences(
    tuned: Floats, others: Mapping[str, Floats], corpus: Corpus, documents: Sequence[int], weights: Floats
) -> list[dict[str, Any]]:
    """Tuned minus each other metric, mean Pearson inside documents, with 95 % percentile bootstrap intervals."""
    every = {"tuned": tuned, **others}
    point = mean_of_documents(every, corpus, documents)
    drawn = mean_of_documents(every, corpus, documents, weights)
    records = []
    for name in others:
        low, high = np.percentile(drawn["tuned"] - drawn[name], [2.5, 97.5])
        records.append(
            {
                "against": name,
                "tuned": float(point["tuned"][0]),
                "other": float(point[name][0]),
                "difference": float(point["tuned"][0] - point[name][0]),
                "low": float(low),
                "high": float(high),
                "verdict": compare(low, high),
            }
        )
    return records


def evaluations_to(rewards: Sequence[Floats], best: float, within: float) -> dict[str, float]:
    """Evaluations until runs come within a fraction of the best reward.

    Args:
        rewards: (evaluations,) rewards of each run.
        best: Best reward known.
        within: Share of its absolute value.

    Returns:
        `reached` (share of runs), `median` and `quartile 3` of evaluations with runs that never got there at infinity.
    """
    goal = best - within * abs(best)
    needed = np.array([float(np.argmax(r >= goal)) + 1 if (r >= goal).any() else np.inf for r in rewards])
    ordered = np.sort(needed)
    return {
        "reached": float(np.isfinite(needed).mean()),
        "median": float(ordered[(len(ordered) - 1) // 2]),
        "quartile 3": float(ordered[int(np.ceil(0.75 * len(ordered))) - 1]),
    }

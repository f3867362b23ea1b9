"""Regression trees, forests and gradient boosting, vectorized for a few hundred evaluations.

One call of a library's tree takes a fraction of a millisecond, and an ensemble has hundreds of trees, refitted after
every batch. Here all trees of an ensemble grow together, level by level: the sums left of every split, for
every node of every tree, are one matrix product with the 0/1 matrix of the splits of the rows.
"""

from __future__ import annotations

import functools

import numpy as np
import numpy.typing as npt

from hpo_envs.agents.models import Floats, Indices

DEEPEST = 64
"""Limit of the depth if none is given; trees end earlier, when no split reduces the error."""

_TINY = 1e-300


def splits_of(x: Floats) -> Splits:
    """Return the splits of (rows, d) features; agents with equal features share one object."""
    return _splits(x.tobytes(), x.shape)


@functools.lru_cache(maxsize=8)
def _splits(content: bytes, shape: tuple[int, int]) -> Splits:
    return Splits(np.frombuffer(content).reshape(shape))


class Splits:
    """Splits "feature f <= t" of a fixed set of rows.

    Args:
        x: (rows, d) features.
        most: Largest number of splits per feature. Thresholds are the midpoints between its distinct values; if there
            are more, `most` of them, evenly spaced by rank.

    Attributes:
        feature: (k,) int, feature of each split.
        rank: (k,) int, rank of each split's threshold among those of its feature.
        code: (rows, d) int, number of thresholds below each value: a row is left of a split if `code <= rank`.
    """

    def __init__(self, x: Floats, most: int = 32) -> None:
        self.code: Indices = np.empty(x.shape, np.intp)
        counts = []
        for f, values in enumerate(x.T):
            distinct = np.unique(values)
            between = (distinct[1:] + distinct[:-1]) / 2
            if len(between) > most:
                between = between[np.linspace(0, len(between) - 1, most).round().astype(int)]
            self.code[:, f] = np.searchsorted(between, values)
            counts.append(len(between))
        self.feature = np.repeat(np.arange(x.shape[1]), counts)
        self.rank = np.concatenate([np.arange(c) for c in counts])

    def grow(
        self, rows: Indices, targets: Floats, weights: Floats, *, depth: int | None = None, least: int = 2,
        share: float = 1.0, rng: np.random.Generator | None = None,
    ) -> Floats:  # fmt: skip
        """Fit trees by least squares and return their predictions for all rows of the set.

        Args:
            rows: (n,) rows of the set that have targets.
            targets: (trees, n) targets.
            weights: (trees, n) weights >= 0, such as counts of a bootstrap sample; each tree needs one > 0.
            depth: Largest number of splits above a leaf; None: `DEEPEST`.
            least: Smallest weight of a node that is split.
            share: Fraction of the features that a split may use, drawn for each node.
            rng: Draws these features; required if `share` < 1.

        Returns:
            (trees, rows of the set) float64 predictions.

        Raises:
            ValueError: `share` < 1 without `rng`.

        Complexity: O(nodes n k) a level, k splits, as one matrix product.
        """
        answers = (self.code[rows][:, self.feature] <= self.rank).astype(np.float32)
        trees, n = targets.shape
        every, column = np.arange(len(self.code)), np.arange(n)
        moments = weights * targets
        at = np.repeat(np.arange(trees), len(every)).reshape(trees, -1)  # (trees, rows of the set), node of each
        grows, nodes = np.ones(trees, bool), trees
        for _ in range(DEEPEST if depth is None else depth):
            inside = at[:, rows]
            count = np.bincount(inside.ravel(), weights.ravel(), nodes).astype(np.float64)
            total = np.bincount(inside.ravel(), moments.ravel(), nodes)
            centred = moments - weights * (total / np.maximum(count, _TINY))[inside]  # so that nothing cancels
            spread = np.bincount(inside.ravel(), (centred * centred).ravel(), nodes)
            grows &= (count >= least) & (spread > 0)
            if not (grows.any() and len(self.feature)):
                break
            # Nodes that may grow are the first rows of the product; all others share one that is dropped.
            row = np.where(grows, np.cumsum(grows) - 1, grows.sum())
            both = np.zeros((2, row.max() + 1, n), np.float32)
            both[0, row[inside], column] = weights
            both[1, row[inside], column] = centred
            both = both[:, : grows.sum()]
            allowed = None if share >= 1.0 else self._drawn(both.shape[1], share, rng)
            best = np.zeros(nodes, np.intp)
            gain = np.zeros(nodes)
            best[grows], gain[grows] = self._best(both, count[grows], answers, allowed)
            grows &= gain > 1e-10 * spread
            # A node that is split makes room for the right child behind the left one.
            first = np.cumsum(1 + grows) - 1 - grows
            right = grows[at] & (self.code[every, self.feature[best][at]] > self.rank[best][at])
            at = first[at] + right
            nodes, grows = nodes + int(grows.sum()), np.repeat(grows, 1 + grows)
        inside = at[:, rows].ravel()
        sizes = np.maximum(np.bincount(inside, weights.ravel(), nodes), _TINY)
        return np.asarray((np.bincount(inside, moments.ravel(), nodes) / sizes)[at])

    def _drawn(self, nodes: int, share: float, rng: np.random.Generator | None) -> npt.NDArray[np.bool_]:
        """Return the (nodes, k) mask of the splits that each node may use, those on the features drawn for it."""
        if rng is None:
            raise ValueError("rng must be a generator where share < 1, got None")
        keys = rng.random((nodes, self.code.shape[1]))
        order: Indices = keys.argsort(axis=1).argsort(axis=1)
        return np.asarray(order < np.ceil(share * keys.shape[1]))[:, self.feature]

    @staticmethod
    def _best(
        both: npt.NDArray[np.float32], count: Floats, answers: npt.NDArray[np.float32],
        allowed: npt.NDArray[np.bool_] | None,
    ) -> tuple[Indices, npt.NDArray[np.float32]]:  # fmt: skip
        """Return the (nodes,) indices of the best splits, and the (nodes,) reductions of the sum of squares by them."""
        _, nodes, n = both.shape
        left, moments = (both.reshape(2 * nodes, n) @ answers).reshape(2, nodes, -1)
        size = count.astype(np.float32)[:, None]
        room = left * (size - left)
        room[room <= 0] = np.inf  # a side without rows gains nothing
        gain = np.square(moments, out=moments)
        gain /= room
        if allowed is not None:
            gain *= allowed
        best = gain.argmax(axis=1)
        return best, gain[np.arange(nodes), best] * size[:, 0]


def boosted(
    splits: Splits, rows: Indices, y: Floats, samples: npt.NDArray[np.bool_], *, trees: int, depth: int, rate: float
) -> Floats:
    """Return predictions of gradient boosting with squared loss, fitted to each sample (Friedman 2001, algorithm 2).

    Args:
        splits: Splits of the rows to predict.
        rows: (n,) rows of the set that have targets.
        y: (n,) targets.
        samples: (models, n) mask of the training rows of each model, at least one.
        trees: Largest number of trees per model; fewer if every model reproduces its sample before.
        depth: Depth of the trees.
        rate: Learning rate.

    Returns:
        (models, rows of the set) float64 predictions.
    """
    weights = samples.astype(np.float64)
    sizes = weights.sum(axis=1)
    start = weights @ y / sizes
    enough = 1e-8 * (weights * (y - start[:, None]) ** 2).sum(axis=1)
    predicted = np.repeat(start, len(splits.code)).reshape(len(samples), -1)
    for _ in range(trees):
        residuals = y - predicted[:, rows]
        if np.all((weights * residuals**2).sum(axis=1) <= enough):
            break
        predicted += rate * splits.grow(rows, residuals, weights, depth=depth)
    return predicted

"""Boosted trees as arrays: fast, exact evaluation of one row or a million without scikit-learn.

All splits on one input are combined in a table: for each interval between its thresholds, one 32-bit word per tree
marks the leaves of the tree that can still be reached (the QuickScorer of Lucchese et al. 2015). The leaf of a row is
the lowest bit that survives the AND over its inputs. Inputs with few intervals share a table of all their combinations.
Leaves are integers, so sums do not depend on their order.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hpo_envs.tables import Ints

BitWords = npt.NDArray[np.uint32]

SPLITS = 31
"""Number of splits of every tree, in heap order; a tree has depth 5 and 32 leaves."""

_ALL, _ONE = np.uint32(0xFFFFFFFF), np.array(1, np.uint32)
_JOINED = 512
"""Largest number of rows of a table of combinations: more would cause more cache misses than they save look-ups."""

_BLOCK = 128
"""Rows evaluated together: their words of all tables, 1 MB, stay in a processor's cache."""


@dataclass(frozen=True)
class Forest:
    """Compiled trees, see `compile_forest`."""

    order: npt.NDArray[np.intp]  # (columns,) the input columns, those that share a table adjacent
    groups: npt.NDArray[np.intp]  # (tables,) index in `order` of the first column of each table
    lookup: Ints  # (columns * size,) contribution of each column of `order` and value to the row index of its table
    offsets: Ints  # (columns,) index in `lookup` of the first entry of each column
    masks: BitWords  # (rows, trees) uint32, a bit for each leaf of a tree that can still be reached
    leaves: npt.NDArray[np.int32]  # (trees * 32,) int32, values of the leaves
    before: npt.NDArray[np.intp]  # (trees,) index in `leaves` of the entry before the first leaf of each tree

    def __call__(self, x: Ints) -> Ints:
        """(n,) sums of the leaves reached by (n, columns) inputs."""
        if len(x) > _BLOCK:
            return np.concatenate([self(x[low : low + _BLOCK]) for low in range(0, len(x), _BLOCK)])
        found = self.lookup.take(x.take(self.order, axis=1) + self.offsets)
        alive = np.bitwise_and.reduce(self.masks.take(np.add.reduceat(found, self.groups, axis=1), axis=0), axis=1)
        alive ^= alive - _ONE  # ones up to the lowest
        return np.add.reduce(self.leaves.take(np.bitwise_count(alive) + self.before), axis=1)  # type: ignore[no-any-return]


def compile_forest(
    features: npt.NDArray[np.uint8], thresholds: npt.NDArray[np.integer], leaves: npt.NDArray[np.integer],
    sizes: Sequence[int], size: int,
) -> Forest:  # fmt: skip
    """Compile trees.

    Args:
        features: (trees, 31) feature of each split, in heap order. A number is one feature; a choice among k is k
            features, each 1 for its own choice and 0 for the others.
        thresholds: (trees, 31) a feature <= threshold goes left.
        leaves: (trees, 32) integers, from left to right.
        sizes: For each input column, 1 for a number or k for a choice among k.
        size: Numbers are in 0..size - 1.

    Returns:
        The forest, a function of (n, len(sizes)) inputs: numbers, and choices as 0..k - 1.
    """
    trees = len(features)
    keep = np.array([_keep(node) for node in range(SPLITS)], np.uint32)
    firsts = np.cumsum([0, *sizes]).tolist()
    parts = [_column(features, thresholds, keep, first, k, size) for first, k in zip(firsts, sizes, strict=False)]
    groups = _joined([len(words) for _, words in parts])
    lookup = np.zeros((len(sizes), size), np.int64)
    tables: list[BitWords] = []
    at = row = 0
    for group in groups:
        table, stride = np.full((1, trees), _ALL), 1
        for column in group:
            interval, words = parts[column]
            lookup[at, : len(interval)] = interval * stride
            table = (words[:, None] & table).reshape(-1, trees)
            at, stride = at + 1, stride * len(words)
        lookup[at - len(group)] += row
        row += len(table)
        tables.append(table)
    return Forest(
        order=np.concatenate(groups), groups=np.cumsum([0, *(len(g) for g in groups[:-1])]), lookup=lookup.ravel(),
        offsets=np.arange(len(sizes)) * size, masks=np.concatenate(tables), leaves=leaves.reshape(-1).astype(np.int32),
        before=np.arange(trees) * (SPLITS + 1) - 1,
    )  # fmt: skip


def _column(
    features: npt.NDArray[np.uint8], thresholds: npt.NDArray[np.integer], keep: BitWords, first: int, k: int, size: int
) -> tuple[Ints, BitWords]:
    """The interval of each value of an input, and (intervals, trees) words; a choice combines its k features."""
    if k == 1:
        at, words = _intervals(features == first, thresholds, keep)
        return np.searchsorted(at, np.arange(size), side="left"), words
    table = np.full((k, len(features)), _ALL)
    for i in range(k):
        at, words = _intervals(features == first + i, thresholds, keep)
        table &= words[np.searchsorted(at, np.arange(k) == i, side="left")]
    return np.arange(k), table


def _joined(counts: Sequence[int]) -> list[list[int]]:
    """Group columns, first-fit decreasing; several in one group have at most `_JOINED` combinations of intervals."""
    groups: list[list[int]] = []
    sizes: list[int] = []
    for column in sorted(range(len(counts)), key=lambda c: -counts[c]):
        fits = [g for g, n in enumerate(sizes) if n * counts[column] <= _JOINED]
        if fits:
            groups[fits[0]].append(column)
            sizes[fits[0]] *= counts[column]
        else:
            groups.append([column])
            sizes.append(counts[column])
    return groups


def _keep(node: int) -> int:
    """Mask of the leaves reachable after going right at a node: all except those below its left child."""
    first = last = 2 * node + 1
    while first < SPLITS:
        first, last = 2 * first + 1, 2 * last + 2
    below: int = ((1 << (last - first + 1)) - 1) << (first - SPLITS)
    return 0xFFFFFFFF & ~below


def _intervals(
    here: npt.NDArray[np.bool_], thresholds: npt.NDArray[np.integer], keep: BitWords
) -> tuple[Ints, BitWords]:
    """Distinct sorted thresholds (m,) of the splits marked in `here` and (m + 1, trees) words between them."""
    tree, node = np.nonzero(here)
    at, interval = np.unique(thresholds[tree, node].astype(np.int64), return_inverse=True)
    words = np.full((len(at) + 1, len(here)), _ALL)
    np.bitwise_and.at(words, (interval + 1, tree), keep[node])
    return at, np.bitwise_and.accumulate(words, axis=0)

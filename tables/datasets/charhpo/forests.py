"""Boosted trees as arrays: fast, exact evaluation of one row or a million without scikit-learn.

All splits on one input are folded into a table: for each interval between its thresholds, one 32-bit word a tree says
which of the tree's 32 leaves can still be reached (the QuickScorer of Lucchese et al. 2015). The leaf of a row is the
lowest bit that survives the AND over its inputs. Leaves are integers, so sums do not depend on their order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]

DEPTH = 5
"""Depth of every tree: 31 splits and 32 leaves, in heap order."""

SPLITS = 2**DEPTH - 1

_ALL = np.uint32(0xFFFFFFFF)
_DE_BRUIJN = np.uint32(0x077CB531)


def _lowest_bit() -> npt.NDArray[np.intp]:
    """Index of the lowest bit of a word w, at ((w & -w) * de Bruijn constant) >> 27 (Leiserson et al. 1998)."""
    table = np.zeros(32, np.intp)
    for bit in range(32):
        table[((1 << bit) * int(_DE_BRUIJN) & 0xFFFFFFFF) >> 27] = bit
    return table


_LOWEST = _lowest_bit()


@dataclass(frozen=True)
class Forest:
    """Trees ready to be evaluated, see `compile_forest`.

    Attributes:
        lookup: (columns, size) int32, for each input column and value its row of `masks`.
        masks: (rows, trees) uint32, leaves that can still be reached.
        leaves: (trees * 32,) int64.
        starts: (trees,) first leaf of each tree.
    """

    lookup: npt.NDArray[np.int32]
    masks: npt.NDArray[np.uint32]
    leaves: Ints
    starts: npt.NDArray[np.intp]

    def __call__(self, x: Ints, chunk: int = 1024) -> Ints:
        """(n,) sums of the leaves that (n, columns) inputs reach; blocks larger than `chunk` leave the cache."""
        rows = self.lookup[np.arange(x.shape[1]), x]
        out = np.empty(len(x), np.int64)
        for low in range(0, len(x), chunk):
            block = rows[low : low + chunk]
            if len(block) == 1:
                alive = np.bitwise_and.reduce(self.masks[block[0]], axis=0)[None]
            else:
                alive = self.masks.take(block[:, 0], axis=0)
                more = np.empty_like(alive)
                for column in range(1, block.shape[1]):
                    alive &= self.masks.take(block[:, column], axis=0, out=more, mode="clip")
            alive &= (~alive) + np.uint32(1)
            bit = _LOWEST.take((alive * _DE_BRUIJN) >> np.uint32(27))
            out[low : low + chunk] = self.leaves.take(bit + self.starts).sum(axis=1)
        return out


def compile_forest(
    features: npt.NDArray[np.uint8],
    thresholds: npt.NDArray[np.integer],
    leaves: npt.NDArray[np.integer],
    sizes: Sequence[int],
    size: int,
) -> Forest:
    """Compiles trees.

    Args:
        features: (trees, 31) feature of each split, in heap order. A number is one feature; a choice among k is k
            features, each 1 for its own choice and 0 for the others.
        thresholds: (trees, 31) a feature <= threshold goes left.
        leaves: (trees, 32) integers, from left to right.
        sizes: For each input column, 1 for a number or k for a choice among k.
        size: Numbers are in 0..size - 1.

    Returns:
        A function of (n, len(sizes)) inputs: numbers, and choices as 0..k - 1.
    """
    trees = len(features)
    keep = np.array([_keep(node) for node in range(SPLITS)], np.uint32)
    lookup = np.zeros((len(sizes), size), np.int32)
    tables: list[npt.NDArray[np.uint32]] = []
    rows = first = 0
    for column, k in enumerate(sizes):
        # One table of intervals a feature; a choice combines those of its k features.
        parts = [_intervals(features == first + i, thresholds, keep) for i in range(k)]
        if k == 1:
            at, table = parts[0]
            lookup[column] = rows + np.searchsorted(at, np.arange(size), side="left")
        else:
            table = np.full((k, trees), _ALL)
            for choice in range(k):
                for i, (at, masks) in enumerate(parts):
                    table[choice] &= masks[np.searchsorted(at, int(i == choice), side="left")]
            lookup[column, :k] = rows + np.arange(k)
        tables.append(table)
        rows, first = rows + len(table), first + k
    starts = np.arange(trees, dtype=np.intp) * (SPLITS + 1)
    return Forest(lookup, np.concatenate(tables), leaves.reshape(-1).astype(np.int64), starts)


def _keep(node: int) -> int:
    """The leaves left to a row that goes right at a node, as a word: all but those below its left child."""
    first = last = 2 * node + 1
    while first < SPLITS:
        first, last = 2 * first + 1, 2 * last + 2
    below = ((1 << (last - first + 1)) - 1) << (first - SPLITS)
    return int(_ALL) & ~below


def _intervals(
    here: npt.NDArray[np.bool_], thresholds: npt.NDArray[np.integer], keep: npt.NDArray[np.uint32]
) -> tuple[Ints, npt.NDArray[np.uint32]]:
    """Sorted thresholds (m,) of the splits marked in `here` and (m + 1, trees) words between them."""
    tree, node = np.nonzero(here)
    at = thresholds[tree, node].astype(np.int64)
    order = np.argsort(at, kind="stable")
    words = np.full((len(at) + 1, len(here)), _ALL)
    words[np.arange(1, len(at) + 1), tree[order]] = keep[node[order]]
    return at[order], np.bitwise_and.accumulate(words, axis=0)

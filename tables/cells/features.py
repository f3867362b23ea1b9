"""Features of a cell: Weisfeiler-Lehman subtree counts reduced to 50 numbers, of which the first 10 can be used alone.

graph2vec (Narayanan et al. 2017, used in section 4 of the benchmark's paper) learns an embedding in which the
"words" of a graph are its Weisfeiler-Lehman subtrees. Its training is random; this is a deterministic variant: the same
words are counted in hashed buckets, damped by log(1 + count), and projected on the principal components of cells from
the generator. The components ship with the package, so no number depends on a data set or on the linear algebra library
of a machine beyond rounding, which `DECIMALS` removes.
"""

import functools
import hashlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from hpo_envs.tables import Floats, exact
from hpo_envs.tables.cells.canonical import canonical
from hpo_envs.tables.cells.recipe import BLEND, OPERATIONS, Cell

DEPTH = 3
"""Rounds of relabelling; words are subtrees of height 0 to 3."""

BUCKETS = 512
"""Buckets into which words are hashed."""

SIZE = 50
"""Number of features; the paper uses embeddings of 10 and 50 dimensions."""

DECIMALS = 6
"""Number of decimals to which features are rounded, so that all machines agree."""

NAMES = tuple(f"wl_{i:02d}" for i in range(SIZE))


def words(cell: Cell) -> list[str]:
    """The Weisfeiler-Lehman subtrees of a cell, one text per vector and height; equal for equal computations."""
    cell = canonical(cell)
    first = cell.first
    labels = ["x", "h0", *["h"] * (cell.hidden - 1), *(OPERATIONS[op] for op, _ in cell.nodes)]
    neighbours: list[list[tuple[str, int]]] = [[] for _ in labels]
    for j, (op, inputs) in enumerate(cell.nodes):
        for place, k in enumerate(inputs):
            role = str(place) if op == BLEND else ""
            neighbours[first + j].append(("in" + role, k))
            neighbours[k].append(("out" + role, first + j))
    for i, out in enumerate(cell.outputs):
        neighbours[out].append(("next", 1 + i))
        neighbours[1 + i].append(("previous", out))
    found = list(labels)
    for _ in range(DEPTH):
        labels = [
            _digest(label + "|" + ",".join(sorted(role + labels[k] for role, k in near)))
            for label, near in zip(labels, neighbours, strict=True)
        ]
        found.extend(labels)
    return found


@functools.lru_cache(maxsize=65_536)
def _digest(text: str) -> str:
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()


def counts(cells: Sequence[Cell]) -> Floats:
    """(cells, BUCKETS) natural logarithms log(1 + count) of the number of words in each bucket."""
    table = np.zeros((len(cells), BUCKETS))
    for row, cell in enumerate(cells):
        for word in words(cell):
            table[row, int(_digest(word), 16) % BUCKETS] += 1.0
    return np.asarray(exact.log(1.0 + table))


BASIS = Path(__file__).with_name("basis.npz")
"""File of principal components of 3,000 cells, made by `python -m hpo_envs.tables.fit_cells` of commit d3d760a3."""


@functools.cache
def _basis() -> tuple[Floats, Floats, Floats, Floats]:
    """Mean (BUCKETS,), components (BUCKETS, SIZE), low and high of each component (SIZE,) among generated cells."""
    with np.load(BASIS, allow_pickle=False) as data:
        return tuple(data[k].astype(np.float64) for k in ("mean", "components", "low", "high"))


def embed(cells: Sequence[Cell]) -> Floats:
    """(cells, SIZE) features in [0, 1]; the first 10 columns are the 10-dimensional embedding."""
    mean, components, low, high = _basis()
    scores = exact.product(counts(cells) - mean, components)
    return np.asarray(np.round(np.clip((scores - low) / (high - low), 0.0, 1.0), DECIMALS) + 0.0, dtype=np.float64)

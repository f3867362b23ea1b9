"""Phoneme errors of pronunciations, all at once."""

from __future__ import annotations

import numpy as np

from hpo_envs.tables.datasets.charmini.training.batches import BOUNDARY, Ints


def distances(a: Ints, b: Ints) -> Ints:
    """(n,) least numbers of insertions, deletions and substitutions between rows, padded with `BOUNDARY`.

    Args:
        a: (n, i) symbols.
        b: (n, j) symbols.
    """
    ends_a, ends_b = (a != BOUNDARY).sum(axis=1), (b != BOUNDARY).sum(axis=1)
    table = np.empty((a.shape[1] + 1, b.shape[1] + 1, len(a)), np.int64)
    table[:, 0], table[0] = np.arange(a.shape[1] + 1)[:, None], np.arange(b.shape[1] + 1)[:, None]
    for i in range(a.shape[1]):
        kept = table[i, :-1] + (a[:, i] != b.T)
        np.minimum(kept, table[i, 1:] + 1, out=table[i + 1, 1:])
        for j in range(b.shape[1]):
            np.minimum(table[i + 1, j + 1], table[i + 1, j] + 1, out=table[i + 1, j + 1])
    return np.asarray(table[ends_a, ends_b, np.arange(len(a))])

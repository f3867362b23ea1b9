"""Phoneme errors of pronunciations, all at once."""

from __future__ import annotations

import numpy as np

from hpo_envs.families.charmini.training.batches import Ints


def distances(a: Ints, b: Ints, boundary: int) -> Ints:
    """(n,) least numbers of insertions, deletions and substitutions between rows, padded with the boundary.

    Args:
        a: (n, i) symbols.
        b: (n, j) symbols.
        boundary: The symbol that is none of a pronunciation.
    """
    ends_a, ends_b = (a != boundary).sum(axis=1), (b != boundary).sum(axis=1)
    table = np.empty((a.shape[1] + 1, b.shape[1] + 1, len(a)), np.int64)
    table[:, 0], table[0] = np.arange(a.shape[1] + 1)[:, None], np.arange(b.shape[1] + 1)[:, None]
    for i in range(a.shape[1]):
        kept = table[i, :-1] + (a[:, i] != b.T)
        np.minimum(kept, table[i, 1:] + 1, out=table[i + 1, 1:])
        for j in range(b.shape[1]):
            np.minimum(table[i + 1, j + 1], table[i + 1, j] + 1, out=table[i + 1, j + 1])
    return np.asarray(table[ends_a, ends_b, np.arange(len(a))])

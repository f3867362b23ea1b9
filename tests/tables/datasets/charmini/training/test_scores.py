from __future__ import annotations

import numpy as np
from nltk.metrics.distance import edit_distance

from hpo_envs.tables.datasets.charmini.training.scores import distances

BOUNDARY = 39


def padded(rng, width):
    rows = np.full((200, width), BOUNDARY)
    for row in rows:
        n = rng.integers(width + 1)
        row[:n] = rng.integers(4, size=n)
    return rows


def test_distances_are_nltks():
    rng = np.random.default_rng(0)
    a, b = padded(rng, 12), padded(rng, 10)
    words = ([[s for s in row if s != BOUNDARY] for row in rows] for rows in (a.tolist(), b.tolist()))
    assert distances(a, b, BOUNDARY).tolist() == [edit_distance(x, y) for x, y in zip(*words, strict=True)]

"""Which candidates a model scores where scoring all of them at every step would take too long."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Rows = npt.NDArray[np.intp]

AFFORDABLE = 20_000
"""Candidates up to which all are scored."""

INCUMBENTS = 5
"""Best candidates so far whose neighbours are scored."""

NEIGHBOURS = 100
"""Nearest candidates of each of them."""

RANDOM = 1500
"""Random candidates that are scored."""


class Pool:
    """Candidates worth a score: neighbours of the best ones so far, and random ones.

    Model-based optimisers of large or infinite spaces maximise their acquisition function so: near the incumbents and
    at random points (Hutter et al. 2011, section 4.3). The nearest candidates of an incumbent are looked up once.

    Args:
        features: (n, d) float64 of all candidates.
    """

    def __init__(self, features: Floats) -> None:
        self._features = features
        self._near: dict[int, Rows] = {}

    def draw(self, rows: Sequence[int], scores: Floats, free: npt.NDArray[np.bool_], rng: np.random.Generator) -> Rows:
        """Candidates to score, ascending, a free one among them.

        Args:
            rows: (t,) candidates observed.
            scores: (t,) how good they were.
            free: (n,) which may be asked for.
            rng: Draws the random ones, which are free.
        """
        best = dict.fromkeys(rows[i] for i in np.argsort(-scores, kind="stable")[: 2 * INCUMBENTS])
        self._near = {k: self._near[k] if k in self._near else self._nearest(k) for k in list(best)[:INCUMBENTS]}
        others = np.flatnonzero(free)
        drawn = rng.choice(others, min(RANDOM, len(others)), replace=False)
        return np.unique(np.concatenate([drawn, *self._near.values()]))

    def _nearest(self, k: int) -> Rows:
        offsets = self._features - self._features[k]
        distances = np.einsum("ij,ij->i", offsets, offsets)
        many = min(NEIGHBOURS, len(distances) - 1)
        return np.argpartition(distances, many)[: many + 1]

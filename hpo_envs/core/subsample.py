"""Subsample and order of the configurations of an episode, drawn from its key, so that both forms agree.

With `shuffle=True` the k-th action of one episode is not the k-th of the next; with `subsample < 1` each episode has
only some of the configurations. Either way the index of an action carries no information between episodes.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from hpo_envs.checks import shown
from hpo_envs.tables import draws

_STREAM = 1 << 40
"""Counter of the view's draws: engines draw with counters below it."""

KEPT = 2**20
"""Rows of all episodes that are kept: 8 MB."""

Rows = npt.NDArray[np.int64]


@dataclass(frozen=True)
class View:
    """The rows of an episode.

    Attributes:
        shuffle: Whether each episode has its own order of the configurations; else the table's.
        subsample: Fraction of the configurations that each episode has, drawn from its key, in (0, 1]; at least one.

    Raises:
        ValueError: A `shuffle` that is no bool, or a subsample outside (0, 1].
    """

    shuffle: bool = False
    subsample: float = 1.0

    def __post_init__(self) -> None:
        if not isinstance(self.shuffle, (bool, np.bool_)):
            raise ValueError(f"shuffle must be True or False, got {shown(self.shuffle)}")
        number = isinstance(self.subsample, (int, float, np.integer, np.floating))
        if not number or isinstance(self.subsample, (bool, np.timedelta64)) or not 0.0 < self.subsample <= 1.0:
            raise ValueError(f"subsample must be a number in (0, 1], got {shown(self.subsample)}")

    @cached_property
    def whole(self) -> bool:
        """Whether action k is row k in every episode, so that no mapping is needed."""
        return not self.shuffle and self.subsample == 1.0

    def size(self, rows: int) -> int:
        """Rows that an episode has of a table of so many."""
        return max(1, round(self.subsample * rows))

    def rows(self, key: int, rows: int) -> Rows:
        """(size,) the table row of each action in the episode with this key."""
        out: Rows = self.rows_many(np.array([key], np.uint64), rows)[0]
        return out

    def rows_many(self, keys: draws.Keys, rows: int) -> Rows:
        """(k, size) `rows` for k episodes."""
        if self.whole:
            return np.broadcast_to(np.arange(rows), (len(keys), rows))
        if len(keys) * rows > KEPT:
            return self._drawn(keys, rows)
        return _again(self, np.asarray(keys, np.uint64).tobytes(), rows)

    def _drawn(self, keys: draws.Keys, rows: int) -> Rows:
        hashes = draws.mix_many(draws.mix_many(keys, _STREAM)[:, None], np.arange(rows))
        size = self.size(rows)
        if not self.shuffle:  # which rows, not their order: a third of the time of sorting
            kept = hashes <= np.partition(hashes, size - 1, axis=1)[:, size - 1 : size]
            if np.count_nonzero(kept) == len(keys) * size:  # no two hashes are equal
                return kept.nonzero()[1].reshape(-1, size)
        drawn: Any = hashes.argsort(axis=1, kind="stable")[:, :size]
        return drawn if self.shuffle else np.sort(drawn, axis=1)


@functools.lru_cache(maxsize=2)
def _again(view: View, keys: bytes, rows: int) -> Rows:
    """`View.rows_many`, kept: agents are compared, and runs are replayed, on the same episodes one after the other."""
    drawn = view._drawn(np.frombuffer(keys, np.uint64), rows)
    drawn.flags.writeable = False
    return drawn


def first_key(seed: int) -> int:
    """The key of the first episode after `reset(seed=seed)`."""
    return draws.mix(draws.mix(seed, 0), 1)


WHOLE = View()
"""Every row, in the table's order."""

"""`shuffle` and `subsample`: rows of an episode and their order, drawn from the episode's key; flags of episodes.

With `shuffle=True` the k-th action is another configuration in each episode; with `subsample < 1` each episode has only
some of the configurations, in the table's order unless shuffled. An index may name another row in each episode.
"""

import functools
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from hpo_envs.tables import draws
from hpo_envs.tables.checks import check_bool, shown
from hpo_envs.tables.table import is_number

_STREAM = 1 << 40
"""Counter of the view's draws: engines that have views draw with counters below it."""

KEPT = 2**20
"""Largest number of rows, over all episodes of a draw, with which the draw is cached: at most 8 MB each."""

Rows = npt.NDArray[np.int64]


@dataclass(frozen=True)
class View:
    """The rows of a table that an episode has, and their order.

    Attributes:
        shuffle: Whether each episode has its own order of the configurations, instead of the table's.
        subsample: Fraction, in (0, 1], of the configurations that an episode has, drawn from its key; at least one row.

    Raises:
        ValueError: `shuffle` is not a bool, or `subsample` is not a number in (0, 1].
    """

    shuffle: bool = False
    subsample: float = 1.0

    def __post_init__(self) -> None:
        check_bool("shuffle", self.shuffle)
        if not is_number(self.subsample) or not 0 < self.subsample <= 1:
            raise ValueError(f"subsample must be a number in (0, 1], got {shown(self.subsample)}")

    @cached_property
    def whole(self) -> bool:
        """Whether action k is row k in every episode, so that no mapping is needed."""
        return not self.shuffle and self.subsample == 1.0

    def size(self, rows: int) -> int:
        """Return the number of rows that an episode has on a table with `rows` rows, at least 1."""
        return max(1, round(self.subsample * rows))

    def most(self, costs: npt.NDArray[np.float64]) -> float:
        """Return the largest sum of (tables, rows, k) costs that the rows of an episode can have."""
        if (size := self.size(costs.shape[1])) < costs.shape[1]:
            last = costs.sum(axis=2).argsort(axis=1)[:, -size:, None]
            costs = np.take_along_axis(costs, last, axis=1)
        return float(costs.reshape(len(costs), -1).sum(axis=1).max())

    def rows(self, key: int, rows: int) -> Rows:
        """Return the (size,) table rows of the episode with this key; may be read-only."""
        out: Rows = self.rows_many(np.array([key], np.uint64), rows)[0]
        return out

    def rows_many(self, keys: draws.Keys, rows: int) -> Rows:
        """Return the (k, size) table rows of the k episodes with these keys; may be read-only."""
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
    """Return `View._drawn`, read-only; cached because agents are compared, and runs replayed, on equal episodes."""
    drawn = view._drawn(np.frombuffer(keys, np.uint64), rows)
    drawn.flags.writeable = False
    return drawn


WHOLE = View()
"""Every row, in the table's order."""


REPLAYED = 32
"""Number of recorded steps from which reading the current flags also stores them as bits."""

Bits = npt.NDArray[np.uint8]
Since = npt.NDArray[np.int64]


class ClearedFlags:
    """Flags of n episodes, k each: all are set at the start, and each step clears one flag of every episode.

    A step only records which flags it clears; flags are computed when read, and after many steps stored as bits.

    Args:
        n: Number of episodes.
        k: Number of flags per episode.
    """

    def __init__(self, n: int, k: int) -> None:
        self._shape, self._most = (n, k), max(REPLAYED, k // 8)  # steps that take the memory of (n, k) bytes
        self._bits: Bits | None = None
        self._log: list[npt.NDArray[np.int64]] = []  # what was cleared since
        # (n,) step of the log before which each episode started, -1 if before the log; None: -1 for all.
        self._since: Since | None = None

    def clear(self, columns: npt.NDArray[np.int64]) -> None:
        """Clear one flag of each episode, by its index in `columns` (n,), which must not be changed afterwards."""
        self._log.append(columns)
        if len(self._log) == self._most:
            self.snapshot()()

    def restart(self, episodes: npt.NDArray[np.intp]) -> None:
        """Set all flags of the episodes with these indices."""
        n, _ = self._shape
        if len(episodes) == n:
            self._bits, self._log, self._since = None, [], None
            return
        self._since = np.full(n, -1) if self._since is None else self._since.copy()
        self._since[episodes] = len(self._log)

    def snapshot(self) -> Callable[[], npt.NDArray[np.bool_]]:
        """Return a function that returns the (n, k) flags of this moment as a fresh array at each call."""
        return functools.partial(self._replay, self._bits, self._log, len(self._log), self._since)

    def _replay(
        self, bits: Bits | None, log: list[npt.NDArray[np.int64]], length: int, since: Since | None
    ) -> npt.NDArray[np.bool_]:
        n, k = self._shape
        if bits is None:
            array = np.ones((n, k), bool)
        else:
            array = np.unpackbits(bits, axis=1, count=k, bitorder="little").view(bool)
        if since is not None:
            array[since >= 0] = True
        if length:
            cleared = np.concatenate(log[:length]).reshape(length, n) + np.arange(0, n * k, k)
            if since is not None:
                cleared = cleared[np.arange(length)[:, None] >= since]
            array.reshape(-1)[cleared.reshape(-1)] = False
        if length >= REPLAYED and log is self._log and length == len(log) and since is self._since:
            self._bits, self._log, self._since = np.packbits(array, axis=1, bitorder="little"), [], None
        return array

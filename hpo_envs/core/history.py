"""Masks of actions as they were after any step of a batch."""

from __future__ import annotations

import functools
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

KEPT = 32
"""Steps that are replayed at every reading, at most, where every mask is read."""

Bits = npt.NDArray[np.uint8]
Since = npt.NDArray[np.int64]


class History:
    """Flags of n episodes, k each: all are set at the start, and each step clears one flag of every episode.

    A step notes what it clears; flags are made when somebody reads them, then kept as bits.

    Args:
        n: Episodes.
        k: Flags of each.
    """

    def __init__(self, n: int, k: int) -> None:
        self._shape, self._most = (n, k), max(KEPT, k // 8)  # steps that take the memory of (n, k) bytes
        self._bits: Bits | None = None
        self._log: list[npt.NDArray[np.int64]] = []  # what was cleared since
        # (n,) step of the log before which each episode started, -1 if before the log; None: -1 for all.
        self._since: Since | None = None

    def clear(self, columns: npt.NDArray[np.int64]) -> None:
        """Clears a flag of each episode; the (n,) array must be left alone from now on."""
        self._log.append(columns)
        if len(self._log) == self._most:
            self.then()()

    def restart(self, episodes: npt.NDArray[np.intp]) -> None:
        """Restarts these episodes."""
        n, _ = self._shape
        if len(episodes) == n:
            self._bits, self._log, self._since = None, [], None
            return
        self._since = np.full(n, -1) if self._since is None else self._since.copy()
        self._since[episodes] = len(self._log)

    def then(self) -> Callable[[], npt.NDArray[np.bool_]]:
        """Returns a function that makes the (n, k) flags as they are now, a fresh array at each call."""
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
        if length >= KEPT and log is self._log and length == len(log) and since is self._since:
            self._bits, self._log, self._since = np.packbits(array, axis=1, bitorder="little"), [], None
        return array

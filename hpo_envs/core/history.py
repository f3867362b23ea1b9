"""What an info says and few read: masks as they were at any step, entries that are made when they are used."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

Bits = npt.NDArray[np.uint8]
Columns = npt.NDArray[np.unsignedinteger]


KEPT = 32
"""Steps after which what was cleared is written into the bits, at least."""

BLOCK = 1 << 18
"""Flags that are handled at once where there are many: these stay in cache."""


class History:
    """An (n, k) array of flags, one row an episode: bits, and which flags were cleared since they were written.

    All flags of an episode are set when it starts; each step clears one of every episode.

    Args:
        n: Episodes.
        k: Flags of each.
        steps: Steps of an episode, where `count` is asked for: nothing is written into bits then.
    """

    def __init__(self, n: int, k: int, steps: int | None = None) -> None:
        dtype = np.min_scalar_type(max(k - 1, 0))
        self._flags, self._counted = k, steps is not None
        self._bits: Bits | None = None
        self._log = np.empty((steps_kept(k) if steps is None else steps + 1, n), dtype)
        self._length = 0
        # (n,) step of the log before which each episode started, -1 if before the log; None: no one within the log.
        self._since: npt.NDArray[np.int64] | None = None

    def clear(self, columns: npt.NDArray[np.integer]) -> None:
        """Clears a flag of each episode, (n,)."""
        if self._length == len(self._log):
            self._make_room()
        self._log[self._length] = columns
        self._length += 1

    def count(self, columns: npt.NDArray[np.integer]) -> npt.NDArray[np.integer]:
        """(n,) how often a flag of each episode was cleared since the episode started; needs `steps`."""
        n, length = self._log.shape[1], self._length
        dtype: Any = np.uint8 if length < 256 else np.int64
        wanted, rows = columns.astype(self._log.dtype), max(1, BLOCK // n)
        total = np.zeros(n, dtype) if rows < length else None
        for first in range(0, length, rows):
            same = self._log[first : min(first + rows, length)] == wanted
            if self._since is not None:
                same &= np.arange(first, first + len(same))[:, None] >= self._since
            found = np.add.reduce(same.view(np.uint8), axis=0, dtype=dtype)
            if total is None:
                return found
            total += found
        return np.zeros(n, dtype) if total is None else total

    def restart(self, episodes: npt.NDArray[np.intp]) -> None:
        """Starts these episodes anew."""
        if len(episodes) == self._log.shape[1]:
            self._bits, self._since = None, None
            self._log, self._length = np.empty_like(self._log), 0
            return
        self._since = np.full(self._log.shape[1], -1) if self._since is None else self._since.copy()
        self._since[episodes] = self._length

    def then(self) -> Callable[[], npt.NDArray[np.bool_]]:
        """What returns the array as it is now, each time another one, whenever it is called."""
        return functools.partial(_replayed, self._flags, self._bits, self._log, self._since, self._length)

    def _make_room(self) -> None:
        if not self._counted:
            self._bits, self._since, self._length = self._packed(), None, 0
            self._log = np.empty_like(self._log)
            return
        first = 0 if self._since is None else max(int(self._since.min()), 0)
        log, self._length = self._log[first:], self._length - first
        self._since = None if self._since is None else self._since - first
        room = np.empty((max(len(log), KEPT), log.shape[1]), log.dtype)  # nothing is left where all began again
        self._log = np.concatenate([log, room])

    def _packed(self) -> Bits:
        n, k, rows = self._log.shape[1], self._flags, max(1, BLOCK // max(self._flags, 1))
        packed = np.empty((n, -(-k // 8)), np.uint8)
        for part in (slice(first, first + rows) for first in range(0, n, rows)):
            bits = None if self._bits is None else self._bits[part]
            since = None if self._since is None else self._since[part]
            packed[part] = np.packbits(
                _replayed(k, bits, self._log[:, part], since, self._length), axis=1, bitorder="little"
            )
        return packed


def steps_kept(k: int) -> int:
    """Steps whose flags, of k, take as much memory as bits of all, or a few."""
    return max(KEPT, k // (8 * np.min_scalar_type(max(k - 1, 0)).itemsize))


def _replayed(
    k: int, bits: Bits | None, log: Columns, since: npt.NDArray[np.int64] | None, length: int
) -> npt.NDArray[np.bool_]:
    n, log = log.shape[1], log[:length]
    if bits is None:
        array = np.ones((n, k), bool)
    else:
        array = np.unpackbits(bits, axis=1, count=k, bitorder="little").view(bool)
    cleared = log + np.arange(0, n * k, k) if k else log
    if since is not None:
        array[since >= 0] = True
        cleared = cleared[np.arange(len(log))[:, None] >= since]
    array.reshape(-1)[cleared.reshape(-1)] = False
    return array


class Rewind:
    """An array that its owner writes into, as it was before: each write leaves what it overwrote.

    What was overwritten is kept as long as somebody holds an earlier moment, and no longer.

    Args:
        array: Written into by its owner, who says so by `write` before.
    """

    def __init__(self, array: npt.NDArray[Any]) -> None:
        self._array, self._moment = array, _Moment()

    def write(self, where: Any, before: npt.NDArray[Any]) -> None:
        """Notes what is at an index now; that array must be left alone from now on."""
        moment = _Moment()
        self._moment.then = (where, before, moment)
        self._moment = moment

    def then(self) -> Callable[[], npt.NDArray[Any]]:
        """What returns a copy of the array as it is now, whenever it is called."""
        return functools.partial(_rewound, self._array, self._moment)


class _Moment:
    """A moment in time; `then`: what the next write overwrote, and the moment after it."""

    __slots__ = ("then",)

    def __init__(self) -> None:
        self.then: tuple[Any, npt.NDArray[Any], _Moment] | None = None


def _rewound(array: npt.NDArray[Any], moment: _Moment) -> npt.NDArray[Any]:
    array, writes = array.copy(), []
    while moment.then is not None:
        where, before, moment = moment.then
        writes.append((where, before))
    for where, before in reversed(writes):
        array[where] = before
    return array


class Later(dict[str, Any]):
    """A dict whose entries are made when it is first used; in every other way a dict.

    Args:
        make: Makes the entries; it must not depend on anything that changes.
        entries: Entries that are there already; wrappers that convert values rebuild a mapping of its kind by keywords.
    """

    __slots__ = ("_make",)

    def __init__(self, make: Callable[[], Mapping[str, Any]] | None = None, /, **entries: Any) -> None:
        super().__init__(later=None)  # C code that asks for the length first, as json's, must not find it empty
        self._make: Callable[[], Mapping[str, Any]] | None = make or (lambda: entries)

    def _fill(self) -> None:
        if self._make is not None:
            make, self._make = self._make, None
            dict.clear(self)
            dict.update(self, make())

    def change(self, change: Callable[[dict[str, Any]], object]) -> None:
        """Changes the entries, as soon as they are made."""
        if self._make is None:
            change(self)
            return
        before = self._make

        def make() -> dict[str, Any]:
            entries = dict(before())
            change(entries)
            return entries

        self._make = make

    def __reduce__(self) -> Any:
        """Becomes a plain dict where it is pickled or copied."""
        return dict, (dict(self),)

    __hash__ = None  # type: ignore[assignment]


def _filled(name: str) -> Callable[..., Any]:
    method = getattr(dict, name)

    def use(self: Later, *args: Any, **kwargs: Any) -> Any:
        self._fill()
        return method(self, *args, **kwargs)

    return use


_METHODS = (
    *("contains", "delitem", "eq", "getitem", "ior", "iter", "len", "ne", "or", "repr", "reversed", "ror", "setitem"),
)
for _name in (*(f"__{n}__" for n in _METHODS), *(n for n in vars(dict) if not n.startswith("_") and n != "fromkeys")):
    setattr(Later, _name, _filled(_name))

"""What an info says and few read: masks as they were at any step, entries that are made when they are used."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

Bits = npt.NDArray[np.uint8]
Write = tuple[npt.NDArray[np.intp], npt.NDArray[np.intp] | None]
"""Episodes, and what is cleared of each; None: nothing any more."""


KEPT = 32
"""Steps after which what was cleared is written into the bits, at least."""

FEW = 64
"""Episodes up to which all writes are made at once: fewer calls, each entry ten times slower."""

_LEFT = ~(np.uint8(1) << np.arange(8, dtype=np.uint8))


class History:
    """An (n, k) array of flags, one row an episode: bits, and what was cleared since they were written.

    All flags of an episode are set when it starts.

    Args:
        n: Episodes.
        k: Flags of each.
    """

    def __init__(self, n: int, k: int) -> None:
        self._shape, self._most = (n, k), max(KEPT, k // 64)  # whose columns take as much memory as the bits
        self._base: Bits | None = None
        self._log = list[Write]()

    def clear(self, episodes: npt.NDArray[np.intp], columns: npt.NDArray[np.intp]) -> None:
        """Clears a flag of each of these episodes, all different; the arrays must be left alone from now on."""
        if len(self._log) > self._most:
            self._base, self._log = self._packed(), []
        self._log.append((episodes, columns))

    def restart(self, episodes: npt.NDArray[np.intp]) -> None:
        """Starts these episodes anew."""
        if len(episodes) == self._shape[0]:
            self._base, self._log = None, []
        else:
            self._log.append((episodes, None))

    def then(self) -> Callable[[], npt.NDArray[np.bool_]]:
        """What returns the array as it is now, each time another one, whenever it is called."""
        return functools.partial(_replayed, self._shape, self._base, self._log, len(self._log))

    def _packed(self) -> Bits:
        n, k = self._shape
        bits = np.full((n, -(-k // 8)), 255, np.uint8) if self._base is None else self._base.copy()
        width, flat = bits.shape[1], bits.reshape(-1)
        for restart, writes in itertools.groupby(self._log, lambda write: write[1] is None):
            if restart:
                for episodes, _ in writes:
                    bits[episodes] = 255
                continue
            each: Any = list(writes)
            for rows, columns in each if n > FEW else [map(np.concatenate, zip(*each, strict=True))]:
                at, left = rows * width + (columns >> 3), _LEFT.take(columns & 7)
                if n > FEW:
                    flat[at] &= left  # an episode is in a write once
                else:
                    np.bitwise_and.at(flat, at, left)
        return bits


def _replayed(shape: tuple[int, int], base: Bits | None, log: list[Write], length: int) -> npt.NDArray[np.bool_]:
    if base is None:
        array = np.ones(shape, bool)
    else:
        array = np.unpackbits(base, axis=1, count=shape[1], bitorder="little").view(bool)
    for episodes, columns in log[:length]:
        if columns is None:
            array[episodes] = True
        else:
            array[episodes, columns] = False
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

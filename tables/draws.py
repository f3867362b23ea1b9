"""Randomness from (key, counters): every draw is a hash, so order and batching change nothing.

The mixer is SplitMix64's finaliser (Steele, Lea and Flood 2014). Scalar functions work on Python ints, batched
ones on uint64 arrays, and the two agree bit for bit.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Keys = npt.NDArray[np.uint64]

_MASK = (1 << 64) - 1
_GAMMA = 0x9E3779B97F4A7C15
_M1 = 0xBF58476D1CE4E5B9
_M2 = 0x94D049BB133111EB
_BELOW_ONE = 1.0 - 2.0**-53


def mix(key: int, counter: int) -> int:
    """Hashes (key, counter) to 64 bits."""
    z = (key ^ ((counter + 1) * _GAMMA)) & _MASK
    z = ((z ^ (z >> 30)) * _M1) & _MASK
    z = ((z ^ (z >> 27)) * _M2) & _MASK
    z ^= z >> 31
    # A second round, because keys and counters are both small consecutive numbers.
    z = ((z ^ (z >> 30)) * _M1) & _MASK
    z = ((z ^ (z >> 27)) * _M2) & _MASK
    return z ^ (z >> 31)


def mix_many(keys: Keys, counters: npt.ArrayLike) -> Keys:
    """`mix` for arrays that broadcast; equal to it bit for bit."""
    c = np.atleast_1d(np.asarray(counters)).astype(np.uint64)
    return _finalise(_finalise(keys ^ ((c + np.uint64(1)) * np.uint64(_GAMMA))))


def sequence(seed: Keys, n: int) -> Keys:
    """(n,) the first outputs of the generator SplitMix64 itself, started at a seed (of shape () or (1,))."""
    return _finalise(seed + np.arange(1, n + 1, dtype=np.uint64) * np.uint64(_GAMMA))


def _finalise(z: Keys) -> Keys:
    """SplitMix64's finaliser, in place: arrays that are made anew cost more than the arithmetic."""
    shifted = z >> np.uint64(30)
    z ^= shifted
    z *= np.uint64(_M1)
    np.right_shift(z, np.uint64(27), out=shifted)
    z ^= shifted
    z *= np.uint64(_M2)
    np.right_shift(z, np.uint64(31), out=shifted)
    z ^= shifted
    return z


def below(bits: int, n: int) -> int:
    """An integer in [0, n) from 64 random bits; n must be below 2**21 (then bias is below 2**-43)."""
    return ((bits >> 21) * n) >> 43


def below_many(bits: Keys, n: int | npt.NDArray[np.integer]) -> npt.NDArray[np.int64]:
    """`below` for arrays; equal to it bit for bit."""
    return (((bits >> np.uint64(21)) * np.asarray(n, dtype=np.uint64)) >> np.uint64(43)).astype(np.int64)


def uniform(bits: int) -> float:
    """A float in the open interval (0, 1) from 64 random bits."""
    # The sum of the largest 53 bits and a half rounds up to 1.
    return min(((bits >> 11) + 0.5) * 2.0**-53, _BELOW_ONE)


def uniform_many(bits: Keys) -> npt.NDArray[np.float64]:
    """`uniform` for arrays; equal to it bit for bit."""
    return np.minimum(((bits >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-53, _BELOW_ONE)

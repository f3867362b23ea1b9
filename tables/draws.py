"""Counter-based random numbers: a draw is a hash of (key, counters), so order and batching change nothing.

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
# Arrays without dimensions: half the time of NumPy's scalars in a small ufunc.
_ONE, _GAMMAS, _M1S, _M2S = (np.array(v, np.uint64) for v in (1, _GAMMA, _M1, _M2))
_11, _21, _27, _30, _31, _43 = (np.array(v, np.uint64) for v in (11, 21, 27, 30, 31, 43))


def mix(key: int, counter: int) -> int:
    """Hash (key, counter) to 64 bits."""
    z = (key ^ ((counter + 1) * _GAMMA)) & _MASK
    z = ((z ^ (z >> 30)) * _M1) & _MASK
    z = ((z ^ (z >> 27)) * _M2) & _MASK
    z ^= z >> 31
    # A second round, because keys and counters are both small consecutive numbers.
    z = ((z ^ (z >> 30)) * _M1) & _MASK
    z = ((z ^ (z >> 27)) * _M2) & _MASK
    return z ^ (z >> 31)


def mix_many(keys: Keys, counters: npt.ArrayLike) -> Keys:
    """`mix` for arrays that broadcast, to at least one dimension; equal to it bit for bit."""
    c = np.array(counters, np.uint64, ndmin=1)
    if keys.size == c.size == 1:
        return np.full_like(keys ^ c, mix(keys.item(), c.item()))
    c += _ONE
    c *= _GAMMAS
    return _finalise(keys ^ c, 2)


def sequence(seed: Keys, n: int) -> Keys:
    """(n,) first outputs of the SplitMix64 generator for a seed of shape () or (1,)."""
    return _finalise(seed + np.arange(1, n + 1, dtype=np.uint64) * _GAMMAS, 1)


def _finalise(z: Keys, rounds: int) -> Keys:
    """Apply SplitMix64's finaliser in place, because new arrays cost more than the arithmetic, and return `z`."""
    shifted = np.empty_like(z)
    for _ in range(rounds):
        np.right_shift(z, _30, shifted)
        z ^= shifted
        z *= _M1S
        np.right_shift(z, _27, shifted)
        z ^= shifted
        z *= _M2S
        np.right_shift(z, _31, shifted)
        z ^= shifted
    return z


def below(bits: int, n: int) -> int:
    """An integer in [0, n) from 64 random bits; n must be below 2**21 (then bias is below 2**-43)."""
    return ((bits >> 21) * n) >> 43


def below_many(bits: Keys, n: int | npt.NDArray[np.integer]) -> npt.NDArray[np.int64]:
    """`below` for arrays; equal to it bit for bit."""
    drawn: Keys = bits >> _21
    drawn *= np.asarray(n, dtype=np.uint64)
    drawn >>= _43
    return drawn.view(np.int64)


def uniform(bits: int) -> float:
    """A float in the open interval (0, 1) from 64 random bits."""
    # The sum of the largest 53 bits and a half rounds up to 1.
    return min(((bits >> 11) + 0.5) * 2.0**-53, _BELOW_ONE)


def uniform_many(bits: Keys) -> npt.NDArray[np.float64]:
    """`uniform` for arrays; equal to it bit for bit."""
    return np.minimum(((bits >> _11).astype(np.float64) + 0.5) * 2.0**-53, _BELOW_ONE)

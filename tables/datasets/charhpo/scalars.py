"""Functions of one number with the bits of `exact` and `draws`, for compiled loops (see `extras`)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from hpo_envs.tables import draws, exact
from hpo_envs.tables.exact import LN2, LN2_HIGH, LN2_LOW, SQRT_HALF
from hpo_envs.tables.extras import jit

_EXP, _LOG, _SIN, _COS = (np.array(coefficients) for coefficients in (exact.EXP, exact.LOG, exact.SIN, exact.COS))

_GAMMA, _M1, _M2 = (np.uint64(v) for v in draws.CONSTANTS)
_1, _11, _27, _30, _31 = (np.uint64(v) for v in (1, 11, 27, 30, 31))


@jit
def _polynomial(coefficients: Any, x: float) -> float:
    y: float = coefficients[0] * x + coefficients[1]
    for c in coefficients[2:]:
        y = y * x + c
    return y


@jit
def exp(x: float) -> float:
    """`exact.exp` of a number in [-700, 700]."""
    k = np.rint(x / LN2)
    r = (x - k * LN2_HIGH) - k * LN2_LOW
    return math.ldexp(1.0 + _polynomial(_EXP, r) * r, int(k))


@jit
def log(x: float) -> float:
    """`exact.log` of a positive number."""
    m, e = math.frexp(x)
    if m < SQRT_HALF:
        m, e = m * 2.0, e - 1
    f = m - 1.0
    s = f / (2.0 + f)
    z = s * s
    return float(e * LN2_HIGH + (2.0 * s + (s * (z * _polynomial(_LOG, z)) + e * LN2_LOW)))


@jit
def circle(u: float) -> tuple[float, float]:
    """`exact.circle` of one angle, in turns."""
    q = np.rint(4.0 * u)
    a = (u - 0.25 * q) * (2.0 * math.pi)
    z = a * a
    c, s = 1.0 + z * _polynomial(_COS, z), a + a * (z * _polynomial(_SIN, z))
    quarter = int(q) % 4
    if quarter == 0:
        return c, s
    if quarter == 1:
        return -s, c
    return (-c, -s) if quarter == 2 else (s, -c)


@jit
def mix(key: Any, counter: Any) -> Any:
    """`draws.mix` of two uint64."""
    z = key ^ ((counter + _1) * _GAMMA)
    for _ in range(2):
        z = (z ^ (z >> _30)) * _M1
        z = (z ^ (z >> _27)) * _M2
        z ^= z >> _31
    return z


@jit
def uniform(bits: Any) -> float:
    """`draws.uniform` of a uint64."""
    return min((np.float64(bits >> _11) + 0.5) * 2.0**-53, 1.0 - 2.0**-53)

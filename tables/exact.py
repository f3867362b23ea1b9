"""Arithmetic (exp, log, tanh, sums, products) with bit-identical results on every processor.

IEEE 754 specifies the results of +, -, *, / and the square root. It specifies neither those of exp, log and similar
functions, for which NumPy and the C library choose a kernel by the processor's features, nor the order in which BLAS
adds. Computations of environments therefore use the functions below. These consist of the specified operations,
element by element in one order, or of products that are exact (`Factor`). Results of exp, log and tanh differ from
NumPy's by at most a few units in the last place. `np.sum` and similar functions need no substitute: NumPy adds in an
order that depends only on the shape and the memory layout.
"""

import functools
import math
import operator
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from hpo_envs.tables import Floats


def total(values: Iterable[float]) -> float:
    """The sum of floats, from left to right; since Python 3.12 the built-in `sum` compensates for rounding."""
    return functools.reduce(operator.add, values, 0)


def _polynomial(*coefficients: float) -> Callable[[Any], Any]:
    """Evaluator of a polynomial, highest power first; a one-element array is evaluated as a float, which is faster."""

    def value(x: Any) -> Any:
        x = x.item() if type(x) is not float and x.size == 1 else x
        y = coefficients[0] * x + coefficients[1]
        for c in coefficients[2:]:
            y *= x
            y += c
        return y

    return value


def _quotient(top: Sequence[float], bottom: Sequence[float]) -> Callable[[Any], Any]:
    over, under = _polynomial(*top), _polynomial(*bottom)
    return lambda x: over(x) / under(x)


# The logarithm of 2, and as a sum whose first part times any exponent is exact.
_LN2, _LN2_HIGH, _LN2_LOW = 0.6931471805599453, 0.6931471803691238, 1.9082149292705877e-10
_LN10 = 2.302585092994046
_SQRT_HALF = 0.7071067811865476
_SQRT_2PI = 2.5066282746310002

_REACH, _STEPS = 20, 256
"""Argument from which tanh is 1 in double precision, and number of tabulated values per unit of the argument."""

# Series, highest powers first.
_EXP = _polynomial(*(1.0 / math.factorial(i) for i in range(14, 0, -1)))
_LOG = _polynomial(*(2.0 / i for i in range(25, 2, -2)))
_SIN = _polynomial(*((-1.0) ** i / math.factorial(2 * i + 1) for i in range(9, 0, -1)))
_COS = _polynomial(*((-1.0) ** i / math.factorial(2 * i) for i in range(10, 0, -1)))

_CHUNK = 2**16
"""Approximate number of terms of a product that are held in memory at once."""

# Wichura (1988), algorithm AS 241, PPND16: numerators and denominators for the centre, the tails and the far tails.
_CENTRE = _quotient(
    (2.5090809287301226727e3, 3.3430575583588128105e4, 6.7265770927008700853e4, 4.5921953931549871457e4,
     1.3731693765509461125e4, 1.9715909503065514427e3, 1.3314166789178437745e2, 3.3871328727963666080e0),
    (5.2264952788528545610e3, 2.8729085735721942674e4, 3.9307895800092710610e4, 2.1213794301586595867e4,
     5.3941960214247511077e3, 6.8718700749205790830e2, 4.2313330701600911252e1, 1.0),
)  # fmt: skip
_TAIL = _quotient(
    (7.74545014278341407640e-4, 2.27238449892691845833e-2, 2.41780725177450611770e-1, 1.27045825245236838258e0,
     3.64784832476320460504e0, 5.76949722146069140550e0, 4.63033784615654529590e0, 1.42343711074968357734e0),
    (1.05075007164441684324e-9, 5.47593808499534494600e-4, 1.51986665636164571966e-2, 1.48103976427480074590e-1,
     6.89767334985100004550e-1, 1.67638483018380384940e0, 2.05319162663775882187e0, 1.0),
)  # fmt: skip
_FAR = _quotient(
    (2.01033439929228813265e-7, 2.71155556874348757815e-5, 1.24266094738807843860e-3, 2.65321895265761230930e-2,
     2.96560571828504891230e-1, 1.78482653991729133580e0, 5.46378491116411436990e0, 6.65790464350110377720e0),
    (2.04426310338993978564e-15, 1.42151175831644588870e-7, 1.84631831751005468180e-5, 7.86869131145613259100e-4,
     1.48753612908506148525e-2, 1.36929880922735805310e-1, 5.99832206555887937690e-1, 1.0),
)  # fmt: skip


def _elementwise(function: Callable[[Any], Any], low: float = 0.0, high: float = 0.0) -> Callable[[Any], Any]:
    """Extend a function of (n, ...) arrays to arrays of any shape and to floats; suppress floating-point warnings.

    A single number between `low` and `high` is passed as a Python float: a tenth of the time, with identical results.
    """

    @functools.wraps(function)
    def answer(x: Any) -> Any:
        a = np.asarray(x, dtype=np.float64)
        if a.size == 1 and low < (one := a.item()) < high:
            return np.array(function(one), ndmin=a.ndim)[()]
        with np.errstate(all="ignore"):
            return function(np.atleast_1d(a)).reshape(a.shape)[()]

    return answer


@functools.partial(_elementwise, low=-700.0, high=700.0)
def exp(x: Any) -> Any:
    """The exponential."""
    single = type(x) is float
    x = x if single else np.minimum(np.maximum(x, -750.0), 750.0)
    k = round(x / _LN2) if single else np.rint(x / _LN2)
    r = (x - k * _LN2_HIGH) - k * _LN2_LOW
    y = 1.0 + _EXP(r) * r
    return math.ldexp(y, k) if single else np.ldexp(y, k.astype(np.int64))


@functools.partial(_elementwise, high=math.inf)
def log(x: Any) -> Any:
    """The natural logarithm: -inf at 0, NaN below."""
    m, e = math.frexp(x) if type(x) is float else np.frexp(x)
    small = m < _SQRT_HALF
    e = e - small
    f = (m + m * small) - 1.0
    s = f / (2.0 + f)
    z = s * s
    value = e * _LN2_HIGH + (2.0 * s + (s * (z * _LOG(z)) + e * _LN2_LOW))
    if type(x) is float or ((x > 0.0) & (x < np.inf)).all():
        return value
    return np.select([x == 0.0, x < 0.0, x == np.inf], [-np.inf, np.nan, np.inf], value)


def log10(x: Any) -> Any:
    """The logarithm to base 10."""
    return log(x) / _LN10


@functools.cache
def _tanh_table() -> Floats:
    """Values of tanh at the multiples of 1 / _STEPS from -_REACH to _REACH, by Lambert's continued fraction."""
    x = np.arange(-_REACH * _STEPS, _REACH * _STEPS + 1) / _STEPS
    rest = np.zeros_like(x)
    for odd in range(12 * _REACH + 1, 1, -2):
        rest = x * x / (odd + rest)
    return np.asarray(x / (1.0 + rest))


def tanh(x: Floats) -> Floats:
    """The hyperbolic tangent of an array without NaN: from the nearest multiple of 1 / _STEPS, by Taylor's series."""
    x = np.maximum(x, -_REACH)
    np.minimum(x, _REACH, out=x)
    near = x * _STEPS
    np.rint(near, out=near)
    rest = near * (-1.0 / _STEPS)
    rest += x
    near += _REACH * _STEPS
    out = _tanh_table().take(near.astype(np.int64))
    square = np.multiply(rest, rest, out=x)
    small = np.multiply(square, 2.0 / 15.0, out=near)
    small -= 1.0 / 3.0
    small *= square
    small *= rest
    small += rest
    # tanh(a + b) = (tanh a + tanh b) / (1 + tanh a tanh b)
    np.multiply(out, small, out=square)
    square += 1.0
    out += small
    out /= square
    return out


def circle(turns: Any) -> tuple[Any, Any]:
    """Cosines and sines of (n,) angles, or of one, given in turns in [0, 1]."""
    single = type(turns) is float
    q = round(4.0 * turns) if single else np.rint(4.0 * turns).astype(np.int64)
    a = (turns - 0.25 * q) * (2.0 * math.pi)
    z = a * a
    c, s = 1.0 + z * _COS(z), a + a * (z * _SIN(z))
    cosines, sines = (c, -s, -c, s), (s, c, -s, -c)
    return (cosines[q % 4], sines[q % 4]) if single else (np.choose(q % 4, cosines), np.choose(q % 4, sines))


@_elementwise
def normal_quantile(p: Floats) -> Floats:
    """Quantiles of the standard normal distribution at levels in (0, 1)."""
    q = p - 0.5
    value = np.asarray(q * _CENTRE(0.180625 - q * q))
    tail = np.abs(q) > 0.425
    if tail.any():
        r = np.sqrt(-log(np.minimum(p[tail], 1.0 - p[tail])))
        size = np.reshape(_TAIL(r - 1.6), r.shape)
        far = r > 5.0
        if far.any():
            size[far] = _FAR(r[far] - 5.0)
        value[tail] = np.copysign(size, q[tail])
    return value


def normal_level(z: Floats) -> Floats:
    """The standard normal cumulative distribution function at (n,) points, by a series; errors below 1e-15."""
    below = 0.5 + np.array([_series(v) for v in z.tolist()]) * exp(-0.5 * z * z) / _SQRT_2PI
    return np.select([z < -8.5, z > 8.5], [0.0, 1.0], below)


def _series(z: float) -> float:
    """The sum of z, z^3 / 3, z^5 / (3 * 5), ...; 0 if |z| > 8.5, where `normal_level` is 0 or 1."""
    square, term, total, odd = z * z, z if abs(z) <= 8.5 else 0.0, 0.0, 1.0
    while total + term != total:
        total += term
        odd += 2.0
        term *= square / odd
    return total


def product(a: Floats, b: Floats) -> Floats:
    """The product of an (..., n) array and an (n,) or (n, m) array, with sums in a fixed order."""
    if b.ndim == 1:
        return np.asarray((a * b).sum(axis=-1))
    n, m = b.shape
    rows = a.reshape(-1, n)
    out = np.empty((len(rows), m))
    step = max(1, _CHUNK // (n * m))
    for i in range(0, len(rows), step):
        out[i : i + step] = (rows[i : i + step, :, None] * b).sum(axis=1)
    return out.reshape(*a.shape[:-1], m)


class Factor:
    """An (m, n) matrix, rounded so that BLAS computes its products with vectors exactly, in any order of summation.

    The matrix is rounded to b bits (23 if n is 64), such that sums of n products of b-bit numbers fit into 53 bits;
    inputs are split into two parts of b bits each. All numbers must be finite.
    """

    def __init__(self, matrix: Floats) -> None:
        self._bits = (53 - math.ceil(math.log2(matrix.shape[1]))) // 2
        # Adding a large number, and subtracting it, rounds to a multiple of its last bit.
        large = np.abs(matrix).max() * 2.0 ** (53 - self._bits)
        self._matrix = (matrix + large) - large

    def times(self, a: Floats, bound: float) -> Floats:
        """(m, k) product of the matrix and (n, k) numbers up to `bound` in magnitude, rounded relative to it."""
        parts = np.empty((2, *a.shape))
        high, low = parts
        large = bound * 2.0 ** (53 - self._bits)
        np.add(a, large, out=high)
        high -= large
        np.subtract(a, high, out=low)
        large *= 2.0**-self._bits
        low += large
        low -= large
        out, rest = self._matrix @ parts
        out += rest
        return np.asarray(out)


def rounded(x: Floats, bits: int = 40) -> Floats:
    """Round numbers to `bits` of their 53 bits, which hides most differences between libraries in the last bits."""
    drop = 53 - bits
    half, mask = np.int64(1 << (drop - 1)), np.int64(-1 << drop)
    return np.asarray(((np.asarray(x, dtype=np.float64).view(np.int64) + half) & mask).view(np.float64))

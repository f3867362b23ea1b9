"""What random search finds, in closed form.

Dodge et al. (2019), "Show Your Work: Improved Reporting of Experimental Results", define the *expected validation
performance*: the mean of the best of b runs, given n measured ones. Their estimator draws from the n runs with
replacement; a search of a table that never repeats itself draws without.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


def expected_best(
    values: npt.ArrayLike, budgets: npt.ArrayLike | None = None, replacement: bool = True
) -> tuple[Floats, Floats]:
    """Mean and standard deviation of the best of b random runs.

    With replacement P(best <= v) = (#{values <= v} / n)^b (Dodge et al. 2019, section 3.1); without,
    C(#{values <= v}, b) / C(n, b).

    Args:
        values: (n,) scores, higher is better.
        budgets: (m,) numbers of runs, ints >= 1; 1 to n by default.
        replacement: How runs are drawn.

    Returns:
        (m,) means and (m,) standard deviations.

    Raises:
        ValueError: NaN, a budget below 1, or above n without replacement.
    """
    v = np.sort(np.asarray(values, dtype=np.float64))
    if v.ndim != 1 or not len(v) or not np.isfinite(v).all():
        raise ValueError(f"values must be finite and have shape (n >= 1,), got shape {v.shape}")
    n = len(v)
    b = np.arange(1, n + 1) if budgets is None else np.atleast_1d(np.asarray(budgets))
    if b.dtype.kind not in "iu" or (b < 1).any() or (not replacement and (b > n).any()):
        high = "" if replacement else f" and <= {n}"
        raise ValueError(f"budgets must be ints >= 1{high}, got {b}")
    weights = np.diff(below(n, b, replacement), prepend=0.0, axis=1)
    mean = weights @ v
    # About the mean, so that equal values have variance 0 to the last bit.
    deviation = np.sqrt((weights * (v - mean[:, None]) ** 2).sum(axis=1))
    return mean, deviation


def below(n: int, budgets: npt.NDArray[np.integer], replacement: bool) -> Floats:
    """(m, n) probability that all of b runs are among the i lowest, i = 1..n."""
    i, b = np.arange(1, n + 1), budgets[:, None]
    if replacement:
        return np.asarray((i / n) ** b)
    # log C(i, b) - log C(n, b), by cumulated logarithms: no overflow, no loss at small budgets.
    factorial = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, n + 1)))])
    rest = i - b
    logs = factorial[i] - factorial[np.maximum(rest, 0)] - (factorial[n] - factorial[n - b])
    return np.where(rest >= 0, np.exp(logs), 0.0)

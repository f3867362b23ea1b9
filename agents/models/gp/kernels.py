"""Kernels (Matern 5/2, squared exponential), their slopes, and the shared kernel matrices of candidate sets."""

import functools

import numpy as np

from hpo_envs.agents.models import Floats

KERNELS = ("matern52", "rbf")
"""Matern with nu = 5/2 and the squared exponential (Zhang and Duh 2020, section 6.1.1 and footnote 15)."""

LARGEST_SHARED = 4000
"""Largest number of candidates whose whole kernel matrix (then 128 MB) is kept and shared."""


def square_distances(a: Floats, b: Floats) -> Floats:
    """(len(a), len(b)) squared Euclidean distances of two (rows, d) arrays; exact zeros for equal rows."""
    # It adds the columns' squares one after the other; |a|^2 + |b|^2 - 2ab would leave round-off where rows are equal.
    from scipy.spatial.distance import cdist

    return np.asarray(cdist(a, b, "sqeuclidean"))


def of_square_distances(kernel: str, r2: Floats) -> Floats:
    """Values of a kernel at squared distances, in units of the length-scale, of any shape; 1 at distance 0."""
    if kernel == "rbf":
        return np.exp(-0.5 * r2)
    return _matern52(z := np.sqrt(5.0 * r2), np.exp(-z))


def with_slope(kernel: str, r2: Floats) -> tuple[Floats, Floats]:
    """Values of `of_square_distances`, and -2 times their derivatives by the squared distances."""
    if kernel == "rbf":
        value = of_square_distances(kernel, r2)
        return value, value
    z = np.sqrt(5.0 * r2)
    decay = np.exp(-z)
    return _matern52(z, decay), (5.0 / 3.0) * (1.0 + z) * decay


def _matern52(z: Floats, decay: Floats) -> Floats:
    return (1.0 + z + z * z / 3.0) * decay


def gram(kernel: str, features: Floats, length_scale: float) -> Floats:
    """(n, n) read-only kernel matrix of a candidate set; agents on the same candidates share one array."""
    return _gram(kernel, features.tobytes(), features.shape, float(length_scale))


def gram_row(kernel: str, features: Floats, length_scale: float, k: int) -> Floats:
    """(n,) row k of `gram`, for candidate sets whose matrix would not fit in memory."""
    r2 = square_distances(features[k : k + 1] / length_scale, features / length_scale)
    return np.asarray(of_square_distances(kernel, r2)[0])


@functools.lru_cache(maxsize=8)
def _gram(kernel: str, content: bytes, shape: tuple[int, int], length_scale: float) -> Floats:
    x = np.frombuffer(content).reshape(shape) / length_scale
    matrix = of_square_distances(kernel, square_distances(x, x))
    matrix.setflags(write=False)
    return matrix

"""Covariance functions of a candidate set, and a Gaussian process on it."""

import functools
from collections.abc import Callable, Sequence

import numpy as np

from hpo_envs.agents.models import Floats, Indices

KERNELS = ("matern52", "rbf")
"""Matern with nu = 5/2 and the squared exponential (Zhang and Duh 2020, section 6.1.1 and footnote 15)."""

LARGEST_SHARED = 4000
"""Candidates up to which the whole kernel matrix (128 MB there) is kept and shared."""


def square_distances(a: Floats, b: Floats) -> Floats:
    """(len(a), len(b)) squared Euclidean distances of two (rows, d) arrays; exact zeros for equal rows."""
    # It adds the columns' squares one after the other; |a|^2 + |b|^2 - 2ab would leave round-off where rows are equal.
    from scipy.spatial.distance import cdist

    return np.asarray(cdist(a, b, "sqeuclidean"))


def of_square_distances(kernel: str, r2: Floats) -> Floats:
    """The kernel's value, 1 at distance 0, of scaled squared distances, any shape."""
    if kernel == "rbf":
        return np.exp(-0.5 * r2)
    return _matern52(z := np.sqrt(5.0 * r2), np.exp(-z))


def with_slope(kernel: str, r2: Floats) -> tuple[Floats, Floats]:
    """`of_square_distances`, and -2 times its derivative with respect to them."""
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
    """(n,) one row of `gram`, for candidate sets whose matrix would not fit in memory."""
    r2 = square_distances(features[k : k + 1] / length_scale, features / length_scale)
    return np.asarray(of_square_distances(kernel, r2)[0])


@functools.lru_cache(maxsize=8)
def _gram(kernel: str, content: bytes, shape: tuple[int, int], length_scale: float) -> Floats:
    x = np.frombuffer(content).reshape(shape) / length_scale
    matrix = of_square_distances(kernel, square_distances(x, x))
    matrix.setflags(write=False)
    return matrix


ROOT_JITTER = 1e-8
"""Added once to the diagonal before a prior draw's Cholesky factor: well above round-off for any candidate count
here, and as a standard deviation one ten-thousandth of the amplitude."""


def root(covariance: Floats) -> Floats:
    """(n, n) Cholesky factor of a prior covariance, which draws are made with; the jitter is relative to it."""
    jitter = ROOT_JITTER * float(covariance.diagonal().max())
    return np.asarray(np.linalg.cholesky(covariance + jitter * np.eye(len(covariance))), np.float64)


class FiniteGP:
    """Posterior of zero-mean Gaussian processes over n candidates, exact after every observation.

    With K the prior covariance and L L' = K_observed + noise I, the rows of `V` are L^-1 K_observed,all; observing
    candidate k appends the row v = (K_k - V[:, k]' V) / d with d^2 = K_kk + noise - |V[:, k]|^2, and the mean moves
    by v alpha with alpha = (y - V[:, k]' alphas) / d, the variance by -v^2. This is equations 1 and 2 of Zhang and
    Duh 2020 with an incremental Cholesky factor. One step costs O(t n), t observations.

    All outputs share the covariance. The first output is always the constant 1: the posterior is linear in the
    observations, so means of shifted observations follow without another solve.

    Args:
        column: `column(k)` is the prior covariance of candidate k with all, (n,) float64.
        variance: (n,) prior variances.
        noise: Observation variance, > 0; it is never raised behind the caller's back.
        outputs: Number of observed quantities per candidate.

    Attributes:
        count: Number of observations.
        means: (1 + outputs, n) posterior means; row 0 belongs to the constant 1.
        variances: (n,) posterior variances of the noise-free function, >= 0.
    """

    def __init__(self, column: Callable[[int], Floats], variance: Floats, noise: float, outputs: int = 1) -> None:
        self._column = column
        self.noise = float(noise)
        self.count = 0
        self.means = np.zeros((1 + outputs, len(variance)))
        self.variances = np.array(variance, dtype=np.float64)
        self._v = np.empty((16, len(variance)))
        self._alphas = np.empty((16, 1 + outputs))

    def observe(self, k: int, values: Sequence[float] | Floats) -> None:
        """Conditions on the values of candidate k, (outputs,) floats; a candidate may be observed again."""
        t = self.count
        if t == len(self._v):
            self._v = np.concatenate([self._v, np.empty_like(self._v)])
            self._alphas = np.concatenate([self._alphas, np.empty_like(self._alphas)])
        v, past = self._v[:t], self._v[:t, k].copy()
        covariances = self._column(k) - past @ v
        # In exact arithmetic the pivot is variance + noise >= noise; round-off cannot push it below.
        d = np.sqrt(max(float(self.variances[k]), 0.0) + self.noise)
        row = self._v[t]
        np.divide(covariances, d, out=row)
        target = np.concatenate([[1.0], np.asarray(values, dtype=np.float64)])
        self._alphas[t] = (target - past @ self._alphas[:t]) / d
        self.means += self._alphas[t][:, None] * row
        self.variances -= row * row
        np.maximum(self.variances, 0.0, out=self.variances)
        self.count = t + 1

    def load(self, rows: Indices, cross: Floats, factor: Floats, values: Floats) -> None:
        """Replace the posterior by one computed at once, O(t^2 n).

        Args:
            rows: (t,) candidates observed.
            cross: (t, n) prior covariance of the observed candidates with all.
            factor: (t, t) lower Cholesky factor of the observed covariance with noise on its diagonal.
            values: (t, outputs) observations.
        """
        from scipy.linalg import lapack

        t, n = cross.shape
        targets = np.column_stack([np.ones(t), values])
        self._v = np.empty((max(16, 2 * t), n))
        self._alphas = np.empty((len(self._v), targets.shape[1]))
        # What `solve_triangular` calls in the end, without its checks, which take as long where observations are few.
        self._v[:t] = lapack.dtrtrs(factor.T, cross, lower=0, trans=1)[0]
        self._alphas[:t] = lapack.dtrtrs(factor.T, targets, lower=0, trans=1)[0]
        self.means = self._alphas[:t].T @ self._v[:t]
        self.variances = np.maximum(self.variances - np.square(self._v[:t]).sum(axis=0), 0.0)
        self.count = t

    def mark(self) -> tuple[int, Floats, Floats]:
        """Snapshot for `undo`."""
        return self.count, self.means.copy(), self.variances.copy()

    def undo(self, mark: tuple[int, Floats, Floats]) -> None:
        """Undo observations since a mark."""
        self.count, self.means, self.variances = mark

    def sample(self, prior: Floats, rows: Sequence[int], values: Floats, rng: np.random.Generator) -> Floats:
        """One draw of the posterior by Matheron's rule: prior draw + update with the residual of noisy prior values.

        Args:
            prior: (n,) draw of the prior.
            rows: (t,) candidates observed, in order.
            values: (t,) observations.
            rng: Draws the observation noise.
        """
        from scipy.linalg import solve_triangular

        t = self.count
        if t == 0:
            return prior
        index = np.asarray(rows, dtype=np.intp)
        residual = values - prior[index] - np.sqrt(self.noise) * rng.standard_normal(t)
        # V at the observed candidates is L' but for the noise on its diagonal: L = V_oo' with d restored.
        out: Floats = (
            prior + solve_triangular(self._factor(index), residual, lower=True, check_finite=False) @ self._v[:t]
        )
        return out

    def _factor(self, index: Indices) -> Floats:
        """(t, t) lower Cholesky factor, read from V: L[j, i] = V[i, row_j] for i < j, and its diagonal."""
        factor = self._v[: self.count, index].T.copy()
        covariance = np.array([self._column(int(k))[int(k)] for k in index])
        off = np.tril(factor, -1)
        np.fill_diagonal(off, np.sqrt(np.maximum(covariance + self.noise - np.square(off).sum(axis=1), self.noise)))
        return off

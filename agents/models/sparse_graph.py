"""Similarity graphs of many candidates: nearest neighbours alone, and solves instead of inverses."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import numpy.typing as npt

from hpo_envs.agents.models.kernels import of_square_distances

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.intp]

LIGHTEST = 1e-10
"""Edges lighter than this, relative to the heaviest, are left out: what only they connect is, in double precision,
not connected, and the Laplacian would be singular without saying so."""

LARGEST = 100_000
"""Candidates of the largest graph."""

NEAREST = 10
"""Nearest neighbours that a node is joined with by default. A seventh of 100,000 would be a dense graph."""

ACCURACY = 1e-9
"""Residual of a solve, relative to its right-hand side."""

PROBES = 64
"""Random vectors that a diagonal is estimated with; their solves need no more accuracy than they have themselves."""

ROUGH = 1e-3
"""Residual of those."""


class SparseGraph:
    """A weighted undirected graph whose inverses are never formed, in memory and time in proportion to its edges.

    Columns are solves by conjugate gradients with Jacobi's preconditioner (Hestenes and Stiefel 1952). Diagonals are
    estimates: constants and three terms of a Neumann series, which are exact, and of the rest the mean of
    z * (rest @ z) over random signs z (Hutchinson 1989).

    Args:
        weights: `scipy.sparse.csr_array`, (n, n) symmetric, >= 0, without a diagonal.

    Attributes:
        weights: The same.
        component: (n,) index of each node's connected component.
        degrees: (n,) sums of the weights.
    """

    def __init__(self, weights: Any) -> None:
        from scipy.sparse.csgraph import connected_components

        self.weights = weights
        self.component: Ints = connected_components(weights, directed=False)[1].astype(np.intp)
        self.degrees: Floats = np.asarray(weights.sum(axis=1)).ravel()
        self._sizes = np.bincount(self.component)

    @classmethod
    def of_features(cls, features: Floats, kernel: str, length_scale: float, neighbours: int) -> SparseGraph:
        """As `SimilarityGraph.of_features`; equal settings share one object.

        Raises:
            ValueError: More than `LARGEST` candidates.
        """
        if len(features) > LARGEST:
            raise ValueError(f"a graph must have at most {LARGEST} candidates, got {len(features)}")
        return _of_features(features.tobytes(), features.shape, kernel, float(length_scale), neighbours)

    def edges(self, k: int) -> Floats:
        """(n,) weights of a node's edges."""
        return np.asarray(self.weights[[k]].toarray()[0])

    def solve(self, right: Floats, ridge: float = 0.0, accuracy: float = ACCURACY) -> Floats:
        """(n, m) solutions x of (Laplacian + ridge I) x = right.

        Without a ridge, the means of `right` and of the solution over each component are zero.
        """
        right = right if ridge else self._centred(right)
        d = (self.degrees + ridge)[:, None]
        inverse = 1.0 / np.where(d > 0, d, 1.0)
        x, residual = np.zeros_like(right), right.copy()
        direction = scaled = inverse * residual
        rho = np.einsum("ij,ij->j", residual, scaled)
        enough = accuracy**2 * np.einsum("ij,ij->j", right, right)
        for _ in range(len(right)):
            if (np.einsum("ij,ij->j", residual, residual) <= enough).all():
                break
            image = d * direction - self.weights @ direction
            step = rho / np.maximum(np.einsum("ij,ij->j", direction, image), 1e-300)
            x += step * direction
            residual -= step * image
            scaled = inverse * residual
            rho, before = np.einsum("ij,ij->j", residual, scaled), rho
            direction = scaled + rho / np.maximum(before, 1e-300) * direction
        return x if ridge else self._centred(x)

    def diagonal(self, ridge: float = 0.0) -> Floats:
        """(n,) estimate of the diagonal of the inverse that `solve` applies; with the same random signs every time."""
        d, sizes = self.degrees + ridge, self._sizes[self.component]
        inverse = np.divide(1.0, d, out=np.zeros_like(d), where=d > 0)
        signs = np.random.default_rng(0).choice([-1.0, 1.0], (len(d), PROBES))
        rest = self.solve(self._centred(signs), ridge, ROUGH)
        term = inverse[:, None] * signs
        for _ in range(3):
            rest -= term
            term = inverse[:, None] * (self.weights @ term)
        exact = inverse + inverse**2 * (self.weights.power(2) @ inverse)
        if ridge:  # what a constant over a component has of it
            exact += 1.0 / (ridge * sizes)
        # Never below (x' x)^2 / x' A x, x a unit vector, centred where there is no ridge.
        out: Floats = np.maximum(
            exact + (signs * rest).mean(axis=1), inverse if ridge else (1.0 - 1.0 / sizes) ** 2 * inverse
        )
        return out

    def draw(self, ridge: float, rng: np.random.Generator) -> Floats:
        """(n,) from a normal distribution whose precision matrix is the Laplacian + ridge I."""
        edges = self.weights.tocoo()
        upper = edges.row < edges.col
        i, j = edges.row[upper], edges.col[upper]
        shares = np.sqrt(edges.data[upper]) * rng.standard_normal(len(i))
        n = len(self.degrees)
        right = np.bincount(i, shares, n) - np.bincount(j, shares, n) + np.sqrt(ridge) * rng.standard_normal(n)
        return self.solve(right[:, None], ridge)[:, 0]

    def green_column(self, k: int) -> Floats:
        """(n,) column of the Laplacian's Green's function, see `SimilarityGraph.green`."""
        right = np.zeros((len(self.degrees), 1))
        right[k] = 1.0
        same = self.component == self.component[k]
        return np.where(same, self.solve(right)[:, 0] + 1.0 / self._sizes[self.component[k]], 0.0)

    def green_diagonal(self, members: Ints) -> Floats:
        """(k,) entries of its diagonal, estimated."""
        return (self._green_diagonal + 1.0 / self._sizes[self.component])[members]

    def green_totals(self, members: Ints) -> Floats:
        """(k,) its column sums over the members of a component, which are 1."""
        return np.ones(len(members))

    @functools.cached_property
    def _green_diagonal(self) -> Floats:
        return self.diagonal()

    def _centred(self, x: Floats) -> Floats:
        means = np.stack([np.bincount(self.component, column) for column in x.T], axis=1) / self._sizes[:, None]
        return x - means[self.component]


@functools.lru_cache(maxsize=2)
def _of_features(
    content: bytes, shape: tuple[int, int], kernel: str, length_scale: float, neighbours: int
) -> SparseGraph:
    from scipy.sparse import coo_array
    from scipy.spatial import KDTree

    x = np.frombuffer(content).reshape(shape) / length_scale
    distances, nearest = KDTree(x).query(x, min(neighbours + 1, len(x)))
    start = np.repeat(np.arange(len(x)), nearest.shape[1])
    values = of_square_distances(kernel, np.square(distances.ravel()))
    kept = (start != nearest.ravel()) & (values >= LIGHTEST * values.max())
    one_way = coo_array((values[kept], (start[kept], nearest.ravel()[kept])), (len(x), len(x))).tocsr()
    return SparseGraph(one_way.maximum(one_way.T).tocsr())

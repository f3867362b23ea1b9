"""Similarity graphs of candidates (weights, neighbours, largest size), and label propagation on them."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from hpo_envs.agents.models import Floats, Indices
from hpo_envs.agents.models.gp.kernels import gram

LARGEST = 5000
"""Largest number of candidates of a graph: its inverse `green` then takes 200 MB and about half a minute."""

LIGHTEST = 1e-10
"""Edges lighter than this, relative to the heaviest, are left out: in double precision, components that only such edges
connect are separate, so that the Laplacian would be singular without an error."""


@dataclass(frozen=True, eq=False)
class SimilarityGraph:
    """A weighted undirected graph over the candidates.

    Attributes:
        weights: (n, n) float64, symmetric, >= 0, zero diagonal.
        component: (n,) index of each node's connected component.
        green: (n, n) inverse of the Laplacian plus 1 / size in each component's block, zero between components: the
            Laplacian's pseudo-inverse up to a constant per component.
    """

    weights: Floats
    component: Indices
    green: Floats

    @property
    def laplacian(self) -> Floats:
        """(n, n) Laplacian D - W (Zhang and Duh 2020, section 5.2.1)."""
        return np.diag(self.weights.sum(axis=1)) - self.weights

    @classmethod
    def of_weights(cls, weights: Floats) -> SimilarityGraph:
        """Return the graph of (n, n) symmetric weights; the diagonal and weights below `LIGHTEST` become 0."""
        from scipy.sparse import csr_array
        from scipy.sparse.csgraph import connected_components

        w = np.array(weights, dtype=np.float64)
        np.fill_diagonal(w, 0.0)
        w[w < LIGHTEST * w.max(initial=0.0)] = 0.0
        component = connected_components(csr_array(w), directed=False)[1].astype(np.intp)
        same = component[:, None] == component[None, :]
        sizes = np.bincount(component)[component]
        green = np.linalg.inv(np.diag(w.sum(axis=1)) - w + same / sizes[:, None])
        green = np.where(same, 0.5 * (green + green.T), 0.0)
        for array in (w, component, green):
            array.setflags(write=False)
        return cls(w, component, green)

    @classmethod
    def of_features(
        cls, features: Floats, kernel: str, length_scale: float, neighbours: int | None,
        tie_order: tuple[int, ...] | None = None,
    ) -> SimilarityGraph:  # fmt: skip
        """Return the graph of (n, d) features in [0, 1], with kernel values as weights (equation 4: `rbf`).

        Each node is joined with its nearest `neighbours` (None: with all nodes), see `nearest_neighbours`. Equal
        arguments share one object.

        Raises:
            ValueError: More than `LARGEST` candidates, or an invalid `tie_order`.
        """
        if len(features) > LARGEST:
            raise ValueError(f"a graph must have at most {LARGEST} candidates, got {len(features)}")
        return _of_features(features.tobytes(), features.shape, kernel, float(length_scale), neighbours, tie_order)


@functools.lru_cache(maxsize=4)
def _of_features(
    content: bytes, shape: tuple[int, int], kernel: str, length_scale: float, neighbours: int | None,
    tie_order: tuple[int, ...] | None,
) -> SimilarityGraph:  # fmt: skip
    weights = gram(kernel, np.frombuffer(content).reshape(shape), length_scale)
    if neighbours is None or neighbours >= len(weights) - 1:
        return SimilarityGraph.of_weights(weights)
    return SimilarityGraph.of_weights(np.where(nearest_neighbours(weights, neighbours, tie_order), weights, 0.0))


def nearest_neighbours(weights: Floats, k: int, tie_order: tuple[int, ...] | None = None) -> npt.NDArray[np.bool_]:
    """Return the (n, n) mask of the pairs of which one is among the k nearest of the other (Zhang and Duh 2020, 5.2.1).

    On a grid many neighbours are equally near. Ties are broken by `tie_order` (None: the order of the rows), so that
    each node has exactly k nearest neighbours. Larger weights are nearer.

    Raises:
        ValueError: `tie_order` does not name every node once.
    """
    n = len(weights)
    order_of_ties = np.arange(n) if tie_order is None else np.array(tie_order, dtype=np.intp)
    if not np.array_equal(np.sort(order_of_ties), np.arange(n)):
        raise ValueError(f"tie_order must name each of the {n} candidates once, got {len(order_of_ties)} entries")
    # Rounded, as equal distances may differ by round-off.
    order = np.round(weights, 12)
    np.fill_diagonal(order, np.inf)
    chosen = order_of_ties[np.argsort(-order[:, order_of_ties], axis=1, kind="stable")[:, 1 : k + 1]]
    near = np.zeros((n, n), dtype=bool)
    near[np.arange(n)[:, None], chosen] = True
    return near | near.T


class Harmonic:
    """Label propagation (Zhang and Duh 2020, equation 7), updated by one labelled node at a time.

    Each component is anchored at its first labelled node a. With M the graph's `green`, the inverse of the unlabelled
    Laplacian block is then G_ij = M_ij - M_ia - M_aj + M_aa. Labelling k subtracts g g' / G_kk from G, g = G[:, k].
    Only the rows v = g / sqrt(G_kk) are stored, so a label costs O(t n) and G is never formed; v at the labelled nodes
    is a row of the transposed Cholesky factor of the first G, by which predictions are computed. Nodes of a component
    without any label are predicted by the mean label.

    Attributes:
        graph: The given graph.
        nodes: Labelled nodes in order.
        diagonal: (n,) G_kk of every node, 0 where labelled; infinite in components without a label.
        sums: (n,) column sums of G.
    """

    def __init__(self, graph: SimilarityGraph) -> None:
        self.graph = graph
        n = len(graph.component)
        self.nodes: list[int] = []
        self.diagonal = np.full(n, np.inf)
        self.sums = np.zeros(n)
        self._anchor: dict[int, int] = {}
        self._anchored: dict[int, Floats] = {}  # the anchors' columns of `green`
        self._inner: list[int] = []
        self._v = np.empty((16, n))
        self._factor = np.zeros((16, 16))
        self._labelled = np.zeros(n, dtype=bool)
        self._sizes = np.bincount(graph.component)[graph.component]

    def label(self, k: int) -> None:
        """Mark a node as labelled and update the statistics; do nothing if it is labelled already."""
        if self._labelled[k]:
            return
        self._labelled[k] = True
        self.nodes.append(k)
        component = int(self.graph.component[k])
        if component not in self._anchor:
            self._anchor_at(k, component)
            return
        t = len(self._inner)
        if t == len(self._v):
            self._v = np.concatenate([self._v, np.empty_like(self._v)])
            self._factor = np.pad(self._factor, (0, t))
        row, column = self._v[t], self.column(k)
        pivot = np.sqrt(self.diagonal[k])
        self._factor[t, :t] = self._v[:t, k]
        self._factor[t, t] = pivot
        np.divide(column, pivot, out=row)
        self.diagonal -= row * row
        np.maximum(self.diagonal, 0.0, out=self.diagonal)
        self.sums -= row * row.sum()
        self.diagonal[k] = self.sums[k] = 0.0
        self._inner.append(k)

    def mark(self) -> tuple[Any, ...]:
        """Return a snapshot for `undo`."""
        lists = [*self.nodes], dict(self._anchor), [*self._inner]
        return (*lists, self.diagonal.copy(), self.sums.copy(), self._labelled.copy())

    def undo(self, mark: tuple[Any, ...]) -> None:
        """Undo all labels since a snapshot."""
        self.nodes, self._anchor, self._inner, self.diagonal, self.sums, self._labelled = mark

    def _anchor_at(self, k: int, component: int) -> None:
        self._anchor[component] = k
        members = np.flatnonzero(self.graph.component == component)
        column = self._anchored[component] = self.graph.green[k]
        from_anchor, at = column[members], column[k]
        self.diagonal[members] = np.maximum(self.graph.green[members, members] - 2.0 * from_anchor + at, 0.0)
        totals = self.graph.green[np.ix_(members, members)].sum(axis=0)
        self.sums[members] = totals - len(members) * from_anchor - from_anchor.sum() + len(members) * at
        self.diagonal[k] = self.sums[k] = 0.0

    def column(self, k: int) -> Floats:
        """Return the (n,) column k of G; the component of k must have a label."""
        component, column = self.graph.component, self.graph.green[k]
        a, anchored = self._anchor[int(component[k])], self._anchored[int(component[k])]
        g = np.where(component == component[k], column - anchored - anchored[k] + anchored[a], 0.0)
        t = len(self._inner)
        return g - self._v[:t, k] @ self._v[:t]

    def predict(self, labels: Floats) -> Floats:
        """Return the (n,) harmonic predictions by equation 7 for (labelled,) labels of `nodes`; there must be one."""
        from scipy.linalg import solve_triangular

        value = np.zeros(len(self._labelled))
        value[self.nodes] = labels
        base = np.full(int(self.graph.component.max()) + 1, labels.mean())
        for component, a in self._anchor.items():
            base[component] = value[a]
        f = base[self.graph.component]
        t = len(self._inner)
        if t:
            residual = value[self._inner] - f[self._inner]
            alphas = solve_triangular(self._factor[:t, :t], residual, lower=True, check_finite=False)
            f = f + alphas @ self._v[:t]
        f[self.nodes] = labels
        return f

    def leverage(self) -> Floats:
        """Return, for each of n nodes, the summed change of all predictions if its own changes by 1; 0 where labelled.

        In a component without a label all predictions change by 1.
        """
        known = np.isfinite(self.diagonal) & (self.diagonal > 0)
        elsewhere = np.where(self.diagonal > 0, self._sizes, 0.0)
        return np.where(known, self.sums / np.where(known, self.diagonal, 1.0), elsewhere)

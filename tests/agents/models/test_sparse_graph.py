"""Sparse similarity graphs beside dense ones of the same weights."""

from __future__ import annotations

import numpy as np
import pytest

from hpo_envs.agents.models import sparse_graph
from hpo_envs.agents.models.similarity_graph import Harmonic, SimilarityGraph
from hpo_envs.agents.models.sparse_graph import SparseGraph
from tests.helpers import raises

X = np.random.default_rng(0).random((150, 3))
X[100:149] += [5.0, 0.0, 0.0]
X[149] = 300.0  # so far away that no edge is kept
SPARSE = SparseGraph.of_features(X, "matern52", 1.0, 8)
DENSE = SimilarityGraph.of_weights(SPARSE.weights.toarray())


def test_nearest_neighbours_are_joined_both_ways() -> None:
    distances = np.sqrt(np.square(X[:, None] - X[None]).sum(axis=-1)) + 1e9 * np.eye(150)
    near = distances <= np.sort(distances, axis=1)[:, [7]]
    z = np.sqrt(5.0) * distances
    expected = np.where(near | near.T, (1.0 + z + z * z / 3.0) * np.exp(-z), 0.0)
    expected[expected < 1e-10] = 0.0
    np.testing.assert_allclose(SPARSE.weights.toarray(), expected, atol=1e-12)
    np.testing.assert_array_equal(SPARSE.edges(4), SPARSE.weights.toarray()[4])
    assert np.bincount(SPARSE.component).tolist() == [100, 49, 1]
    assert SparseGraph.of_features(X.copy(), "matern52", 1.0, 8) is SPARSE


def test_columns_are_those_of_the_inverse() -> None:
    everyone = np.arange(150)
    for k in (0, 120, 149):
        np.testing.assert_allclose(SPARSE.green_column(k), DENSE.green[k], atol=1e-7)
        members = np.flatnonzero(DENSE.component == DENSE.component[k])
        np.testing.assert_allclose(SPARSE.green_totals(members), DENSE.green_totals(members), atol=1e-9)
    covariance = np.linalg.inv(DENSE.laplacian + np.eye(150) / 50.0)
    right = np.eye(150)[:, :3]
    np.testing.assert_allclose(SPARSE.solve(right, 1 / 50.0), covariance[:, :3], atol=1e-6)
    for estimate, exact in (
        (SPARSE.diagonal(1 / 50.0), np.diag(covariance)),
        (SPARSE.green_diagonal(everyone), DENSE.green_diagonal(everyone)),
    ):
        ratio = estimate / exact
        assert ratio[149] == pytest.approx(1.0)
        assert ratio.mean() == pytest.approx(1.0, abs=0.03)
        assert ratio.std() < 0.2


def test_draws_have_the_covariance() -> None:
    rng = np.random.default_rng(1)
    draws = np.stack([SPARSE.draw(1.0, rng) for _ in range(400)])
    covariance = np.linalg.inv(DENSE.laplacian + np.eye(150))
    assert (draws.var(axis=0) / np.diag(covariance)).mean() == pytest.approx(1.0, abs=0.03)
    heaviest = np.unravel_index(np.argmax(covariance - np.diag(np.diag(covariance))), covariance.shape)
    assert np.cov(draws[:, heaviest].T)[0, 1] == pytest.approx(covariance[heaviest], rel=0.25)


def test_labels_propagate_as_on_a_dense_graph() -> None:
    rng = np.random.default_rng(2)
    sparse, dense = Harmonic(SPARSE), Harmonic(DENSE)
    for t, k in enumerate(rng.permutation(150)[:40].tolist()):
        sparse.label(k)
        dense.label(k)
        labels = rng.normal(size=t + 1)
        np.testing.assert_allclose(sparse.predict(labels), dense.predict(labels), atol=1e-6)
        np.testing.assert_allclose(sparse.sums, dense.sums, atol=1e-5)
        assert (sparse.diagonal[sparse.nodes] == 0).all()


def test_larger_graphs_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sparse_graph, "LARGEST", 149)
    with raises("a graph must have at most 149 candidates, got 150"):
        SparseGraph.of_features(X, "rbf", 1.0, 3)

"""Similarity graphs and label propagation compared with dense definitions."""

import numpy as np
import pytest

from hpo_envs.agents.models.gp import kernels
from hpo_envs.agents.models.similarity_graph import Harmonic, SimilarityGraph, nearest_neighbours
from tests.agents.helpers import spread_labels
from tests.helpers import raises

Floats = np.ndarray


def ring(n: int = 6, weight: float = 2.0) -> Floats:
    w = np.zeros((n, n))
    for i in range(n):
        w[i, (i + 1) % n] = w[(i + 1) % n, i] = weight * (1 + i)
    return w


def test_weights_of_graphs_equal_values_by_hand() -> None:
    w = np.zeros((9, 9))
    w[:6, :6] = ring()
    w[6, 7] = w[7, 6] = 4.0
    w[0, 8] = w[8, 0] = 23e-10 * 0.4  # lighter than a ten-billionth of the heaviest edge, 12
    np.fill_diagonal(w, 5.0)
    given = w.copy()
    graph = SimilarityGraph.of_weights(w)
    assert np.array_equal(w, given)
    assert (graph.component.tolist(), graph.component.dtype) == ([0] * 6 + [1, 1, 2], np.intp)
    assert (graph.weights[0, 8], np.diag(graph.weights).tolist()) == (0.0, [0.0] * 9)
    laplacian = graph.laplacian
    assert laplacian.sum(axis=1) == pytest.approx(np.zeros(9), abs=1e-12)
    assert (np.diag(laplacian).tolist(), laplacian[6, 7]) == (graph.weights.sum(axis=1).tolist(), -4.0)
    for c in range(3):
        inside = graph.component == c
        block = np.ix_(inside, inside)
        size = inside.sum()
        assert graph.green[block] == pytest.approx(np.linalg.inv(laplacian[block] + np.ones((size, size)) / size))
        assert (graph.green[np.ix_(inside, ~inside)] == 0.0).all()
    assert np.array_equal(graph.green, graph.green.T)
    for array in (graph.weights, graph.component, graph.green):
        assert not array.flags.writeable
    # An edge just heavy enough stays.
    w[0, 8] = w[8, 0] = 12e-10
    assert SimilarityGraph.of_weights(w).component.tolist() == [0] * 6 + [1, 1, 0]
    assert SimilarityGraph.of_weights(np.eye(2)).component.tolist() == [0, 1]


def test_nearest_neighbours_equal_those_by_hand() -> None:
    line_ = np.exp(-np.abs(np.subtract.outer(np.arange(5.0), np.arange(5.0))))

    def joined(near: Floats) -> set[tuple[int, int]]:
        assert near.dtype == bool
        assert np.array_equal(near, near.T)
        return {(i, j) for i, j in zip(*np.nonzero(near), strict=True) if i < j}

    # Each takes one: 0-1, 1-0 (first of two equally near), 2-1, 3-2, 4-3.
    assert joined(nearest_neighbours(line_, 1)) == {(0, 1), (1, 2), (2, 3), (3, 4)}
    assert joined(nearest_neighbours(line_, 1, (4, 3, 2, 1, 0))) == {(0, 1), (1, 2), (2, 3), (3, 4)}
    square = np.ones((4, 4))
    assert joined(nearest_neighbours(square, 1)) == {(0, 1), (0, 2), (0, 3)}
    assert joined(nearest_neighbours(square, 1, (2, 1, 0, 3))) == {(0, 2), (1, 2), (2, 3)}
    assert joined(nearest_neighbours(square, 2, (3, 2, 1, 0))) == {(0, 2), (0, 3), (1, 2), (1, 3), (2, 3)}
    # Equal but for round-off is equal: the first row wins.
    nearly = square.copy()
    nearly[1, 2] += 1e-14
    assert joined(nearest_neighbours(nearly, 1)) == {(0, 1), (0, 2), (0, 3)}
    clearly = square.copy()
    clearly[1, 2] += 1e-9
    assert joined(nearest_neighbours(clearly, 1)) == {(0, 1), (0, 2), (0, 3), (1, 2)}
    assert not np.diag(nearest_neighbours(square, 2)).any()
    for order, entries in (((0, 1, 2), 3), ((0, 1, 2, 2), 4)):
        with raises(f"tie_order must name each of the 4 candidates once, got {entries} entries"):
            nearest_neighbours(square, 1, order)


def test_graphs_are_made_of_features(monkeypatch: pytest.MonkeyPatch) -> None:
    x = np.random.default_rng(2).random((12, 2))
    whole = kernels.gram("rbf", x, 0.5) - np.eye(12)
    full = SimilarityGraph.of_features(x, "rbf", 0.5, None)
    assert np.array_equal(full.weights, whole)
    assert full is SimilarityGraph.of_features(x.copy(), "rbf", 0.5, None)
    assert np.array_equal(SimilarityGraph.of_features(x, "rbf", 0.5, 11).weights, whole)
    assert np.array_equal(SimilarityGraph.of_features(x, "rbf", 0.5, 12).weights, whole)
    few = SimilarityGraph.of_features(x, "rbf", 0.5, 10)
    assert not np.array_equal(few.weights, whole)
    near = nearest_neighbours(kernels.gram("rbf", x, 0.5), 3)
    assert np.array_equal(SimilarityGraph.of_features(x, "rbf", 0.5, 3).weights, np.where(near, whole, 0.0))
    back = tuple(range(12))[::-1]
    square = np.ones((12, 2))
    near = nearest_neighbours(kernels.gram("rbf", square, 0.5), 3, back)
    assert np.array_equal(SimilarityGraph.of_features(square, "rbf", 0.5, 3, back).weights, near * 1.0)
    with raises("a graph must have at most 5000 candidates, got 5001"):
        SimilarityGraph.of_features(np.zeros((5001, 1)), "rbf", 0.5, None)
    monkeypatch.setattr("hpo_envs.agents.models.similarity_graph.LARGEST", 12)
    SimilarityGraph.of_features(x, "rbf", 0.25, None)


@pytest.mark.parametrize("parts", [(24,), (20, 3, 1)])
def test_label_propagation_equals_its_definition(parts: tuple[int, ...]) -> None:
    n = sum(parts)
    rng = np.random.default_rng(len(parts))
    weights = np.zeros((n, n))
    start = 0
    for size in parts:
        block = np.triu(rng.random((size, size)) * (rng.random((size, size)) < 0.7), 1)
        weights[start : start + size, start : start + size] = block + block.T + 0.01 * (1 - np.eye(size))
        start += size
    graph = SimilarityGraph.of_weights(weights)
    harmonic = Harmonic(graph)
    assert np.isinf(harmonic.diagonal).all()
    nodes: list[int] = []
    for t, k in enumerate(rng.permutation(n).tolist()):
        before = harmonic.predict(np.arange(t, dtype=float)) if t else None
        gain = harmonic.leverage()
        harmonic.label(k)
        if t % 4 == 0:
            harmonic.label(k)  # a second time changes nothing
        nodes.append(k)
        assert harmonic.nodes == nodes
        labels = rng.normal(size=t + 1)
        np.testing.assert_allclose(harmonic.predict(labels), spread_labels(graph.weights, nodes, labels), atol=1e-9)
        if before is not None and np.isin(graph.component[k], graph.component[nodes[:-1]]):
            # All predictions move by the leverage when the new label is 1 off what was predicted.
            moved = harmonic.predict(np.append(np.arange(t, dtype=float), before[k] + 1.0))
            inside = graph.component == graph.component[k]
            assert (moved - before)[inside].sum() == pytest.approx(gain[k], abs=1e-8)
        else:
            assert gain[k] == (graph.component == graph.component[k]).sum()
        unlabelled = [i for i in range(n) if i not in nodes]
        anchored = [i for i in unlabelled if graph.component[i] in graph.component[nodes]]
        inverse = np.linalg.inv(graph.laplacian[np.ix_(anchored, anchored)])
        assert harmonic.diagonal[anchored] == pytest.approx(np.diag(inverse), abs=1e-9)
        assert harmonic.sums[anchored] == pytest.approx(inverse.sum(axis=0), abs=1e-8)
        assert (harmonic.diagonal[nodes] == 0.0).all()
        assert harmonic.sums[nodes] == pytest.approx(np.zeros(t + 1), abs=1e-12)
        assert (harmonic.leverage()[nodes] == 0.0).all()
        for i, j in zip(anchored[:3], range(3), strict=False):
            assert harmonic.column(i)[anchored] == pytest.approx(inverse[:, j], abs=1e-9)
        others = [i for i in unlabelled if i not in anchored]
        assert np.isinf(harmonic.diagonal[others]).all()
        assert harmonic.leverage()[others].tolist() == [(graph.component == graph.component[i]).sum() for i in others]
        assert (harmonic.diagonal >= 0.0).all()

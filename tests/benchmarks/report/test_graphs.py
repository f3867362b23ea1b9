"""Pictures and files of graphs."""

from __future__ import annotations

from pathlib import Path

import networkx as nx
import numpy as np

from hpo_envs.agents.models.similarity_graph import SimilarityGraph
from hpo_envs.benchmarks.report import graphs


def test_positions_are_principal_components() -> None:
    x = np.random.default_rng(0).normal(size=(50, 4)) * [3.0, 1.0, 0.1, 0.1]
    at = graphs.positions(x)
    assert at.shape == (50, 2)
    assert at.var(axis=0)[0] > at.var(axis=0)[1] > 0.5
    assert graphs.positions(x[:, :1]).shape == (50, 2)


def test_a_graph_is_drawn_with_missing_values_in_grey(tmp_path: Path) -> None:
    x = np.random.default_rng(0).uniform(size=(12, 2))
    graph = SimilarityGraph.of_features(x, "rbf", 1.0, 3)
    values = np.where(np.arange(12) < 3, np.nan, np.arange(12.0))
    files = graphs.draw(graph.weights, x, values, "loss", tmp_path / "g")
    assert [f.name for f in files] == ["g.png", "g.svg"]
    made = graph.to_networkx(loss=values.tolist(), key=[f"k{i}" for i in range(12)])
    back = nx.read_graphml(graphs.write_graphml(made, tmp_path / "g.graphml"))
    assert "loss" not in back.nodes["0"]
    assert back.nodes["5"]["loss"] == 5.0
    weights = {frozenset(map(int, e[:2])): e[2] for e in back.edges(data="weight")}
    assert all(np.isclose(w, graph.weights[tuple(e)]) for e, w in weights.items())
    assert len(weights) == np.count_nonzero(np.triu(graph.weights))

"""Similarity graphs and cells as pictures and as GraphML, which Gephi, Cytoscape and yEd read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from hpo_envs.benchmarks.plots.style import panels, save
from hpo_envs.tables.files import atomic

EDGES = 4000
"""Edges that are drawn at most, the heaviest ones."""


def positions(features: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """(n, 2) principal components of the features; signs are those that make the largest loading positive."""
    x = features - features.mean(axis=0)
    axes = np.linalg.svd(x, full_matrices=False)[2][:2]
    axes = axes * np.sign(axes[np.arange(len(axes)), np.abs(axes).argmax(axis=1)])[:, None]
    return np.pad(x @ axes.T, ((0, 0), (0, 2 - len(axes))))


def draw(
    weights: npt.NDArray[np.float64],
    features: npt.NDArray[np.float64],
    values: npt.NDArray[np.float64],
    label: str,
    path: Path,
) -> list[Path]:
    """Draws a similarity graph: nodes at the principal components of their features, coloured by a value.

    Args:
        weights: (n, n) of the edges, symmetric; 0 is none.
        features: (n, d).
        values: (n,) colours; NaN is grey.
        label: What they are.
        path: Of the files, without ending.
    """
    from matplotlib.collections import LineCollection

    at = positions(features)
    rows, others = np.nonzero(np.triu(weights))
    heaviest = np.argsort(-weights[rows, others], kind="stable")[:EDGES]
    figure, ((axis,),) = panels(1, 1, (6.5, 5))
    lines = np.stack([at[rows[heaviest]], at[others[heaviest]]], axis=1)
    axis.add_collection(LineCollection([*lines], colors="#999999", linewidths=0.3, alpha=0.4, zorder=1))
    known = ~np.isnan(values)
    axis.scatter(*at[~known].T, s=10, color="#CCCCCC", zorder=2)
    dots = axis.scatter(*at[known].T, c=values[known], s=14, cmap="viridis", zorder=3)
    figure.colorbar(dots, label=label)
    axis.set(xlabel="first principal component", ylabel="second", title=f"{len(values)} nodes, {len(rows)} edges")
    return save(figure, path)


def write_graphml(graph: Any, path: Path) -> Path:
    """Writes a networkx graph; attributes that are None become empty text, NaN ones are left out."""
    import networkx as nx

    plain = graph.copy()
    for attributes in (data for _, data in plain.nodes(data=True)):
        for name, value in [*attributes.items()]:
            if value is None:
                attributes[name] = ""
            elif isinstance(value, float) and np.isnan(value):
                del attributes[name]
            elif name == "new":
                attributes[name] = str(value)
    text = "\n".join(nx.generate_graphml(plain)) + "\n"
    atomic.write(path, text)
    return path

"""Figures 2, 4, 6, 7, 8 and 11 as matplotlib pictures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from hpo_envs.tables import cells

Floats = npt.NDArray[np.float64]

BLUE, ORANGE = "#0072B2", "#D55E00"


def _figure(columns: int = 1) -> Any:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(4.5 * columns, 3.6), layout="constrained")
    return figure, figure.subplots(1, columns)


def _save(figure: Any, path: Path) -> list[Path]:
    """Writes a figure as png and svg."""
    paths = [path.with_suffix(suffix) for suffix in (".png", ".svg")]
    for p in paths:
        figure.savefig(p, dpi=150)
    return paths


def plot_cells(named: Mapping[str, cells.Cell], path: Path) -> list[Path]:
    """Figures 2 and 11: cells side by side."""
    figure, axes = _figure(len(named))
    for ax, (name, cell) in zip(np.atleast_1d(axes), named.items(), strict=True):
        cells.draw(cell, ax)
        ax.set_title(name)
    figure.set_size_inches(4.5 * len(named), 6.5)
    return _save(figure, path)


def plot_metrics(size: Floats, hours: Floats, perplexity: Floats, marked: Mapping[str, int], path: Path) -> list[Path]:
    """Figure 4: parameters, hours and test perplexity, and the distribution of the latter."""
    figure, (left, right) = _figure(2)
    dots = left.scatter(size / 1e6, hours, c=np.log(perplexity), s=12, cmap="viridis")
    figure.colorbar(dots, ax=left, label="best test log perplexity")
    for name, row in marked.items():
        left.annotate(name, (size[row] / 1e6, hours[row]), fontsize=8, color=ORANGE)
    left.set_xlabel("parameters, millions")
    left.set_ylabel("training, hours")
    right.hist(np.log(perplexity), bins=40, color=BLUE)
    for name, row in marked.items():
        right.axvline(np.log(perplexity[row]), color=ORANGE)
        right.text(np.log(perplexity[row]), right.get_ylim()[1] * 0.95, name, rotation=90, va="top", fontsize=8)
    right.set_xlabel("best test log perplexity")
    right.set_ylabel("architectures")
    return _save(figure, path)


def plot_pairs(x: Floats, y: Floats, labels: Sequence[str], path: Path) -> list[Path]:
    """Figures 6 and 8: one quantity against another, with the diagonal."""
    figure, ax = _figure()
    ax.scatter(x, y, s=8, color=BLUE)
    ends = [float(min(x.min(), y.min())), float(max(x.max(), y.max()))]
    ax.plot(ends, ends, color="#555555", linewidth=0.8)
    ax.set_xlabel(labels[0])
    ax.set_ylabel(labels[1])
    return _save(figure, path)


def plot_histogram(values: Floats, label: str, path: Path) -> list[Path]:
    """Figure 7: a histogram of whole numbers."""
    figure, ax = _figure()
    ax.hist(values, bins=np.arange(values.min() - 0.5, values.max() + 1.5, 2), color=BLUE)
    ax.set_xlabel(label)
    ax.set_ylabel("pairs")
    return _save(figure, path)

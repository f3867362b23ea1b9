"""Drawings of figures 5, 10 and 12, as PNG and SVG; colours and line styles are safe for the colour-blind."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from hpo_envs.benchmarks.papers.nasbenchnlp import search_analysis as analysis
from hpo_envs.tables.table import Table

COLOURS = ("#000000", "#E69F00", "#56B4E9", "#009E73", "#D55E00", "#0072B2", "#CC79A7", "#7F7F7F")
STYLES = ("-", "--", ":")


def axes_of(*shape: Any, **options: Any) -> Any:
    """`pyplot.subplots` without a display.

    Raises:
        ModuleNotFoundError: Matplotlib is not installed.
    """
    try:
        import matplotlib

        matplotlib.use("Agg")
        from matplotlib import pyplot
    except ModuleNotFoundError:
        raise ModuleNotFoundError('figures need matplotlib: pip install "hpo_envs[plots]"', name="matplotlib") from None
    return pyplot.subplots(*shape, **options)


def save(figure: Any, path: Path) -> list[Path]:
    """Writes a figure as PNG and SVG, and closes it; returns the files."""
    from matplotlib import pyplot

    files = [path.with_suffix(suffix) for suffix in (".png", ".svg")]
    for file in files:
        figure.savefig(file, dpi=150, bbox_inches="tight")
    pyplot.close(figure)
    return files


def _look(i: int) -> dict[str, Any]:
    return {"color": COLOURS[i % len(COLOURS)], "linestyle": STYLES[i // len(COLOURS)]}


def plot_regret(traces: Mapping[str, Sequence[analysis.Trace]], best: float, title: str, path: Path) -> list[Path]:
    """Figure 10: mean regret against simulated hours with 95 % confidence intervals of the mean."""
    figure, axis = axes_of(figsize=(7, 4.4))
    for i, (name, found) in enumerate(traces.items()):
        first, last = max(t.hours[0] for t in found), max(t.hours[-1] for t in found)
        grid = np.geomspace(first, max(last, first * 1.01), 200)
        mean, low, high = analysis.band(analysis.on_grid(found, grid) - best)
        axis.plot(grid, mean, label=name, linewidth=1.4, **_look(i))
        axis.fill_between(grid, np.maximum(low, 1e-4), high, alpha=0.12, color=_look(i)["color"], linewidth=0)
    axis.set(xscale="log", yscale="log", xlabel="simulated hours", ylabel="regret (nats)", title=title)
    axis.legend(fontsize=8, ncol=2)
    axis.grid(alpha=0.25, which="both")
    return save(figure, path)


def plot_final(traces: Mapping[str, Sequence[analysis.Trace]], best: float, title: str, path: Path) -> list[Path]:
    """Figure 12: cumulative distribution of the final regret over trials."""
    figure, axis = axes_of(figsize=(7, 4.4))
    for i, (name, found) in enumerate(traces.items()):
        final = np.sort([t.loss[-1] - best for t in found])
        axis.step(final, np.arange(1, len(final) + 1) / len(final), where="post", label=name, **_look(i))
    axis.set(xlabel="final regret (nats)", ylabel="share of trials", title=title, ylim=(0, 1.02))
    axis.legend(fontsize=8)
    axis.grid(alpha=0.25)
    return save(figure, path)


def plot_ranks(table: Table, epochs: Sequence[int], path: Path) -> list[Path]:
    """Figure 5: rank by validation loss at four epochs against the rank by final test loss."""
    figure, axes = axes_of(1, len(epochs), figsize=(3 * len(epochs), 3), sharey=True)
    for axis, epoch in zip(axes, epochs, strict=True):
        x, y = analysis.ranks(table, epoch)
        axis.plot(x, y, ".", markersize=3, color=COLOURS[5])
        axis.set(title=f"epoch {epoch}", xlabel="rank, validation")
    axes[0].set_ylabel("rank, final test")
    return save(figure, path)

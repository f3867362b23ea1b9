"""Figures 2, 4 to 8 and 10 to 12: functions that draw on given axes, for `Reproduction.draw`."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from hpo_envs.benchmarks.papers.nasbenchnlp import analysis
from hpo_envs.benchmarks.plots import COLOURS, styles
from hpo_envs.tables import cells
from hpo_envs.tables.table import Floats, Table


def plot_regret(axis: Any, traces: Mapping[str, Sequence[analysis.Trace]], best: float, title: str) -> None:
    """Draw figure 10: mean regret against simulated hours with 95 % confidence intervals of the mean."""
    for (name, found), look in zip(traces.items(), styles([*traces]).values(), strict=True):
        first, last = max(t.hours[0] for t in found), max(t.hours[-1] for t in found)
        grid = np.geomspace(first, max(last, first * 1.01), 200)
        mean, low, high = analysis.band(analysis.on_grid(found, grid) - best)
        axis.plot(grid, mean, label=name, linewidth=1.4, **look)
        axis.fill_between(grid, np.maximum(low, 1e-4), high, alpha=0.12, color=look["color"], linewidth=0)
    axis.set(xscale="log", yscale="log", xlabel="simulated hours", ylabel="regret (nats)", title=title)
    axis.legend(fontsize=8, ncol=2)
    axis.grid(alpha=0.25, which="both")


def plot_final(axis: Any, traces: Mapping[str, Sequence[analysis.Trace]], best: float, title: str) -> None:
    """Draw figure 12: cumulative distribution of the final regret over trials."""
    for (name, found), look in zip(traces.items(), styles([*traces]).values(), strict=True):
        final = np.sort([t.loss[-1] - best for t in found])
        axis.step(final, np.arange(1, len(final) + 1) / len(final), where="post", label=name, **look)
    axis.set(xlabel="final regret (nats)", ylabel="share of trials", title=title, ylim=(0, 1.02))
    axis.legend(fontsize=8)
    axis.grid(alpha=0.25)


def plot_ranks(axes: Any, table: Table, epochs: Sequence[int]) -> None:
    """Draw figure 5: a panel per epoch with ranks by validation loss at this epoch, and by final test loss."""
    for axis, epoch in zip(axes, epochs, strict=True):
        x, y = analysis.ranks(table, epoch)
        axis.plot(x, y, ".", markersize=3, color=COLOURS[0])
        axis.set(title=f"epoch {epoch}", xlabel="rank, validation")
    axes[0].set_ylabel("rank, final test")


def plot_cells(axes: Any, named: Mapping[str, cells.Cell]) -> None:
    """Draw figure 2 or 11: a panel per cell with its graph."""
    for ax, (name, cell) in zip(axes, named.items(), strict=True):
        cells.draw(cell, ax)
        ax.set_title(name)


def plot_metrics(axes: Any, size: Floats, hours: Floats, perplexity: Floats, marked: Mapping[str, int]) -> None:
    """Draw figure 4: (n,) parameters, hours and lowest test perplexity of architectures; `marked`: index by name."""
    left, right = axes
    dots = left.scatter(size / 1e6, hours, c=np.log(perplexity), s=12, cmap="viridis")
    left.figure.colorbar(dots, ax=left, label="best test log perplexity")
    for name, row in marked.items():
        left.annotate(name, (size[row] / 1e6, hours[row]), fontsize=8, color=COLOURS[1])
    left.set(xlabel="parameters, millions", ylabel="training, hours")
    right.hist(np.log(perplexity), bins=40, color=COLOURS[0])
    for name, row in marked.items():
        right.axvline(np.log(perplexity[row]), color=COLOURS[1])
        right.text(np.log(perplexity[row]), right.get_ylim()[1] * 0.95, name, rotation=90, va="top", fontsize=8)
    right.set(xlabel="best test log perplexity", ylabel="architectures")


def plot_pairs(ax: Any, x: Floats, y: Floats, labels: Sequence[str]) -> None:
    """Draw figure 6 or 8: one quantity against another, with the diagonal; `labels` are those of the axes."""
    ax.scatter(x, y, s=8, color=COLOURS[0])
    ends = [float(min(x.min(), y.min())), float(max(x.max(), y.max()))]
    ax.plot(ends, ends, color="#555555", linewidth=0.8)
    ax.set(xlabel=labels[0], ylabel=labels[1])


def plot_histogram(ax: Any, values: Floats, label: str) -> None:
    """Draw figure 7: a histogram of whole numbers with bins of two."""
    ax.hist(values, bins=np.arange(values.min() - 0.5, values.max() + 1.5, 2), color=COLOURS[0])
    ax.set(xlabel=label, ylabel="pairs")

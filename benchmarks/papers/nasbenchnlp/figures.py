"""Figures 2, 4 to 8 and 10 to 12 as pictures: each function draws one, and returns the paths of its files."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from hpo_envs.benchmarks.papers.nasbenchnlp import analysis
from hpo_envs.benchmarks.plots import COLOURS, panels, save, styles
from hpo_envs.tables import cells
from hpo_envs.tables.table import Floats, Table


def plot_regret(traces: Mapping[str, Sequence[analysis.Trace]], best: float, title: str, path: Path) -> list[Path]:
    """Figure 10: mean regret against simulated hours with 95 % confidence intervals of the mean."""
    figure, ((axis,),) = panels(1, 1, (7, 4.4))
    for (name, found), look in zip(traces.items(), styles([*traces]).values(), strict=True):
        first, last = max(t.hours[0] for t in found), max(t.hours[-1] for t in found)
        grid = np.geomspace(first, max(last, first * 1.01), 200)
        mean, low, high = analysis.band(analysis.on_grid(found, grid) - best)
        axis.plot(grid, mean, label=name, linewidth=1.4, **look)
        axis.fill_between(grid, np.maximum(low, 1e-4), high, alpha=0.12, color=look["color"], linewidth=0)
    axis.set(xscale="log", yscale="log", xlabel="simulated hours", ylabel="regret (nats)", title=title)
    axis.legend(fontsize=8, ncol=2)
    axis.grid(alpha=0.25, which="both")
    return save(figure, path)


def plot_final(traces: Mapping[str, Sequence[analysis.Trace]], best: float, title: str, path: Path) -> list[Path]:
    """Figure 12: cumulative distribution of the final regret over trials."""
    figure, ((axis,),) = panels(1, 1, (7, 4.4))
    for (name, found), look in zip(traces.items(), styles([*traces]).values(), strict=True):
        final = np.sort([t.loss[-1] - best for t in found])
        axis.step(final, np.arange(1, len(final) + 1) / len(final), where="post", label=name, **look)
    axis.set(xlabel="final regret (nats)", ylabel="share of trials", title=title, ylim=(0, 1.02))
    axis.legend(fontsize=8)
    axis.grid(alpha=0.25)
    return save(figure, path)


def plot_ranks(table: Table, epochs: Sequence[int], path: Path) -> list[Path]:
    """Figure 5: rank by validation loss at each of the epochs against the rank by final test loss."""
    figure, (axes,) = panels(1, len(epochs), (3 * len(epochs), 3), sharey=True)
    for axis, epoch in zip(axes, epochs, strict=True):
        x, y = analysis.ranks(table, epoch)
        axis.plot(x, y, ".", markersize=3, color=COLOURS[0])
        axis.set(title=f"epoch {epoch}", xlabel="rank, validation")
    axes[0].set_ylabel("rank, final test")
    return save(figure, path)


def plot_cells(named: Mapping[str, cells.Cell], path: Path) -> list[Path]:
    """Figures 2 and 11: graphs of the cells."""
    figure, (axes,) = panels(1, len(named), (4.5 * len(named), 6.5))
    for ax, (name, cell) in zip(axes, named.items(), strict=True):
        cells.draw(cell, ax)
        ax.set_title(name)
    return save(figure, path)


def plot_metrics(size: Floats, hours: Floats, perplexity: Floats, marked: Mapping[str, int], path: Path) -> list[Path]:
    """Figure 4: parameters, hours and test log perplexity, and the distribution of log perplexity."""
    figure, ((left, right),) = panels(1, 2, (9, 3.6))
    dots = left.scatter(size / 1e6, hours, c=np.log(perplexity), s=12, cmap="viridis")
    figure.colorbar(dots, ax=left, label="best test log perplexity")
    for name, row in marked.items():
        left.annotate(name, (size[row] / 1e6, hours[row]), fontsize=8, color=COLOURS[1])
    left.set_xlabel("parameters, millions")
    left.set_ylabel("training, hours")
    right.hist(np.log(perplexity), bins=40, color=COLOURS[0])
    for name, row in marked.items():
        right.axvline(np.log(perplexity[row]), color=COLOURS[1])
        right.text(np.log(perplexity[row]), right.get_ylim()[1] * 0.95, name, rotation=90, va="top", fontsize=8)
    right.set_xlabel("best test log perplexity")
    right.set_ylabel("architectures")
    return save(figure, path)


def plot_pairs(x: Floats, y: Floats, labels: Sequence[str], path: Path) -> list[Path]:
    """Figures 6 and 8: one quantity against another, with the diagonal."""
    figure, ((ax,),) = panels(1, 1, (4.5, 3.6))
    ax.scatter(x, y, s=8, color=COLOURS[0])
    ends = [float(min(x.min(), y.min())), float(max(x.max(), y.max()))]
    ax.plot(ends, ends, color="#555555", linewidth=0.8)
    ax.set_xlabel(labels[0])
    ax.set_ylabel(labels[1])
    return save(figure, path)


def plot_histogram(values: Floats, label: str, path: Path) -> list[Path]:
    """Figure 7: a histogram of whole numbers."""
    figure, ((ax,),) = panels(1, 1, (4.5, 3.6))
    ax.hist(values, bins=np.arange(values.min() - 0.5, values.max() + 1.5, 2), color=COLOURS[0])
    ax.set_xlabel(label)
    ax.set_ylabel("pairs")
    return save(figure, path)

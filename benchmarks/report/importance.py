"""Importance of hyperparameters as a picture: main effects, interactions, marginals."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from hpo_envs.benchmarks.analysis.forest_importance import Axis, ForestImportance
from hpo_envs.benchmarks.plots import COLOURS, panels, save
from hpo_envs.benchmarks.plots.configurations import bars

SHOWN = 4
"""Marginals that are drawn."""


def draw(found: ForestImportance, metric: str, axes: Sequence[Axis], sign: float, path: Path) -> list[Path]:
    """Draw main effects and interactions above, marginals of the most important hyperparameters below.

    Args:
        found: From `forest_importance.importance`.
        metric: Name of the metric.
        axes: Of the hyperparameters.
        sign: -1 where scores are minus the metric.
        path: Of the files, without ending.
    """
    order = np.argsort(-found.main, kind="stable")
    shown = min(SHOWN, len(order))
    figure, (above, below) = panels(2, max(shown, 2), (3.1 * max(shown, 2), 6.4))
    bars(above[0], [found.names[i] for i in order], found.main[order].tolist(), "main effects")
    pairs = found.ranked_pairs()[:8]
    bars(above[1], [f"{a} x {b}" for a, b, _ in pairs], [s for _, _, s in pairs], "interactions")
    for axis in (*above[2:], *below[shown:]):
        axis.set_visible(False)
    for axis, i in zip(below, order, strict=False):
        points, mean, std = found.marginals[i]
        known = axes[i]
        at = np.arange(len(points)) if known.values else np.exp(points) if known.log else points
        # First: a scale brings its own ticks.
        axis.set(xlabel=found.names[i], ylabel=f"mean {metric}", xscale="log" if known.log else "linear")
        axis.plot(at, sign * mean, "o-" if known.values else "-", color=COLOURS[1])
        axis.fill_between(at, sign * mean - std, sign * mean + std, color=COLOURS[1], alpha=0.2, linewidth=0)
        if known.values:
            axis.set_xticks(at, known.labels or [f"{v:g}" for v in points], fontsize=7)
    return save(figure, path)

"""Regret against the budget as a picture."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from hpo_envs.benchmarks.papers.nmtlc import settings
from hpo_envs.benchmarks.plots import COLOURS, panels, save


def plot(curves: Mapping[str, Mapping[str, Any]], path: Path) -> list[Path]:
    """Mean regret of each agent against the budget in full trainings, one panel per corpus."""
    columns = min(len(curves), 4)
    rows = -(-len(curves) // columns)
    figure, axes = panels(rows, columns, (3.2 * columns, 2.8 * rows))
    for axis, (corpus, agents) in zip(axes.flat, curves.items(), strict=False):
        for i, (agent, values) in enumerate(agents.items()):
            mean, half = values.mean(axis=0), 1.96 * values.std(axis=0) / np.sqrt(len(values))
            axis.plot(settings.TRAININGS, mean, marker="os^D"[i], markersize=4, color=COLOURS[i], label=agent)
            axis.fill_between(settings.TRAININGS, mean - half, mean + half, color=COLOURS[i], alpha=0.15, linewidth=0)
        axis.set(title=corpus, xscale="log", xlabel="full trainings")
        axis.grid(alpha=0.25)
    axes[0, 0].set_ylabel("regret (nats)")
    axes[0, 0].legend(fontsize=7)
    return save(figure, path)

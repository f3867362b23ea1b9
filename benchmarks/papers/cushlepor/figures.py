"""Figures of the reproduction: score distributions (figures 6 and 7 of the paper)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import numpy.typing as npt

from hpo_envs.benchmarks.plots import COLOURS, panels, save

Floats = npt.NDArray[np.float64]


def distributions(scores: Mapping[str, Mapping[str, Floats]], path: Path) -> list[Path]:
    """Histograms of segment scores: score on the horizontal axis, number of segments on the vertical one.

    Args:
        scores: For each panel's title, (segments,) scores in [0, 1] by name.
        path: Where to save, without suffix; a `.png` and an `.svg` are written.
    """
    figure, (row,) = panels(1, len(scores), (4.2 * len(scores), 3.6), sharey=True)
    edges = np.linspace(0.0, 1.0, 41)
    for axis, (title, by_name) in zip(row, scores.items(), strict=True):
        for (name, x), colour in zip(by_name.items(), COLOURS * 2, strict=False):
            counts, _ = np.histogram(x, edges)
            axis.stairs(counts, edges, color=colour, label=name, linewidth=1.6)
        axis.set(xlabel="score", title=title)
        axis.set_yscale("symlog", linthresh=10)
        axis.grid(alpha=0.3)
        axis.legend(frameon=False, fontsize=8)
    row[0].set_ylabel("segments")
    return save(figure, path)

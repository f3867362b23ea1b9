"""Figures of the reproduction: score distributions (figures 6 and 7 of the paper) and the objective over trials."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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


def over_trials(rewards: Mapping[str, Sequence[Floats]], best: float, label: str, path: Path) -> list[Path]:
    """Best value so far against evaluations: median and quartiles of runs, and the best known as a line.

    Args:
        rewards: (evaluations,) values of each run by agent, lower is better, all of one length.
        best: Lowest value known.
        label: Name of the vertical axis.
        path: Where to save, without suffix.
    """
    figure, ((axis,),) = panels(1, 1, (6.4, 4.0))
    for (agent, runs), colour in zip(rewards.items(), COLOURS * 2, strict=False):
        so_far = np.minimum.accumulate(np.stack(runs), axis=1)
        steps = np.arange(1, so_far.shape[1] + 1)
        low, middle, high = np.percentile(so_far, [25, 50, 75], axis=0)
        axis.plot(steps, middle, color=colour, label=agent)
        axis.fill_between(steps, low, high, color=colour, alpha=0.2, linewidth=0)
    axis.axhline(best, color="black", linestyle=":", label="best found")
    axis.set(xlabel="evaluations", ylabel=label, xscale="log")
    axis.grid(alpha=0.3)
    axis.legend(frameon=False)
    return save(figure, path)

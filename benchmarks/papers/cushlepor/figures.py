"""Figures of the reproduction: score distributions (figures 6 and 7 of the paper) and the objective over trials."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from hpo_envs.benchmarks.report.plots import COLOURS, pyplot

Floats = npt.NDArray[np.float64]


def distributions(panels: Mapping[str, Mapping[str, Floats]], path: Path) -> list[Path]:
    """Histograms of segment scores: score on the horizontal axis, number of segments on the vertical one.

    Args:
        panels: For each panel's title, (segments,) scores in [0, 1] by name.
        path: Where to save, without suffix; a `.png` and an `.svg` are written.
    """
    plt = pyplot()
    figure, axes = plt.subplots(1, len(panels), figsize=(4.2 * len(panels), 3.6), sharey=True, layout="constrained")
    edges = np.linspace(0.0, 1.0, 41)
    for axis, (title, scores) in zip(np.atleast_1d(axes), panels.items(), strict=True):
        for (name, x), colour in zip(scores.items(), COLOURS * 2, strict=False):
            counts, _ = np.histogram(x, edges)
            axis.stairs(counts, edges, color=colour, label=name, linewidth=1.6)
        axis.set(xlabel="score", title=title)
        axis.set_yscale("symlog", linthresh=10)
        axis.grid(alpha=0.3)
        axis.legend(frameon=False, fontsize=8)
    np.atleast_1d(axes)[0].set_ylabel("segments")
    return _save(figure, path, plt)


def over_trials(rewards: Mapping[str, Sequence[Floats]], best: float, label: str, path: Path) -> list[Path]:
    """Best value so far against evaluations: median and quartiles of runs, and the best known as a line.

    Args:
        rewards: (evaluations,) values of each run by agent, lower is better, all of one length.
        best: Lowest value known.
        label: Name of the vertical axis.
        path: Where to save, without suffix.
    """
    plt = pyplot()
    figure, axis = plt.subplots(figsize=(6.4, 4.0), layout="constrained")
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
    return _save(figure, path, plt)


def _save(figure: object, path: Path, plt: object) -> list[Path]:
    path.parent.mkdir(parents=True, exist_ok=True)
    written = [path.with_suffix(".png"), path.with_suffix(".svg")]
    for file in written:
        figure.savefig(file, dpi=150)  # type: ignore[attr-defined]
    plt.close(figure)  # type: ignore[attr-defined]
    return written

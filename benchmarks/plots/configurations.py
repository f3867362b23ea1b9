"""Plots of configurations and of the importance of hyperparameters.

`parallel_coordinates` and `importance` draw on the given axes, by default new ones, and return them; without matplotlib
they raise a `ModuleNotFoundError` that says how to install it.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from hpo_envs.benchmarks.analysis.forest_importance import Dimension, ForestImportance
from hpo_envs.benchmarks.plots import COLOURS, axes_of, panels, save

MISSING = -0.12
"""Position of lines without a value, below the lowest value."""


def parallel_coordinates(frame: Any, columns: Sequence[str] | None = None, by: str = "reward", axes: Any = None) -> Any:
    """Draw each row as a line through the values of its hyperparameters, coloured by its rank in a column.

    The axis of a number runs from its lowest to its highest value, on a logarithmic scale if suitable.

    Args:
        frame: Frame with a column per hyperparameter, such as the frame of runs or of a table.
        columns: The hyperparameters; default: those in the attributes of the frame. Constant ones are not drawn.
        by: Column that colours the lines, the highest values dark and on top.
        axes: Axes to draw on.

    Raises:
        ValueError: Columns do not exist, or none varies.
    """
    names = [*(frame.attrs.get("configuration", ()) if columns is None else columns)]
    unknown = [name for name in [*names, by] if name not in frame]
    if unknown:
        raise ValueError(f"columns must be among {', '.join(map(str, frame.columns))}, got {unknown[0]!r}")
    scales = {name: _places(frame[name]) for name in names if frame[name].nunique() > 1}
    if not scales:
        raise ValueError(f"columns must include at least one that varies, got {', '.join(names) or 'none'}")
    axes = axes_of(axes)
    from matplotlib import colormaps
    from matplotlib.collections import LineCollection

    rank = frame[by].rank(pct=True).fillna(0.0).to_numpy()
    order = np.argsort(rank, kind="stable")
    height = np.column_stack([place for place, _, _ in scales.values()])[order]
    lines = np.stack([np.broadcast_to(np.arange(len(scales)), height.shape), height], axis=2)
    colours = colormaps["cividis_r"](rank[order])
    axes.add_collection(LineCollection([*lines], colors=colours, linewidths=0.8, alpha=0.6))
    for x, (_, low, high) in enumerate(scales.values()):
        axes.axvline(x, color="0.6", linewidth=0.8)
        axes.text(x, -0.02, low, ha="center", va="top", fontsize=7)
        axes.text(x, 1.02, high, ha="center", va="bottom", fontsize=7)
    axes.set_xticks(range(len(scales)), [*scales], rotation=30, ha="right", rotation_mode="anchor")
    axes.set(xlim=(-0.3, len(scales) - 0.7), ylim=(MISSING - 0.05, 1.1), yticks=[], title=f"dark: high {by}")
    axes.grid(False)
    return axes


def _places(values: Any) -> tuple[npt.NDArray[np.float64], str, str]:
    """Return (n,) heights of a column's values in [0, 1], or `MISSING`, and labels of the lowest and highest one."""
    known = values.dropna()
    if not all(isinstance(v, (int, float, np.number)) and not isinstance(v, bool) for v in known):
        choices = {v: i for i, v in enumerate(sorted(known.unique(), key=str))}
        codes = values.map(choices).to_numpy(dtype=float)
        names = [*map(str, choices)]
        return np.where(np.isnan(codes), MISSING, codes / max(len(choices) - 1, 1)), names[0], names[-1]
    x = values.to_numpy(dtype=float)
    low, high = float(known.min()), float(known.max())
    heights = (x - low) / (high - low)
    if low > 0:
        logs = (np.log(x) - np.log(low)) / (np.log(high) - np.log(low))
        if high / low >= 100 and abs(np.nanmedian(logs) - 0.5) < abs(np.nanmedian(heights) - 0.5):
            heights = logs
    return np.where(np.isnan(x), MISSING, heights), f"{low:.3g}", f"{high:.3g}"


def importance(found: Any, axes: Any = None) -> Any:
    """Draw the fraction of the variance that each hyperparameter explains alone, the largest on top.

    `found` is a result of `analysis.forest_importance.importance`. The axes, by default new ones, are returned.
    """
    order = np.argsort(-np.asarray(found.main), kind="stable")
    return _bars(axes_of(axes), [found.names[i] for i in order], [float(found.main[i]) for i in order], "main effects")


def interactions(found: ForestImportance, axes: Any) -> None:
    """Draw the fraction of the variance that each of the eight most important pairs explains, the largest on top."""
    pairs = found.ranked_pairs()[:8]
    _bars(axes, [f"{a} x {b}" for a, b, _ in pairs], [share for _, _, share in pairs], "interactions")


def _bars(axes: Any, names: Sequence[str], shares: Sequence[float], title: str) -> Any:
    axes.barh(range(len(names)), [*shares][::-1], color=COLOURS[0])
    axes.set_yticks(range(len(names)), [*names][::-1])  # categories would become texts only when drawn, with formulas
    axes.set(title=title, xlabel="share of the variance")
    axes.tick_params(axis="y", labelsize=7)
    return axes


def draw_importance(
    found: ForestImportance, metric: str, axes: Sequence[Dimension], sign: float, path: Path
) -> list[Path]:
    """Draw main effects and interactions above, marginals of the four most important hyperparameters below.

    `axes` are the dimensions of the space, `sign` is -1 if scores are minus the metric, and `path` has no suffix; the
    paths of the files are returned.
    """
    order = np.argsort(-found.main, kind="stable")
    shown = min(4, len(order))
    figure, (above, below) = panels(2, max(shown, 2), (3.1 * max(shown, 2), 6.4))
    importance(found, above[0])
    interactions(found, above[1])
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

"""Plots for notebooks, and the style of all plots: colours and line styles of agents, sizes, saving.

>>> from hpo_envs.benchmarks import plots, run
>>> runs = run("random", "NMTHPO-zhen-v0", range(4))
>>> axes = plots.incumbent(runs.to_frame())
"""

import importlib
import io
import zlib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from hpo_envs.tables.checks import extra_module
from hpo_envs.tables.files import atomic

_PLACES = {
    "configurations": ("importance", "parallel_coordinates"),
    "paper": ("anytime", "lines", "ranks"),
    "runs": ("ecdf", "incumbent", "pareto", "ranking"),
}

__all__ = ["anytime", "ecdf", "importance", "incumbent", "lines", "parallel_coordinates", "pareto", "ranking", "ranks"]


def __getattr__(name: str) -> Any:
    """Return a plot function; its module is imported on first use."""
    for module, names in _PLACES.items():
        if name in names:
            return getattr(importlib.import_module(f"{__name__}.{module}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#999999")
"""Okabe and Ito's palette, safe for colour-blind readers; grey for its yellow, which is hard to see on white."""

DASHES = ("-", "--", ":", "-.")
"""Line styles: the first eight agents have solid lines, the next eight dashed ones, ..., so that no two look alike."""

SEARCH = (
    "bo", "learned", "regularized-evolution", "hyperband", "tpe", "smac-like", "bo-spread", "random",
    "auto", "asha", "successive-halving", "bo-thompson", "bagged-trees", "box-bo", "graph-ei-rbf", "bo-ucb",
    "bo-ei-rbf", "bo-ei-matern52", "cmaes", "graph-ei-matern52", "graph-eif-rbf", "graph-eif-matern52", "optuna",
    "learned-unseen", "bo-ehvi-rbf", "bo-ehvi-matern52", "graph-ehvi-rbf", "graph-ehvi-matern52",
    "freeze-thaw",
)  # fmt: skip
"""Agents in the order of their styles, see `looks`."""

ARMS = ("ttts", "sr", "sh", "lucb", "t3c", "bts", "track-and-stop", "random", "ttei", "nonadaptive")
"""Bandits in the order of their styles, which agents of `SEARCH` have, too; `random` has the same style in both."""

TRANSFER = {
    "rgpe": 30, "zero-shot": 31, "quantile-copula": 3, "tst-tpe": 9, "stacked-gp": 10, "warm-gp": 11, "portfolio": 14,
    "learned-policy": 25, "in-context": 21, "curve-ranker": 12,
}  # fmt: skip
"""Style indices of agents that learn from source tasks, shared with agents that no picture shows with them."""

PLACES = {name: i for names in (SEARCH, ARMS) for i, name in enumerate(names)} | TRANSFER

MOST = 6
"""Largest number of lines in a picture, and of highlighted lines in a chart."""

FLOOR = 1e-3
"""Value above which the middle line must end for a logarithmic axis."""

STYLE = {
    "font.size": 9, "axes.spines.top": False, "axes.spines.right": False, "axes.grid": True, "grid.alpha": 0.3,
    "legend.frameon": False, "legend.fontsize": 8, "savefig.dpi": 150,
}  # fmt: skip


def axes_of(axes: Any = None, style: Mapping[str, Any] = STYLE) -> Any:
    """Return the given axes, or else new ones of a new figure, which a notebook shows, with `style` as `rcParams`."""
    if axes is not None:
        return axes
    pyplot = extra_module("matplotlib.pyplot", "plots", "plots")
    # Outside of the context: a notebook's first figure turns on interactive mode, which must stay on.
    figure = pyplot.figure(layout="constrained")
    with pyplot.rc_context(style):
        return figure.subplots()


def panels(rows: int, columns: int, size: tuple[float, float], **options: Any) -> tuple[Any, Any]:
    """Return a figure and its (rows, columns) axes, without touching pyplot's global state; for `save`."""
    figure = extra_module("matplotlib.figure", "plots", "plots").Figure(figsize=size, layout="constrained")
    return figure, figure.subplots(rows, columns, squeeze=False, **options)


def save(figure: Any, path: Path, dpi: int = 150) -> list[Path]:
    """Write a figure as `.png` and `.svg`, without date, so that equal data give equal bytes; return both paths."""
    path.parent.mkdir(parents=True, exist_ok=True)
    importlib.import_module("hpo_envs.core.figures").plain(figure)
    with extra_module("matplotlib", "plots", "plots").rc_context({"svg.hashsalt": "hpo_envs"}):
        for file in files(path):
            drawn, metadata = io.BytesIO(), {"Date": None} if file.suffix == ".svg" else None
            figure.savefig(drawn, format=file.suffix[1:], dpi=dpi, metadata=metadata)
            atomic.write(file, drawn.getvalue())
    return files(path)


def files(path: Path) -> list[Path]:
    """Return the `.png` and `.svg` paths of a picture from its path without suffix."""
    return [path.with_name(path.name + suffix) for suffix in (".png", ".svg")]


def looks(names: Iterable[str]) -> dict[str, int]:
    """Return the index of each agent's style by name: that in `PLACES`, or for other agents by a hash of the name.

    Suffixes of a name ("bo (2)", "learned (seen)") are ignored. If an earlier agent has the index, the next free one is
    taken.
    """
    count, found = len(COLOURS) * len(DASHES), dict[str, int]()
    for name in names:
        agent = name.partition(" ")[0]
        at = PLACES.get(agent, zlib.crc32(agent.encode())) % count
        while at in found.values() and len(found) < count:
            at = (at + 1) % count
        found[name] = at
    return found


def styles(names: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Return each agent's colour and line style, arguments of matplotlib, by name."""
    dashes = len(COLOURS)
    return {n: {"color": COLOURS[i % dashes], "linestyle": DASHES[i // dashes]} for n, i in looks(names).items()}


def line(axes: Any, x: Any, band: Sequence[Any], label: str, look: Mapping[str, Any]) -> None:
    """Draw an estimate as a line, with its interval if `band` is (estimate, lower, upper)."""
    lines = [np.array(b, dtype=float) for b in band]
    axes.plot(x, lines[0], label=label, **look)
    if len(lines) == 3:
        step = str(look.get("drawstyle", "")).removeprefix("steps-") or None
        axes.fill_between(x, lines[1], lines[2], step=step, color=look["color"], alpha=0.15, linewidth=0)


def most(order: Sequence[str]) -> list[str]:
    """Return the first agents and, if it is among them all, random search: at most `MOST`, in the given order."""
    first = [a for a in order if a != "random"][: MOST - ("random" in order)]
    return [a for a in order if a in first or a == "random"]


def crowded(agents: Mapping[str, Sequence[Sequence[float]]]) -> bool:
    """Return whether a logarithmic axis is better: the median end of several lines is low, and none ends below 0.

    Low is above `FLOOR`, but below a tenth of the highest value. The first row of each agent is its line.
    """
    top = max(v for band in agents.values() for v in band[0] if v is not None)
    ends = sorted(band[0][-1] for band in agents.values())
    return len(ends) > 1 and 0.0 <= ends[0] and FLOOR < ends[(len(ends) - 1) // 2] < 0.1 * top


def once(frame: Any, *keys: str) -> None:
    """Raise a `ValueError` if a run, which these columns identify, is twice in a frame."""
    if len(again := frame[frame.duplicated([*keys])]):
        twice = ", ".join(f"{key} {again[key].iloc[0]}" for key in keys)
        raise ValueError(f"frame must have each run once, with its arguments in its names, got {twice} twice")

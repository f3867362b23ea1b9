"""One style for all pictures: colour-blind safe, as bitmap (`.png`) and vector (`.svg`) files."""

from __future__ import annotations

import io
import itertools
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from hpo_envs.tables import extras
from hpo_envs.tables.files import atomic

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#999999")
"""Okabe and Ito's palette, safe for colour-blind readers; grey for its yellow, which white paper swallows."""

DASHES = ("-", "--", ":", "-.")
"""Line styles; a second set of eight agents is dashed, so that no two look the same."""

STYLE = {
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.alpha": 0.3,
    "legend.frameon": False,
    "legend.fontsize": 8,
    "savefig.dpi": 150,
    "svg.hashsalt": "hpo_envs",
}


def axes_of(axes: Any = None) -> Any:
    """The axes given, or new ones in our style, which a notebook shows.

    Raises:
        ModuleNotFoundError: matplotlib is missing; the message says how to install it.
    """
    if axes is not None:
        return axes
    pyplot = extras.module("matplotlib.pyplot", "plots", "plots")
    # Outside of the context: a notebook's first figure turns on interactive mode, which must stay on.
    figure = pyplot.figure(layout="constrained")
    with pyplot.rc_context(STYLE):
        return figure.subplots()


def panels(rows: int, columns: int, size: tuple[float, float], **options: Any) -> tuple[Any, Any]:
    """A figure and its (rows, columns) axes, without touching pyplot's global state; for `save`.

    Raises:
        ModuleNotFoundError: matplotlib is missing; the message says how to install it.
    """
    figure = extras.module("matplotlib.figure", "plots", "plots").Figure(figsize=size, layout="constrained")
    return figure, figure.subplots(rows, columns, squeeze=False, **options)


def save(figure: Any, path: Path) -> list[Path]:
    """Writes a figure as `.png` and `.svg`; the same data give the same bytes, for there is no date inside."""
    path.parent.mkdir(parents=True, exist_ok=True)
    for file in files(path):
        drawn = io.BytesIO()
        figure.savefig(
            drawn, format=file.suffix[1:], dpi=150, metadata={"Date": None} if file.suffix == ".svg" else None
        )
        atomic.write(file, drawn.getvalue())
    return files(path)


def files(path: Path) -> list[Path]:
    """The two files of a picture, from its path without suffix."""
    return [path.with_name(path.name + suffix) for suffix in (".png", ".svg")]


def styles(names: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Colour and line style by name."""
    looks = itertools.cycle((c, d) for d in DASHES for c in COLOURS)
    return {name: {"color": c, "linestyle": d} for name, (c, d) in zip(names, looks, strict=False)}


def line(axes: Any, x: Any, band: Sequence[Any], label: str, look: Mapping[str, Any]) -> None:
    """Draws a line of (estimate) or of (estimate, lower, upper)."""
    lines = [np.array(b, dtype=float) for b in band]
    axes.plot(x, lines[0], label=label, **look)
    if len(lines) == 3:
        axes.fill_between(x, lines[1], lines[2], color=look["color"], alpha=0.15, linewidth=0)

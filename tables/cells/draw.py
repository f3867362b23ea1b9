"""Drawings of cells in the style of figures 2 and 11 of Klyuchnikov et al. 2020."""

from typing import Any

import numpy as np

from hpo_envs.tables.cells.graph import Sketch, graph
from hpo_envs.tables.cells.recipe import Cell
from hpo_envs.tables.checks import extra_module

COLOURS = ("#009E73", "#56B4E9", "#E69F00")
"""One colour per hidden state, for its previous and its new value; safe for the colour-blind (Okabe and Ito)."""

INPUT = "#CC79A7"
PLAIN = "#DDDDDD"

ROLES = {"": ("-", "#555555"), "z": ("--", "#000000"), "x": ("-", "#0072B2"), "y": ("-", "#D55E00")}
"""Line style and colour of edges by role: ordinary inputs, and the arguments z, x and y of a blend."""

_SIGNS = {
    "linear": "linear", "blend": "blend", "elementwise_prod": "×", "elementwise_sum": "+", "activation_tanh": "tanh",
    "activation_sigm": "sigm", "activation_leaky_relu": "LReLU",
}  # fmt: skip

Place = str | tuple[str, int]
"""A node, or (node, layer) for the lane in which its outgoing edges pass a layer."""


def layout(cell: Cell | Sketch) -> dict[Place, tuple[float, float]]:
    """(x, y) of each node and lane: y is the longest path from the inputs, x follows the mean of the predecessors."""
    g = graph(cell)
    depth: dict[str, int] = {}
    for name in g:  # inputs first, then nodes in topological order
        depth[name] = max((depth[k] + 1 for k in g.predecessors(name)), default=0)
    layers: list[list[Place]] = [[n for n in g if depth[n] == level] for level in range(max(depth.values()) + 1)]
    for name in g:
        for level in range(depth[name] + 1, max((depth[k] for k in g.successors(name)), default=0)):
            layers[level].append((name, level))
    at: dict[Place, tuple[float, float]] = {}
    for level, places in enumerate(layers):
        wish = {}
        for n in places:
            inputs = [n[0]] if isinstance(n, tuple) else list(g.predecessors(n))
            below: list[Place] = [k if depth[k] == level - 1 else (k, level - 1) for k in inputs]
            wish[n] = float(np.mean([at[k][0] for k in below])) if below else 0.0
        widths = {n: 0.5 if isinstance(n, tuple) else 1.0 for n in sorted(places, key=lambda n: wish[n])}
        left = -float(np.sum(list(widths.values()))) / 2
        for n, width in widths.items():
            at[n] = (left + width / 2, float(level))
            left += width
    return at


def draw(cell: Cell | Sketch, axes: Any = None) -> Any:
    """Draw a cell, inputs at the bottom, on matplotlib axes (None: new ones), and return the axes.

    Raises:
        ModuleNotFoundError: matplotlib is not installed.
    """
    matplotlib = extra_module("matplotlib.figure", "plots", "drawings")
    g, at = graph(cell), layout(cell)
    if axes is None:
        width = max(abs(x) for x, _ in at.values()) * 2 + 1
        axes = matplotlib.Figure(figsize=(1.2 * width + 0.5, 0.9 * (max(y for _, y in at.values()) + 1))).add_subplot()
    nodes = {}
    for name, data in g.nodes(data=True):
        state = int(name.rpartition("_")[2]) if data["op"] == "hidden" else data["new"]
        colour = INPUT if data["op"] == "input" else PLAIN if state is None else COLOURS[state]
        label = _SIGNS.get(data["op"], name)
        if data["new"] is not None:
            label = f"h{'₀₁₂'[data['new']]}: {label}"
        elif data["op"] == "hidden":
            label = f"h{'₀₁₂'[state]} prev"
        box = {"boxstyle": "round,pad=0.25", "facecolor": colour, "edgecolor": "#333333", "linewidth": 0.6}
        nodes[name] = axes.text(*at[name], label, ha="center", va="center", fontsize=7, bbox=box, zorder=2)
    for a, b, role in g.edges(data="role"):
        style, colour = ROLES[role]
        lanes = [at[a, level] for level in range(int(at[a][1]) + 1, int(at[b][1]))]
        # Upright between the boxes of the layers that it skips, below them where it leaves its own.
        line = [at[a], *((x, y + side) for x, y in lanes for side in (-0.25, 0.25))]
        axes.plot(*zip(*line, strict=True), linestyle=style, color=colour, linewidth=0.8, zorder=1)
        ends = {"patchA": None if lanes else nodes[a].get_bbox_patch(), "patchB": nodes[b].get_bbox_patch()}
        arrow = {"arrowstyle": "->", "linestyle": style, "color": colour, "shrinkA": 0, "shrinkB": 1} | ends
        arrow |= {"linewidth": 0.8, "mutation_scale": 8}
        # Above the boxes, which have their places once they are drawn.
        axes.annotate("", at[b], line[-1], arrowprops=arrow, zorder=3)
    x, y = zip(*at.values(), strict=True)
    axes.set(xlim=(min(x) - 0.6, max(x) + 0.6), ylim=(-0.5, max(y) + 0.5))
    if used := [role for role in ROLES if role and any(role == r for *_, r in g.edges(data="role"))]:
        for role in used:
            axes.plot([], [], linestyle=ROLES[role][0], color=ROLES[role][1], label=role)
        axes.legend(title="inputs of blend", fontsize=6, title_fontsize=6, frameon=False, loc="upper right")
    axes.set_axis_off()
    return axes

"""Draws a cell as figures 2 and 11 of the paper do."""

from __future__ import annotations

from typing import Any

from hpo_envs.tables.cells.graph import Sketch, graph
from hpo_envs.tables.cells.recipe import Cell
from hpo_envs.tables.checks import extra_module

COLOURS = ("#009E73", "#56B4E9", "#E69F00")
"""One colour per hidden state, for its previous and its new value; safe for the colour-blind (Okabe and Ito)."""

INPUT = "#CC79A7"
PLAIN = "#DDDDDD"

ROLES = {"": ("-", "#555555"), "z": ("--", "#000000"), "x": ("-", "#0072B2"), "y": ("-", "#D55E00")}
"""Line style and colour of edges: inputs, and the arguments z, x and y of a blend."""

_SIGNS = {
    "linear": "linear",
    "blend": "blend",
    "elementwise_prod": "×",
    "elementwise_sum": "+",
    "activation_tanh": "tanh",
    "activation_sigm": "sigm",
    "activation_leaky_relu": "LReLU",
}


def layout(cell: Cell | Sketch) -> dict[str, tuple[float, float]]:
    """Position of each node: height by the longest path from the inputs, places in a layer by the inputs' places."""
    g = graph(cell)
    depth: dict[str, int] = {}
    layers: dict[int, list[str]] = {}
    for name in g:  # inputs first, then nodes in topological order
        depth[name] = max((depth[k] + 1 for k in g.predecessors(name)), default=0)
        layers.setdefault(depth[name], []).append(name)
    place: dict[str, float] = {}
    for level in sorted(layers):
        names = layers[level]
        wish = {n: sum(place[k] for k in g.predecessors(n)) / max(g.in_degree(n), 1) for n in names}
        for i, n in enumerate(sorted(names, key=lambda n: wish[n])):
            place[n] = i - (len(names) - 1) / 2
    return {name: (place[name], float(depth[name])) for name in g}


def draw(cell: Cell | Sketch, axes: Any = None) -> Any:
    """Draw a cell, inputs at the bottom, on matplotlib axes (None: new ones), and return them.

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
            label = f"$h_{data['new']}$: {label}"
        elif data["op"] == "hidden":
            label = f"$h_{state}$ prev"
        box = {"boxstyle": "round,pad=0.25", "facecolor": colour, "edgecolor": "#333333", "linewidth": 0.6}
        nodes[name] = axes.text(*at[name], label, ha="center", va="center", fontsize=7, bbox=box, zorder=2)
    for a, b, role in g.edges(data="role"):
        style, colour = ROLES[role]
        # Bent when it skips a layer, so that it does not run through other nodes.
        bend = 0.0 if at[b][1] - at[a][1] < 1.5 else 0.25
        ends = {"patchA": nodes[a].get_bbox_patch(), "patchB": nodes[b].get_bbox_patch()}
        arrow = {"arrowstyle": "->", "linestyle": style, "color": colour, "shrinkA": 0, "shrinkB": 1} | ends
        arrow |= {"linewidth": 0.8, "mutation_scale": 8, "connectionstyle": f"arc3,rad={bend}"}
        # Above the boxes, which have their places once they are drawn.
        axes.annotate("", at[b], at[a], arrowprops=arrow, zorder=3)
    x, y = zip(*at.values(), strict=True)
    axes.set(xlim=(min(x) - 0.6, max(x) + 0.6), ylim=(-0.5, max(y) + 0.5))
    if used := [role for role in ROLES if role and any(role == r for *_, r in g.edges(data="role"))]:
        for role in used:
            axes.plot([], [], linestyle=ROLES[role][0], color=ROLES[role][1], label=role)
        axes.legend(title="inputs of blend", fontsize=6, title_fontsize=6, frameon=False, loc="upper right")
    axes.set_axis_off()
    return axes

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
    "activation_leaky_relu": "leaky\nReLU",
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
    for a, b, role in g.edges(data="role"):
        style, colour = ROLES[role]
        # Bent when it skips a layer, so that it does not run through other nodes.
        bend = 0.0 if at[b][1] - at[a][1] < 1.5 else 0.25
        arrow = {"arrowstyle": "->", "linestyle": style, "color": colour, "shrinkA": 14, "shrinkB": 14}
        axes.annotate("", at[b], at[a], arrowprops={**arrow, "connectionstyle": f"arc3,rad={bend}"})
    for name, data in g.nodes(data=True):
        state = int(name.rpartition("_")[2]) if data["op"] == "hidden" else data["new"]
        colour = INPUT if data["op"] == "input" else PLAIN if state is None else COLOURS[state]
        label = _SIGNS.get(data["op"], name)
        if data["new"] is not None:
            label += f"\n$h_{data['new']}$"
        elif data["op"] == "hidden":
            label = f"$h_{state}$ prev"
        axes.scatter(*at[name], s=800, c=colour, edgecolors="#333333", zorder=2)
        axes.text(*at[name], label, ha="center", va="center", fontsize=7, zorder=3)
    if used := [role for role in ROLES if role and any(role == r for *_, r in g.edges(data="role"))]:
        for role in used:
            axes.plot([], [], linestyle=ROLES[role][0], color=ROLES[role][1], label=role)
        axes.legend(title="inputs of blend", fontsize=6, title_fontsize=6, frameon=False, loc="upper right")
    axes.margins(0.2)
    axes.set_axis_off()
    return axes

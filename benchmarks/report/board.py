"""The picture of the leaderboard, drawn from its summary."""

import re
import textwrap
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from hpo_envs.benchmarks.analysis import significance
from hpo_envs.benchmarks.plots import COLOURS, STYLE, panels, save
from hpo_envs.benchmarks.report import numbers
from hpo_envs.tables.checks import extra_module

MARKERS = {"best agent": (COLOURS[0], "o"), "second best": (COLOURS[-1], "o"), "random search": ("black", "D")}
"""Colour and shape of each marker."""


def board(summary: Mapping[str, Any], meanings: Mapping[str, str], path: Path) -> list[Path]:
    """Draw the best two agents of each family and random search, with 95 % intervals, one row per family.

    The lead of the best agent over random search is at the right of its row.

    Args:
        summary: Summary of the leaderboard. A family has one row: its track with the most environments, without source
            tasks.
        meanings: Short description of each agent.
        path: Path of the files, without suffix.
    """
    main = rows_of_board(summary)
    with extra_module("matplotlib", "plots", "plots").rc_context(STYLE):
        figure, ((axes,),) = panels(1, 1, (8.5, 7.0))
        for y, (family, t) in enumerate(main.items()):
            axes.axhline(y - 0.5, color="#cccccc", linewidth=0.6)
            title = f"{family} ({numbers.count(len(t['environments']), 'task')})"
            place = {"xycoords": ("axes fraction", "data"), "textcoords": "offset points", "va": "top"}
            axes.annotate(title, (0.0, y - 0.5), xytext=(-205, -3), fontsize=8, fontweight="bold", **place)
            leader = textwrap.fill(_leader(t, meanings), 60, break_on_hyphens=False)
            axes.annotate(leader, (0.0, y - 0.5), xytext=(-205, -14), fontsize=6.5, color=COLOURS[0], **place)
            axes.annotate(_lead(t), (1.0, y), xytext=(8, 0), fontsize=8, **place | {"va": "center"})
            others = [r for r in t["ranking"] if r["agent"] != "random"]
            base = [r for r in t["ranking"] if r["agent"] == "random"]
            shown = (others[:1], others[1:2], base)
            for shift, (colour, marker), records in zip((-0.2, 0.0, 0.2), MARKERS.values(), shown, strict=True):
                for r in records:
                    mean, low, high = np.array(r["mean"], dtype=float)
                    axes.plot([low, high], [y + shift] * 2, color=colour, linewidth=2)
                    axes.plot(mean, y + shift, marker, color=colour, markersize=4, clip_on=False)
        axes.set_yticks([])
        xlabel = "normalised regret over the budget (FIESTA: at its end) and its 95 % interval"
        xlabel += "\n0: best known configuration; 1: median configuration; lower is better"
        xlabel += "\nSeeds are paired: a difference can be significant where two intervals overlap."
        xlabel += "\nTies are corrected for the number of comparisons (Holm), intervals are not."
        axes.set_xlabel(xlabel, fontsize=8)
        axes.set(xlim=(0.0, min(1.0, axes.get_xlim()[1])), ylim=(len(main) - 0.5, -0.5))
        figure.suptitle(_finding(main), fontsize=10)
        column = "lead over random\nsearch, 95 % interval"
        axes.annotate(column, (1.0, -0.5), xytext=(8, 3), fontsize=7.5, **place | {"va": "bottom"})
        for label, (colour, marker) in MARKERS.items():
            axes.plot([], [], marker, color=colour, label=label, markersize=4)
        axes.legend(loc="lower right", fontsize=7, frameon=True)
        return save(figure, path, dpi=126)  # less than 900 px high


def _leader(track: Mapping[str, Any], meanings: Mapping[str, str]) -> str:
    """The first agent in words, and how many are tied with it."""
    first, *others = track["ranking"]
    tied = [r["agent"] for r in others if r["here"] == significance.TIED]
    random = ", one of them random search" if "random" in tied else ""
    meaning = f"{meanings[first['agent']]} ({first['agent']})" if first["agent"] in meanings else first["agent"]
    return meaning + (f", tied with {numbers.count(len(tied), 'other')}{random}" if tied else "")


def _lead(track: Mapping[str, Any]) -> str:
    """Difference between the regrets of random search and of the first agent, on the same seeds.

    Empty if random search is the first, or seeds are too few for an interval.
    """
    first = track["ranking"][0]["agent"]
    pairs = [p["here"]["difference"] for p in track["pairs"] if (p["a"], p["b"]) == (first, "random")]
    return "".join(f"{-mean:.2f} [{-high:.2f}, {-low:.2f}]" for mean, low, high in pairs if low is not None)


def _finding(main: Mapping[str, Mapping[str, Any]]) -> str:
    """Sentence on the agents that are significantly best in most families."""
    counts = Counter(t["best"]["here"] for t in main.values() if t["best"]["here"])
    if not counts:
        return "No agent is significantly best in any family"
    (first, most), *others = counts.most_common(2)
    if most == len(main):
        return f"{first} is significantly best in {'its family' if most == 1 else f'all {most} families'}"
    second = f", {others[0][0]} {others[0][1]}" if others else ""
    return f"No agent is best everywhere: {first} leads {most} of {len(main)} families{second}"


def rows_of_board(summary: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """The track of each family in the picture of the leaderboard."""
    family = {e["label"]: e["family"] for e in summary["environments"]}
    main: dict[str, Mapping[str, Any]] = {}
    for t in sorted(summary["tracks"], key=lambda t: (-len(t["environments"]), t["objectives"])):
        first = t["environments"][0]
        if not t.get("flat") and len(t["ranking"]) > 1 and not re.search(r"(transfer|budget)=", first):
            main.setdefault(family[first], t)
    return {name: main[name] for name in dict.fromkeys(family.values()) if name in main}

"""Plots of comparisons as files, in the style of `benchmarks.plots`.

They are drawn from a summary (`benchmarks.comparison.summary`), one track or environment at a time.
"""

import re
import textwrap
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from hpo_envs.benchmarks import plots as pictures
from hpo_envs.benchmarks.analysis import significance
from hpo_envs.benchmarks.plots import COLOURS, FLOOR, STYLE, crowded, files, line, most, panels, save, styles
from hpo_envs.benchmarks.report import charts, sentences
from hpo_envs.tables.checks import extra_module

MARKERS = {"best agent": (COLOURS[0], "o"), "second best": (COLOURS[-1], "o"), "random search": ("black", "D")}
"""Of the picture of the leaderboard: colour and shape."""


@contextmanager
def _axes(path: Path, size: tuple[float, float], dpi: int = 150) -> Iterator[Any]:
    """The axes of a figure in our style, which is saved as `.png` and `.svg` at the end."""
    with extra_module("matplotlib", "plots", "plots").rc_context(STYLE):
        figure, ((axes,),) = panels(1, 1, size)
        yield axes
        save(figure, path, dpi)


def regret(env: str, panel: Mapping[str, Any], seeds: int, spent: str, path: Path, raw: bool = False) -> list[Path]:
    """Plot the mean regret on an environment against evaluations; the title names the agent that ends lowest.

    Args:
        env: Id of the environment.
        panel: Of a summary's `curves`.
        seeds: Runs of an agent.
        spent: The budget, with its unit.
        path: Where to save, without suffix.
        raw: Whether scores have no known scale.

    Raises:
        ModuleNotFoundError: matplotlib is missing; the message says how to install it.
    """
    ends = {agent: float(band[0][-1]) for agent, band in panel["agents"].items()}
    lowest = [agent for agent, end in ends.items() if end <= min(ends.values()) + 1e-12]
    measure = "negative best reward" if raw else "regret"
    title = f"On {env}, {sentences.listed(lowest, 3)} {'has' if len(lowest) == 1 else 'have'} the lowest {measure}"
    title = title if len(ends) > 1 else f"{measure.capitalize()} of {lowest[0]} on {env}"
    ylabel = measure if raw else "normalised regret (0: best known score)"
    xlabel = f"evaluations (mean of {seeds} seeds, 95 % intervals)"
    order = sorted(ends, key=lambda a: ends[a])
    log = not raw and crowded({agent: panel["agents"][agent] for agent in most(order)})
    return draw(charts.chart(f"{title}\nafter {spent}", xlabel, ylabel, panel, ylog=log), path, order)


def draw(spec: Mapping[str, Any], path: Path, order: Sequence[str] | None = None) -> list[Path]:
    """Draw a chart of the page: the first agents and random search, at most six lines.

    Args:
        spec: From `charts`.
        path: Where to save, without suffix.
        order: Agents, the best one first; default: that of the chart.
    """
    names = most([*spec["series"]] if order is None else order)
    bands = {agent: spec["series"][agent] for agent in names}
    with _axes(path, (7.2, 4.0)) as axes:
        from matplotlib.ticker import LogLocator, NullLocator

        looks, steps = styles([*spec["series"]]), {"drawstyle": f"steps-{spec['step']}"} if "step" in spec else {}
        for agent, band in bands.items():
            look = looks[agent] | {"linewidth": 3.0 if agent == "random" else 1.6} | steps
            line(axes, spec["x"], band, agent, look)
        axes.set(xlabel=spec["xlabel"], ylabel=spec["ylabel"], title=spec["title"])
        axes.set(**{f"{a}scale": "log" for a in "xy" if spec.get(f"{a}log")})
        if spec["ylabel"].startswith("normalised regret"):
            lowest = min(b[0][-1] for b in bands.values())
            axes.set_ylim(max(FLOOR, lowest / 2) if spec.get("ylog") else 0.0, None)
            if spec.get("ylog"):
                axes.yaxis.set(major_locator=LogLocator(subs=(1.0, 2.0, 5.0)), major_formatter="{x:g}")
                axes.yaxis.set_minor_locator(NullLocator())
        if spec.get("xreverse"):
            axes.invert_xaxis()
        if spec["xlabel"].startswith("evaluations") and not spec.get("xlog"):
            axes.xaxis.get_major_locator().set_params(integer=True)
        axes.margins(x=0.01)
        # In the order in which the lines end; where a surface is nowhere, that is None.
        ends = {agent: -np.inf if band[0][-1] is None else band[0][-1] for agent, band in bands.items()}
        handles = sorted(zip(*axes.get_legend_handles_labels(), strict=True), key=lambda h: -ends[h[1]])
        axes.legend(*zip(*handles, strict=True), loc="center left", bbox_to_anchor=(1.0, 0.5))
    return files(path)


def ranking(track: Mapping[str, Any], path: Path) -> list[Path]:
    """Mean score of each agent with its 95 % interval, the best on top."""
    with _axes(path, (6.4, 1.2 + 0.26 * len(track["ranking"]))) as axes:
        pictures.ranking(track, axes)
    return files(path)


def board(summary: Mapping[str, Any], meanings: Mapping[str, str], path: Path) -> list[Path]:
    """The best two agents of each family and random search, with their 95 % intervals: a row for a family, one axis.

    At the right of a row is the lead of its best agent over random search.

    Args:
        summary: Of the leaderboard. A family has one row: its track with the most environments, without source tasks.
        meanings: What each agent is, in a few words.
        path: Where to save, without suffix.
    """
    main = rows_of_board(summary)
    with _axes(path, (8.5, 7.0), dpi=126) as axes:  # less than 900 px high
        for y, (family, t) in enumerate(main.items()):
            axes.axhline(y - 0.5, color="#cccccc", linewidth=0.6)
            title = f"{family} ({sentences.count(len(t['environments']), 'task')})"
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
        axes.figure.suptitle(_finding(main), fontsize=10)
        column = "lead over random\nsearch, 95 % interval"
        axes.annotate(column, (1.0, -0.5), xytext=(8, 3), fontsize=7.5, **place | {"va": "bottom"})
        for label, (colour, marker) in MARKERS.items():
            axes.plot([], [], marker, color=colour, label=label, markersize=4)
        axes.legend(loc="lower right", fontsize=7, frameon=True)
    return files(path)


def _leader(track: Mapping[str, Any], meanings: Mapping[str, str]) -> str:
    """The first agent in words, and how many are tied with it."""
    first, *others = track["ranking"]
    tied = [r["agent"] for r in others if r["here"] == significance.TIED]
    random = ", one of them random search" if "random" in tied else ""
    meaning = f"{meanings[first['agent']]} ({first['agent']})" if first["agent"] in meanings else first["agent"]
    return meaning + (f", tied with {sentences.count(len(tied), 'other')}{random}" if tied else "")


def _lead(track: Mapping[str, Any]) -> str:
    """How much lower the regret of the first agent is than that of random search, in the same seeds.

    Empty where random search is the first, or seeds are too few for an interval.
    """
    first = track["ranking"][0]["agent"]
    pairs = [p["here"]["difference"] for p in track["pairs"] if (p["a"], p["b"]) == (first, "random")]
    return "".join(f"{-mean:.2f} [{-high:.2f}, {-low:.2f}]" for mean, low, high in pairs if low is not None)


def _finding(main: Mapping[str, Mapping[str, Any]]) -> str:
    """Which agents are significantly best in most families."""
    counts = Counter(t["best"]["here"] for t in main.values() if t["best"]["here"])
    if not counts:
        return "No agent is significantly best in any family"
    (first, most), *others = counts.most_common(2)
    if most == len(main):
        return f"{first} is significantly best in {'its family' if most == 1 else f'all {most} families'}"
    second = f", {others[0][0]} {others[0][1]}" if others else ""
    return f"No agent is best everywhere: {first} leads {most} of {len(main)} families{second}"


def rows_of_board(summary: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """The track of each family that the picture of the leaderboard shows."""
    family = {e["label"]: e["family"] for e in summary["environments"]}
    main: dict[str, Mapping[str, Any]] = {}
    for t in sorted(summary["tracks"], key=lambda t: (-len(t["environments"]), t["objectives"])):
        first = t["environments"][0]
        if not t.get("flat") and len(t["ranking"]) > 1 and not re.search(r"(transfer|budget)=", first):
            main.setdefault(family[first], t)
    return {name: main[name] for name in dict.fromkeys(family.values()) if name in main}


def heat_map(track: Mapping[str, Any], path: Path) -> list[Path]:
    """Mean score by agent and environment."""
    names, envs = [r["agent"] for r in track["ranking"]], track["environments"]
    values = np.array([track["heat"][n] for n in names], dtype=float)
    size = (2.6 + 0.42 * len(envs), 1.9 + 0.26 * len(names))
    with _axes(path, size) as axes:
        image = axes.imshow(values, cmap="cividis_r", aspect="auto", vmin=0.0)
        axes.grid(False)
        axes.set_xticks(range(len(envs)), envs, rotation=60, ha="right", rotation_mode="anchor", fontsize=7)
        axes.set(yticks=range(len(names)), yticklabels=names, title=f"{track['name']}: {sentences.measure(track)}")
        for (i, j), v in np.ndenumerate(values):
            shade = "black" if v < 0.5 * values.max() else "white"
            axes.text(j, i, f"{v:.2f}", ha="center", va="center", fontsize=6, color=shade)
        axes.figure.colorbar(image, ax=axes, label="normalised regret")
    return files(path)


def draw_all(summary: Mapping[str, Any], folder: Path, progress: bool = False) -> list[Path]:
    """Plot everything in a summary, in a folder for each track and one for single environments; return the files."""
    from tqdm.auto import tqdm

    written = []
    for track in tqdm(summary["tracks"], unit=" tracks", disable=not progress):
        here = folder / slug(track["name"])
        written += ranking(track, here / "ranking") + heat_map(track, here / "heat-map")
        title, order = textwrap.fill(sentences.verdict(track)[0], 70), [r["agent"] for r in track["ranking"]]
        for key, spec, _ in charts.of_track(track) if track["curves"] else ():
            written += draw({**spec, "title": title}, here / key, order)
    specs = charts.of_environments(summary) + charts.of_fronts(summary)
    for spec in tqdm(specs, unit=" environments", disable=not progress):
        written += draw(spec, folder / "environments" / slug(spec["title"]))
    return written


def slug(name: str) -> str:
    """A name as a file name."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-")

"""Pictures of comparisons as files, in the style of `benchmarks.plots.style`.

All but `best` are drawn from a summary (`benchmarks.summary`), one track or environment at a time.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from hpo_envs.benchmarks import plots as pictures
from hpo_envs.benchmarks.plots.style import COLOURS, STYLE, files, line, panels, save, styles
from hpo_envs.benchmarks.study.block import Block
from hpo_envs.tables import extras

AXES = {
    "regret": ("share of the budget", "normalised regret", {}),
    "ecdf": ("share of the budget", "share of targets met", {"xscale": "log"}),
    "ert": ("target: normalised regret", "expected cost, in budgets", {"xscale": "log", "yscale": "log"}),
    "profile": ("score", "share of runs at least as good", {}),
}
"""Curves of a track: labels of their axes, and their scales."""


@contextmanager
def _figure(
    path: Path, rows: int = 1, columns: int = 1, size: tuple[float, float] = (6.4, 4.0), **grid: Any
) -> Iterator[Any]:
    """A figure's axes in our style, saved next to each other as `.png` and `.svg` at the end."""
    with extras.module("matplotlib", "plots", "plots").rc_context(STYLE):
        figure, axes = panels(rows, columns, size, gridspec_kw=grid)
        yield axes
        save(figure, path)


def best(by_agent: Mapping[str, Sequence[Block]], path: Path, label: str) -> list[Path]:
    """Plots the best reward so far against evaluations: mean over runs, and its 95 % interval.

    Args:
        by_agent: Runs with one objective, as columns.
        path: Where to save, without suffix.
        label: Name of the vertical axis.

    Raises:
        ModuleNotFoundError: matplotlib is missing; the message says how to install it.
    """
    with _figure(path) as ((axes,),):
        for (agent, blocks), look in zip(by_agent.items(), styles([*by_agent]).values(), strict=True):
            length = min(int(np.diff(block.starts).min()) for block in blocks)
            rewards = [block.rewards[block.starts[:-1, None] + np.arange(length)] for block in blocks]
            by_seed = np.argsort(np.concatenate([block.seeds for block in blocks]))
            found = np.maximum.accumulate(np.concatenate(rewards)[by_seed], axis=1)
            mean, error = found.mean(axis=0), 1.96 * found.std(axis=0) / np.sqrt(len(found))
            line(axes, np.arange(1, length + 1), [mean, mean - error, mean + error], agent, look)
        first = next(iter(by_agent.values()))[0].header_of(0)
        axes.set(xlabel="evaluations", ylabel=label, title=f"{first['env']} ({first['kind']} table)")
        axes.xaxis.get_major_locator().set_params(integer=True)
        axes.legend()
    return files(path)


def curves(panel: Mapping[str, Any], path: Path, xlabel: str, ylabel: str, title: str, **axis: Any) -> list[Path]:
    """Plots a panel of a summary: `x`, and by agent an estimate, perhaps with its interval."""
    with _figure(path) as ((axes,),):
        for (agent, band), look in zip(panel["agents"].items(), styles([*panel["agents"]]).values(), strict=True):
            line(axes, panel["x"], band, agent, look)
        axes.set(xlabel=xlabel, ylabel=ylabel, title=title, **axis)
        if axis.get("xscale") == "log" and xlabel.startswith("target"):
            axes.invert_xaxis()
        axes.legend(ncols=1 + (len(panel["agents"]) > 8))
    return files(path)


def ranking(track: Mapping[str, Any], path: Path) -> list[Path]:
    """Mean score of each agent with its 95 % interval, the best on top."""
    with _figure(path, size=(6.4, 1.2 + 0.26 * len(track["ranking"]))) as ((axes,),):
        pictures.ranking(track, axes)
    return files(path)


def overview(summary: Mapping[str, Any], path: Path, columns: int = 3) -> list[Path]:
    """The ranking of every track next to each other, as small as a page allows."""
    tracks = [t for t in summary["tracks"] if len(t["ranking"]) > 1]
    rows = -(-len(tracks) // columns)
    tallest = [max(len(t["ranking"]) for t in tracks[i : i + columns]) for i in range(0, len(tracks), columns)]
    size = (4.2 * columns, sum(0.7 + 0.17 * n for n in tallest))
    with _figure(path, rows, columns, size, height_ratios=[0.7 + 0.17 * n for n in tallest]) as axes:
        for spare in axes.ravel()[len(tracks) :]:
            spare.axis("off")
        for here, track in zip(axes.ravel(), tracks, strict=False):
            for y, r in enumerate(track["ranking"]):
                mean, low, high = np.array(r["mean"], dtype=float)
                colour = COLOURS[-1] if r["agent"] == "random" else COLOURS[0]
                here.plot([low, high], [y, y], color=colour, linewidth=1.5)
                here.plot(mean, y, "o", color=colour, markersize=3)
            names = [r["agent"] for r in track["ranking"]]
            here.set_yticks(range(len(names)), names, fontsize=7)
            here.set_title(textwrap.fill(f"{track['name']} ({len(track['environments'])})", 40), fontsize=9)
            here.tick_params(axis="x", labelsize=7)
            here.invert_yaxis()
        axes.ravel()[0].figure.supxlabel("normalised regret and its 95 % interval, left is better", fontsize=9)
    return files(path)


def heat_map(track: Mapping[str, Any], path: Path) -> list[Path]:
    """Mean score by agent and environment."""
    names, envs = [r["agent"] for r in track["ranking"]], track["environments"]
    values = np.array([track["heat"][n] for n in names], dtype=float)
    size = (2.6 + 0.42 * len(envs), 1.9 + 0.26 * len(names))
    with _figure(path, size=size) as ((axes,),):
        image = axes.imshow(values, cmap="cividis_r", aspect="auto", vmin=0.0)
        axes.grid(False)
        axes.set_xticks(range(len(envs)), envs, rotation=60, ha="right", rotation_mode="anchor", fontsize=7)
        axes.set(yticks=range(len(names)), yticklabels=names, title=f"{track['name']}: {track['score']} regret")
        for (i, j), v in np.ndenumerate(values):
            shade = "black" if v < 0.5 * values.max() else "white"
            axes.text(j, i, f"{v:.2f}", ha="center", va="center", fontsize=6, color=shade)
        axes.figure.colorbar(image, ax=axes, label="normalised regret")
    return files(path)


def fronts(name: str, entry: Mapping[str, Any], path: Path) -> list[Path]:
    """Attainment surfaces as the budget is spent: median over runs, quartiles shaded."""
    stages = entry["stages"]
    with _figure(path, 1, len(stages), (3.2 * len(stages) + 0.6, 3.4)) as (row,):
        for axes, (stage, agents) in zip(row, stages.items(), strict=True):
            where = "post" if entry["signs"][0] < 0 else "pre"
            for (agent, band), look in zip(agents.items(), styles([*agents]).values(), strict=True):
                lines = [np.array(b, dtype=float) for b in band]
                axes.step(entry["x"], lines[0], where=where, label=agent, **look)
                axes.fill_between(entry["x"], lines[1], lines[2], step=where, color=look["color"], alpha=0.15)
            axes.set(xlabel=entry["objectives"][0], title=f"{stage} of the budget")
            axes.sharex(row[0])
            axes.sharey(row[0])
        row[0].set_ylabel(entry["objectives"][1])
        row[-1].legend()
        row[0].figure.suptitle(name)
    return files(path)


def draw_all(summary: Mapping[str, Any], folder: Path, progress: bool = False) -> list[Path]:
    """Draws everything a summary has, a folder per track; returns the files."""
    from tqdm.auto import tqdm

    written = []
    for track in tqdm(summary["tracks"], unit=" tracks", disable=not progress):
        here = folder / slug(track["name"])
        written += ranking(track, here / "ranking") + heat_map(track, here / "heat-map")
        for key in track["curves"]:
            xlabel, ylabel, axis = AXES[key]
            written += curves(track["curves"][key], here / key, xlabel, ylabel, track["name"], **axis)
    for env, by_unit in tqdm(summary["curves"].items(), unit=" environments", disable=not progress):
        for against, panel in by_unit.items():
            unit = next(e["cost_unit"] for e in summary["environments"] if e["label"] == env)
            xlabel = "evaluations" if against == "evaluations" else f"cost ({unit})"
            path = folder / slug(env) / f"regret-by-{against}"
            written += curves(panel, path, xlabel, "normalised regret", env)
    for env, entry in summary["fronts"].items():
        written += fronts(env, entry, folder / slug(env) / "fronts")
    return written


def slug(name: str) -> str:
    """A name as a file name."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-")

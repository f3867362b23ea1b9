"""Plots of runs, from the frame that `Runs.to_frame` returns.

Each function draws on the given axes, by default new ones, and returns them; without matplotlib it raises a
`ModuleNotFoundError` that says how to install it.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from hpo_envs.agents.models.pareto import pareto_front
from hpo_envs.benchmarks.analysis.intervals import interval
from hpo_envs.benchmarks.analysis.regret import TARGETS
from hpo_envs.benchmarks.plots import COLOURS, axes_of, line, once, styles
from hpo_envs.tables.table import Floats


def incumbent(frame: Any, axes: Any = None) -> Any:
    """Plot the incumbent over the budget used: mean over runs with its 95 % interval, one line per agent.

    As in reports, there is no interval of fewer than five runs.

    Raises:
        ValueError: The frame is empty, has several environments or objectives, or a run twice.
    """
    once(frame, "env", "agent", "seed", "step")
    envs = frame["env"].unique()
    if len(envs) != 1 or "incumbent" not in frame:
        what = f"{len(envs)} environments" if len(envs) != 1 else "several objectives"
        raise ValueError(f"frame must be of one environment and one objective, got {what}")
    axes = axes_of(axes)
    agents = frame["agent"].unique()
    for agent, look in styles(agents).items():
        curves = [*_curves(frame[frame["agent"] == agent], "incumbent")]
        x = np.unique(np.concatenate([spent for spent, _ in curves]))
        x = x[x >= max(spent[0] for spent, _ in curves)]
        x = x[np.unique(np.linspace(0, len(x) - 1, 200).astype(int))]  # at most 200 points
        y = np.array([values[np.searchsorted(spent, x, "right") - 1] for spent, values in curves])
        line(axes, x, interval(y.T[:, None], bounds=(-np.inf, np.inf)), agent, look)
    cost, objectives = frame.attrs.get("cost_unit", "cost"), frame.attrs.get("objectives", ["reward"])
    axes.set(xlabel=cost, ylabel=f"best {' '.join(objectives)} so far", title=envs[0])
    axes.legend()
    return axes


def ecdf(frame: Any, axes: Any = None, targets: npt.ArrayLike = TARGETS) -> Any:
    """Plot the fraction of (run, target) pairs that are met over the budget, one line per agent; higher is better.

    The x axis is the budget as a fraction of the most expensive run on each environment; `targets` are (t,) regrets.

    Raises:
        ValueError: The regret of a run is unknown, or a run is there twice.
    """
    once(frame, "env", "agent", "seed", "step")
    if frame["regret"].isna().any():
        raise ValueError(f"frame must have a regret in each row, got {int(frame['regret'].isna().sum())} without")
    axes, targets = axes_of(axes), np.asarray(targets, dtype=float)
    most = {env: max(spent[-1] for spent, _ in _curves(part, "regret")) for env, part in frame.groupby("env")}
    for agent, look in styles(frame["agent"].unique()).items():
        met = []
        for env, part in frame[frame["agent"] == agent].groupby("env"):
            for spent, regret in _curves(part, "regret"):
                reached = regret[:, None] <= targets + 1e-12
                met.append(np.where(reached.any(axis=0), spent[reached.argmax(axis=0)] / most[env], np.inf))
        times = np.concatenate(met)
        x = np.unique(times[np.isfinite(times)])
        share = [(times <= at).mean() for at in x]
        axes.step([*x, 1.0], [*share, *(share[-1:] or [0.0])], where="post", label=agent, **look)
    axes.set(xlabel="share of the longest run", ylabel="share of (run, target) pairs met", ylim=(0.0, 1.0))
    axes.legend()
    return axes


def ranking(track: Mapping[str, Any], axes: Any = None) -> Any:
    """Draw the mean score of each agent with its 95 % interval, the best on top.

    `track` is a track of a summary, such as an entry of `Comparison.of(runs).scores["tracks"]`.
    """
    axes = axes_of(axes)
    for y, r in enumerate(track["ranking"]):
        mean, low, high = np.array(r["mean"], dtype=float)
        axes.plot([low, high], [y, y], color=COLOURS[0], linewidth=2)
        axes.plot(mean, y, "o", color=COLOURS[0])
    axes.set_yticks(range(len(track["ranking"])), [r["agent"] for r in track["ranking"]])
    scale = "raw score" if track.get("raw") else "normalised regret"
    axes.set(title=track["name"], xlabel=f"{track['score']} {scale}, 95 % interval (left is better)")
    axes.invert_yaxis()
    return axes


def pareto(frame: Any, axes: Any = None) -> Any:
    """Plot the rewards of two objectives against each other, with the Pareto front of all runs of each agent.

    Raises:
        ValueError: The frame does not have two objectives, or has several environments.
    """
    known = [f"reward_{name}" for name in frame.attrs.get("objectives", ())]
    names = [c for c in frame.columns if (c in known if known else c.startswith("reward_"))]
    if len(names) != 2 or frame["env"].nunique() != 1:
        got = f"{max(len(names), 1)} objectives on {frame['env'].nunique()} environments"
        raise ValueError(f"frame must have two objectives on one environment, got {got}")
    axes = axes_of(axes)
    for agent, look in styles(frame["agent"].unique()).items():
        points = frame.loc[frame["agent"] == agent, names].to_numpy()
        front = points[pareto_front(points)]
        front = front[np.argsort(front[:, 0])]
        axes.plot(*points.T, ".", color=look["color"], alpha=0.3, markersize=3)
        axes.step(*front.T, where="pre", label=agent, **look)
    first, second = (name.removeprefix("reward_") for name in names)
    axes.set(xlabel=f"{first} (reward)", ylabel=f"{second} (reward)", title=frame["env"].iloc[0])
    axes.legend()
    return axes


def _curves(frame: Any, column: str) -> Iterator[tuple[Floats, Floats]]:
    """Yield, for each run, the budget used and the value of a column after each evaluation."""
    for _, run in frame.groupby(["env", "agent", "seed"], sort=False):
        yield run["cost"].cumsum().to_numpy(), run[column].to_numpy(dtype=float)

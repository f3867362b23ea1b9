"""Pictures for papers, from the tables `runs` and `evaluations` (`hpo_envs.benchmarks.study.flat`) as data frames.

They use the fonts and sizes of matplotlib's `rcParams`, and colours and line styles for colour-blind readers.
`ranks`, `anytime` and `lines` draw on the given axes, by default new ones, and return them; without matplotlib they
raise a `ModuleNotFoundError` that says how to install it.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from hpo_envs.benchmarks.analysis import intervals, regret, significance
from hpo_envs.benchmarks.plots import axes_of, crowded, line, most, once, styles
from hpo_envs.tables.checks import one_of
from hpo_envs.tables.table import Floats

WIDTHS = {"one-column": 3.33, "two-columns": 7.0}
"""Widths in inches."""

STEPS = 50
"""Points of a curve, at most."""


def scores_of(frame: Any, score: str) -> tuple[dict[str, Floats], list[str]]:
    """Return (environments, seeds) scores by agent, NaN where a seed was not run, and each environment's task group.

    Raises:
        ValueError: `score` is unknown, an agent has no score on an environment, or a run is there twice.
    """
    one_of("score", score, ("mean_regret", "final_regret"))
    once(frame, "environment", "agent", "seed")
    wide = frame.pivot(index=["group", "environment"], columns=["agent", "seed"], values=score)
    seeds = sorted(frame["seed"].unique())
    scores = {a: wide[a].reindex(columns=seeds).to_numpy(float) for a in frame["agent"].unique()}
    for agent, values in scores.items():
        if np.isnan(values).all(axis=1).any():
            raise ValueError(f"agents must have runs on all environments of the frame, got {agent} without")
    return scores, [group for group, _ in wide.index]


def ranks(frame: Any, ax: Any = None, score: str = "mean_regret") -> Any:
    """Draw mean ranks; a bar joins agents without a significant difference on these tasks.

    The tests are those of the verdict (`analysis.significance`, Holm's correction over all pairs), not tests of ranks.

    Args:
        frame: The table `runs` of environments on which all agents ran.
        ax: Axes to draw on.
        score: `mean_regret` or `final_regret`.

    Raises:
        ValueError: See `scores_of`; or there are fewer than two agents, or two share no seed on an environment.
    """
    scores, groups = scores_of(frame, score)
    if len(scores) < 2:
        raise ValueError(f"frame must have at least two agents, got {', '.join(scores) or 'none'}")
    pairs = significance.judged(scores, groups)["pairs"]
    wide = frame.pivot(index=["environment", "seed"], columns="agent", values=score).dropna()
    mean = wide.rank(axis=1).groupby("environment").mean().mean().sort_values()
    ax, order = axes_of(ax, {}), list(mean.index)
    looks = styles(order)
    for y, agent in enumerate(order):
        ax.plot([1, mean[agent]], [y, y], color=looks[agent]["color"], linewidth=1)
        ax.plot(mean[agent], y, "o", color=looks[agent]["color"])
    for k, (first, last) in enumerate(_cliques(order, pairs)):
        x = mean.max() + 0.06 * len(order) * (k + 1)
        ax.plot([x, x], [order.index(first) - 0.2, order.index(last) + 0.2], color="black", linewidth=3)
    ax.set_yticks(range(len(order)), [f"{agent} ({mean[agent]:.2f})" for agent in order])
    ax.set(xlabel="mean rank", xlim=(1, None))
    ax.invert_yaxis()
    return ax


def _cliques(order: list[str], pairs: list[dict[str, Any]]) -> list[tuple[str, str]]:
    """Return the ends of the maximal ranges of the ranking in which no two agents are significantly different."""

    def alike(i: int, j: int) -> bool:
        some = (significance.against(pairs, order[a], order[b]) for b in range(i, j + 1) for a in range(i, b))
        return all(p is not None and p["here"]["verdict"] not in ("better", "worse") for p in some)

    found: list[tuple[int, int]] = []
    for i in range(len(order)):
        j = max(j for j in range(i, len(order)) if alike(i, j))
        if j > i and (not found or j > found[-1][1]):
            found.append((i, j))
    return [(order[i], order[j]) for i, j in found]


def curves(frame: Any, by: str = "evaluations") -> tuple[Floats, dict[str, list[Floats]]]:
    """Return the mean regret over the budget, averaged over environments, with 95 % intervals over seeds.

    Args:
        frame: The table `evaluations`; runs without a regret are left out.
        by: `evaluations`, or `cost` as a fraction of the most expensive run on each environment.

    Returns:
        (points,) x, numbers of evaluations or fractions of the cost; and for each agent the mean and
        both ends of its interval, (points,) each.

    Raises:
        ValueError: No run has a regret, an agent has none on an environment, `by` is unknown, or a run is there twice.
    """
    one_of("by", by, ("evaluations", "cost"))
    once(frame, "environment", "agent", "seed", "step")
    total, frame = len(frame), frame.dropna(subset="regret")
    if not len(frame):
        raise ValueError(f"frame must have runs with a regret, got none in {total} rows")
    longest = int(frame["step"].max())
    x = np.unique(np.geomspace(1, longest, min(longest, STEPS)).round()).astype(int)
    if by == "cost":
        x = np.linspace(0, 1, STEPS + 1)[1:]
    found: dict[str, list[Floats]] = {}
    places = frame.groupby("environment", sort=False)
    for _, here in places:
        budget = float(here.groupby(["agent", "seed"])["cost"].sum().max())
        for agent, runs in here.groupby("agent", sort=False):
            wide = runs.pivot(index="seed", columns="step", values=["regret", "cost"])
            after, costs = wide["regret"].ffill(axis=1).to_numpy(), wide["cost"].fillna(0.0).to_numpy()
            at = regret.at_costs(after, costs, budget, x) if by == "cost" else regret.at_evaluations(after, longest)
            found.setdefault(agent, []).append(at if by == "cost" else at[:, x - 1])
    if lacking := [agent for agent, rows in found.items() if len(rows) < len(places)]:
        raise ValueError(f"agents must have runs on all environments of the frame, got {lacking[0]} without")
    return x, {agent: intervals.bands(rows) for agent, rows in found.items()}


def anytime(frame: Any, ax: Any = None, by: str = "evaluations") -> Any:
    """Draw `curves` of the table `evaluations`, by `evaluations` or `cost`; errors are those of `curves`.

    There is one line per agent; of many agents only the best and random search are drawn.
    """
    ax = lines(*curves(frame, by), ax)
    ax.set(xlabel="evaluations" if by == "evaluations" else "share of the longest run's cost")
    return ax


def lines(x: Any, bands: Mapping[str, Any], ax: Any = None, measure: str = "normalised regret") -> Any:
    """Draw means with their intervals, one line per agent; of many agents only the best and random search.

    Args:
        x: (points,) positions.
        bands: Agent -> mean and both ends of its interval, (points,) each.
        ax: Axes to draw on.
        measure: Label of the y axis; only `normalised regret` may have a logarithmic axis.
    """
    ax, looks = axes_of(ax, {}), styles(bands)
    shown = most(sorted(bands, key=lambda a: float(np.nanmean(np.array(bands[a][0], float)))))
    for agent in shown:
        line(ax, x, bands[agent], agent, looks[agent])
    log = measure == "normalised regret" and crowded({a: bands[a] for a in shown})
    ax.set(ylabel=measure, yscale="log" if log else "linear")
    ncols = 1 if max(map(len, shown)) > 20 else 2  # two of long names are wider than a column
    ax.legend(frameon=False, fontsize="small", ncols=ncols, loc="lower left", bbox_to_anchor=(0, 1))
    return ax

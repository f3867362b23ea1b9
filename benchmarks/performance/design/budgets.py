"""At which budgets agents differ: `python -m hpo_envs.benchmarks.performance.design.budgets`.

Runs quick agents on some ids of each family with several budgets. Prints how many runs find the best there is, the
scores of random search and of the agent with the lowest, and how many pairs of agents are told apart on these ids
(Holm over all pairs). A budget at which most runs find the best, or at which hardly any pair is told apart, compares
nothing. The budgets of the leaderboard (`Family.leaderboard`) are chosen by it; `docs/statistics.md` has the table.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import gymnasium as gym
import numpy as np

from hpo_envs import registry
from hpo_envs.agents import Problem, fits
from hpo_envs.benchmarks.comparison import summary
from hpo_envs.benchmarks.comparison.scored import score
from hpo_envs.benchmarks.report import sentences
from hpo_envs.benchmarks.runs import Run, problem_of, run
from hpo_envs.core import screen
from hpo_envs.core.family import Family

AGENTS = (
    "random", "bo-ei-matern52", "bo-ucb", "graph-ei-rbf", "smac-like", "regularized-evolution",
    "successive-halving", "hyperband", "asha", "box-bo", "bo-ehvi-rbf", "graph-ehvi-rbf",
    "nonadaptive", "sh", "sr", "ttts", "lucb", "track-and-stop",
)  # fmt: skip
"""What is quick enough to be run anew for each budget."""

EVALUATIONS = (10, 20, 40, 80, 160)
"""Budgets counted in evaluations."""

ARMS = (51, 102, 204, 408, 816)
"""Evaluations of arms, whose scores are noisy."""

TRAININGS = (5, 10, 20, 40, 80)
"""Full trainings, where cost is counted in something else; the ids' own budget is that of 20."""

HEAD = ("family", "budget", "ids", "best found, %", "random search", "lowest", "by", "pairs told apart")


def rows_of(family: Family, seeds: int, ids: int) -> Iterator[list[str]]:
    """Rows of the table, one a budget, for each group of ids that the same agents work on.

    Args:
        family: Which ids.
        seeds: Runs of each agent on each id with each budget.
        ids: Ids of a group at most, evenly spaced.
    """
    groups: dict[tuple[int, tuple[str, ...]], list[str]] = {}
    for spec in family.ids:
        problem = _problem(spec.id)[0]
        groups.setdefault((problem.objectives, tuple(a for a in AGENTS if fits(a, problem))), []).append(spec.id)
    for (objectives, agents), every in groups.items():
        chosen = [every[i] for i in np.unique(np.linspace(0, len(every) - 1, ids).round().astype(int))]
        name = every[0] if len(every) == 1 else family.name + ", 2 objectives" * (objectives > 1)
        for step in range(len(EVALUATIONS)):
            runs = [r for env_id in chosen for r in _runs(env_id, family, step, agents, seeds)]
            if runs:
                yield [name, _name(runs[0].header, step), *_row(runs)]


def _problem(env_id: str) -> tuple[Problem, float, str]:
    """What agents know of an id, its own budget and the unit of that."""
    env: Any = gym.make(env_id)
    found = problem_of(env), env.unwrapped.budget, env.unwrapped.cost_unit
    env.close()
    return found


def _runs(env_id: str, family: Family, step: int, agents: Sequence[str], seeds: int) -> Iterator[Run]:
    """Runs of all agents on an id with one of the budgets, if its table has more rows than that."""
    problem, own, unit = _problem(env_id)
    budget = own * TRAININGS[step] / 20
    if unit == "evaluations":
        budget = (ARMS if family.score == "final" else EVALUATIONS)[step]
    if unit != "evaluations" or problem.features is None or budget < len(problem.features):
        for agent in agents:
            yield from run(agent, env_id, range(seeds), budget=budget)


def _name(header: Mapping[str, Any], step: int) -> str:
    if header["cost_unit"] != "evaluations":
        return f"cost of {TRAININGS[step]} trainings"
    return f"{header['budget']:g} evaluations"


def _row(runs: Sequence[Run]) -> list[str]:
    scored = score(runs)
    track = summary.track("", list(scored), scored)
    ranking, pairs = track["ranking"], track["pairs"]
    base = next(r for r in ranking if r["agent"] in ("random", "nonadaptive"))
    apart = sum(p["here"]["verdict"] in ("better", "worse") for p in pairs)
    return [
        str(len(scored)),
        f"{100 * np.mean([r['solved'] for r in ranking]):.0f}",
        sentences.number(base["mean"][0]),
        sentences.number(ranking[0]["mean"][0]),
        f"`{ranking[0]['agent']}`",
        f"{apart} of {len(pairs)}",
    ]


@screen.on()
def main(arguments: Sequence[str] | None = None) -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=20, help="runs of an agent on an id (default: %(default)s)")
    parser.add_argument("--ids", type=int, default=4, help="ids of a family at most (default: %(default)s)")
    families = {name: f for name, f in registry.FAMILIES.items() if f.listed and not f.user_levels}
    parser.add_argument("--only", nargs="+", choices=families, default=families, help="families (default: all)")
    args = parser.parse_args(arguments)
    for row in (HEAD, ["---"] * len(HEAD)):
        print(f"| {' | '.join(row)} |")
    for name in args.only:
        for row in rows_of(families[name], args.seeds, args.ids):
            print(f"| {' | '.join(row)} |", flush=True)


if __name__ == "__main__":
    main()

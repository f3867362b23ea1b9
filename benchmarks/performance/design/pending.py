"""What parallel workers lose: agents that are asked again before they are told, against one worker.

    python -m hpo_envs.benchmarks.performance.design.pending --workers 4 --budget 40 --seeds 20
    python -m hpo_envs.benchmarks.performance.design.pending --workers 16 --budget 160 --seeds 10 --agents bo

Workers are simulated: evaluations take log-normal times and come back in the order in which they finish. The score is
the regret averaged over the evaluations (0: the best of the table, 1: its median). Printed for each agent: its mean
over tables with one worker and with several, that of random search, and the share of the gain over random search that
is lost, (several - one) / (random - one), with its standard error over seeds.

The tables are those of the translation systems, as measured and as complete grids (embedded), which have at least 2.5
rows an evaluation: twelve for 40 evaluations, four for 160. Any agent for rows will do, Optuna's samplers among them
(`optuna:TPESampler`).
"""

from __future__ import annotations

import argparse
import heapq
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import gymnasium as gym
import numpy as np
import numpy.typing as npt

from hpo_envs import agents
from hpo_envs.agents import Problem
from hpo_envs.benchmarks.runs.loop import one_blas_thread
from hpo_envs.core import screen
from hpo_envs.tables import store

Floats = npt.NDArray[np.float64]

SPREAD = 0.5
"""Standard deviation of the logarithm of an evaluation's duration."""

ROWS = 2.5
"""Rows that a table must have for each evaluation, so that one worker does not solve it."""

PAIRS = ("zhen", "ruen", "jaen", "enja", "swen", "soen")


@dataclass(frozen=True)
class Landscape:
    """A table as agents see it, and what is behind it.

    Attributes:
        name: Of the table.
        features: (rows, d).
        names: Of the features.
        rewards: (rows,), higher is better.
    """

    name: str
    features: Floats
    names: tuple[str, ...]
    rewards: Floats

    def regret(self, rewards: Sequence[float]) -> float:
        """Regret after each evaluation, averaged."""
        best, origin = float(self.rewards.max()), float(np.median(self.rewards))
        incumbent = np.maximum.accumulate(np.array(rewards))
        return float(np.clip((best - incumbent) / (best - origin), 0.0, 1.0).mean())


def landscapes(budget: int) -> list[Landscape]:
    """The tables of the translation systems, measured and as complete grids, that have `ROWS` rows an evaluation."""
    names = [(f"nmthpo/{pair}", "measured") for pair in PAIRS] + [
        (f"nmthpo/{pair}-grid", "surrogate") for pair in PAIRS
    ]
    tables = [store.load(name, kind) for name, kind in names]  # type: ignore[arg-type]
    return [Landscape(t.name, t.features, t.feature_names, t.final("bleu")) for t in tables if len(t) > ROWS * budget]


def simulate(landscape: Landscape, make: Callable[[Problem], Any], workers: int, budget: int, seed: int) -> Floats:
    """(budget,) rewards in the order in which they came back."""
    space = gym.spaces.Discrete(len(landscape.rewards))
    agent = make(Problem(space, landscape.features, landscape.names, budget=budget))
    rng = np.random.default_rng(seed)
    running: list[tuple[float, int, Any]] = []
    rewards: list[float] = []
    asked, clock = 0, 0.0
    while len(rewards) < budget:
        while asked < budget and len(running) < workers:
            heapq.heappush(running, (clock + rng.lognormal(0.0, SPREAD), asked, agent.ask()))
            asked += 1
        clock, _, action = heapq.heappop(running)
        rewards.append(float(landscape.rewards[action]))
        agent.tell(action, rewards[-1], {"cost": 1.0, "metrics": {}, "status": "ok", "finished": True})
    return np.array(rewards)


def maker(name: str, seed: int, **attributes: Any) -> Callable[[Problem], Any]:
    """Makes an agent by name; `optuna:Sampler` is one of Optuna's."""

    def make(problem: Problem) -> Any:
        first, _, sampler = name.partition(":")
        given: dict[str, Any] = {"sampler": sampler} if sampler else {}
        if sampler == "TPESampler":
            given |= {"constant_liar": True, "multivariate": False}
        agent = agents.make(first, problem, seed, **given)
        for key, value in attributes.items():
            setattr(agent, key, value)
        return agent

    return make


def measure(
    tables: Sequence[Landscape], name: str, workers: int, budget: int, seeds: range, **attributes: Any
) -> Floats:
    """(tables, seeds) regret averaged over the budget."""
    return np.array(
        [
            [t.regret(simulate(t, maker(name, s, **attributes), workers, budget, s).tolist()) for s in seeds]
            for t in tables
        ]
    )


@screen.on()
def main() -> None:
    """Prints a line an agent."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--budget", type=int, default=40)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--agents", default="bo,bo-ei-matern52,graph-ei-matern52,smac-like,learned")
    parser.add_argument("--fantasies", default="believer", help="also none, worst, mean, best, separated by commas")
    parser.add_argument(
        "--designs", default="auto", help="of several workers; also random, spread, separated by commas"
    )
    args = parser.parse_args()
    tables, seeds = landscapes(args.budget), range(args.seeds)
    designs = args.designs.split(",")
    ways = [{"fantasy": fantasy, "design": design} for fantasy in args.fantasies.split(",") for design in designs]
    with one_blas_thread():
        random = measure(tables, "random", args.workers, args.budget, seeds)
        for name in args.agents.split(","):
            start = time.perf_counter()
            one = measure(tables, name, 1, args.budget, seeds)
            for given in [{}] if ":" in name else ways:
                several = measure(tables, name, args.workers, args.budget, seeds, **given)
                lost = (several.mean(axis=0) - one.mean(axis=0)).mean() / (random.mean() - one.mean())
                error = (several - one).mean(axis=0).std(ddof=1) / np.sqrt(len(seeds)) / (random.mean() - one.mean())
                facts = {"agent": name, **given, "workers": args.workers, "budget": args.budget}
                facts |= {"random": random.mean(), "one": one.mean(), "several": several.mean(), "lost": lost}
                facts |= {"error": error, "solved": float((one < 1e-12).mean()), "s": time.perf_counter() - start}
                print(json.dumps({k: round(v, 4) if isinstance(v, float) else v for k, v in facts.items()}), flush=True)


if __name__ == "__main__":
    main()

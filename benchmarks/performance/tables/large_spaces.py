"""Milliseconds a suggestion and memory on many candidates.

    python -m hpo_envs.benchmarks.performance.tables.large_spaces [--agents bo] [--rows 200000] [--steps 200]

Candidates are random points of ten dimensions, the reward a smooth function of them. Processor time of `ask` and `tell`
after the first half of the steps, and in the first `ask` that uses the model; the peak of memory beyond what the
problem itself takes. Each agent runs in a process of its own, so that no peak is another's.
"""

from __future__ import annotations

import argparse
import multiprocessing
import resource
import sys
import time

import gymnasium as gym
import numpy as np

from hpo_envs import agents
from hpo_envs.agents import Problem
from hpo_envs.benchmarks.runs.loop import one_blas_thread
from hpo_envs.core import screen

AGENTS = ("bo", "bo-ei-matern52", "smac-like", "bagged-trees", "graph-ei-matern52", "graph-eif-matern52")

Figures = tuple[float, float, float, float]


def measure(name: str, rows: int, steps: int, width: int = 10) -> Figures:
    """Slowest and, of the later half, median and mean milliseconds a suggestion; megabytes at the peak."""
    x = np.random.default_rng(0).random((rows, width))
    rewards = -np.square(x - 0.3).sum(axis=1)
    problem = Problem(gym.spaces.Discrete(rows), features=x)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with one_blas_thread():
        agent = agents.make(name, problem, 0)
        taken = []
        for _ in range(steps):
            start = time.process_time()
            row = agent.ask()
            agent.tell(row, float(rewards[row]), {"cost": 1.0})
            taken.append(1e3 * (time.process_time() - start))
    later = np.array(taken[steps // 2 :])
    peak = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    return max(taken), float(np.median(later)), float(later.mean()), peak


@screen.on()
def main() -> int:
    """Prints a line for each agent."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--agents", nargs="+", default=AGENTS, metavar="NAME", help="registered agents")
    parser.add_argument("--rows", type=int, default=200_000, help="candidates (default: %(default)s)")
    parser.add_argument("--steps", type=int, default=200, help="evaluations (default: %(default)s)")
    args = parser.parse_args()
    print(f"{'milliseconds a suggestion':26}{'slowest':>10}{'median':>10}{'mean':>10}{'memory, MB':>12}")
    for name in args.agents:
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            try:
                slowest, median, mean, peak = pool.apply(measure, (name, args.rows, args.steps))
            except ValueError as error:  # more than it takes
                print(f"{name:26}{error}", flush=True)
                continue
        print(f"{name:26}{slowest:10.1f}{median:10.1f}{mean:10.1f}{peak:12.0f}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())

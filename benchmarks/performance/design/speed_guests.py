"""Processor time of other packages' optimisers: `python -m hpo_envs.benchmarks.performance.design.speed_guests`.

Whole runs on one id at its own budget, ours beside them; what random search takes for the same is taken off. Those that
are not installed are left out.
"""

from __future__ import annotations

import time

import gymnasium as gym

from hpo_envs import agents, benchmarks
from hpo_envs.agents.registry import version_of
from hpo_envs.benchmarks.performance.speed import json_option, write
from hpo_envs.core import screen

OURS = ("bo", "bo-ei-matern52", "smac-like", "tpe-features", "asha", "hyperband")


def measure(env_id: str, seeds: int, names: list[str] | None = None) -> dict[str, float]:
    """Milliseconds of processor time a suggestion, by agent."""
    problem = benchmarks.problem_of(gym.make(env_id, table="surrogate"))
    given = [*OURS, *(n for n, e in agents.AGENTS.items() if e.guest)] if names is None else names
    able = [n for n in given if agents.entry(n).installed and agents.fits(n, problem)]
    spent: dict[str, float] = {}
    for name in ("random", *able):
        benchmarks.run(name, env_id, [0], env_kwargs={"table": "surrogate"})  # imports are not the agent's
        start = time.process_time()
        runs = benchmarks.run(name, env_id, range(1, 1 + seeds), env_kwargs={"table": "surrogate"})
        spent[name] = 1e3 * (time.process_time() - start) / sum(map(len, runs))
    return {name: max(spent[name] - spent["random"], 0.0) for name in able}


@screen.on()
def main() -> None:
    """Measures and prints a table."""
    parser = json_option(__doc__)
    parser.add_argument("--env", default="NMTHPO-zhen-v0", help="registered id (default: %(default)s)")
    parser.add_argument("--seeds", type=int, default=3, help="runs of each agent (default: %(default)s)")
    parser.add_argument("--agents", help="separated by commas (default: those of other packages, and some of ours)")
    args = parser.parse_args()
    found = measure(args.env, args.seeds, args.agents and args.agents.split(","))
    for name, spent in sorted(found.items(), key=lambda pair: pair[1]):
        versions = " ".join(f"{package} {version}" for package, version in version_of(name).items())
        print(f"{name:16}{spent:10.1f} ms a suggestion  {versions}")
    write(args.json, found)


if __name__ == "__main__":
    main()

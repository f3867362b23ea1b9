"""How often the statistics call a winner, in simulated studies: `python -m hpo_envs.benchmarks.analysis.power`.

A simulated score is what a score of this suite looks like: between 0 and 1, skewed, with environments that differ in
difficulty and pairs of runs that share a seed's luck.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

import numpy as np

from hpo_envs.benchmarks.analysis import statistics as s

SHARED = 0.3
"""Correlation of the two runs that share a seed, before the scores are squeezed into [0, 1]."""


def study(
    rng: np.random.Generator, environments: int, seeds: int, effect: float, agents: int = 2
) -> dict[str, s.Floats]:
    """Scores of agents that are identical but for the first, which is better by `effect` standard deviations.

    Returns:
        By agent (environments, seeds) scores in (0, 1), lower is better.
    """
    difficulty = rng.normal(-1.0, 1.0, (environments, 1))
    luck = rng.normal(size=(environments, seeds))
    scores = {}
    for i in range(agents):
        own = rng.normal(size=(environments, seeds))
        z = np.sqrt(SHARED) * luck + np.sqrt(1 - SHARED) * own - (effect if i == 0 else 0.0)
        scores[f"agent {i}"] = 1.0 / (1.0 + np.exp(-(difficulty + z)))
    return scores


def called(studies: int, environments: int, seeds: int, effect: float, agents: int = 2, seed: int = 0) -> float:
    """Share of simulated studies in which the first agent is not called a tie with the second.

    With no effect and more than two agents: in which any two are not called a tie.
    """
    rng = np.random.default_rng(seed)
    hits = 0
    for _ in range(studies):
        found = s.pairs(study(rng, environments, seeds, effect, agents), draws=400)
        if effect:
            found = [p for p in found if (p.a, p.b) == ("agent 0", "agent 1")]
        hits += any(p.verdict == ("better" if effect else p.verdict) and p.verdict != "tie" for p in found)
    return hits / studies


def main(argv: Sequence[str] | None = None) -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--studies", type=int, default=1000, help="simulated studies a cell (default: %(default)s)")
    args = parser.parse_args(argv)
    print("share of studies in which a winner is called; effect in standard deviations of one run")
    print("environments  seeds  agents  effect  called")
    for environments, seeds, agents in ((1, 20, 2), (1, 100, 2), (6, 20, 2), (6, 20, 5), (6, 100, 2)):
        for effect in (0.0, 0.1, 0.2, 0.3, 0.5):
            share = called(args.studies, environments, seeds, effect, agents)
            print(f"{environments:12d}  {seeds:5d}  {agents:6d}  {effect:6.1f}  {share:6.3f}")


if __name__ == "__main__":
    main()

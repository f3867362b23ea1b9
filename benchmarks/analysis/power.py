"""Power of a study, by simulation.

In units of the standard deviation of one run, a score is `mean of the agent + interaction + luck + run`: the
interaction of an agent with an environment has standard deviation `tau` and stays; the luck with the rows that a table
happens to have stays, too, unless each run is on a replication of the problem with other rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from hpo_envs.benchmarks.analysis import intervals

BATCH = 2_000_000
"""Numbers drawn at once."""


@dataclass(frozen=True)
class Study:
    """A plan.

    Attributes:
        clusters: Environments, or clusters of related ones.
        seeds: Runs of each agent on each environment.
        replications: Subsamples of a table that these runs are on; runs of their task, never tasks.
        agents: Number of agents; all but the best are equal.
        tau: Standard deviation of an agent's interaction with an environment.
        luck: That of an agent's luck with the rows of a table.
    """

    clusters: int
    seeds: int
    replications: int = 1
    agents: int = 2
    tau: float = 0.5
    luck: float = 0.0

    def __post_init__(self) -> None:
        for name, least in (("clusters", 1), ("seeds", 1), ("replications", 1), ("agents", 2)):
            if getattr(self, name) < least:
                raise ValueError(f"{name} must be an int >= {least}, got {getattr(self, name)}")
        if self.seeds % self.replications:
            raise ValueError(f"replications must divide the {self.seeds} seeds, got {self.replications}")
        for name in ("tau", "luck"):
            if not 0 <= getattr(self, name) < np.inf:
                raise ValueError(f"{name} must be a number >= 0, got {getattr(self, name)}")


def winners(plan: Study, effect: float, studies: int = 2000, seed: int = 0) -> tuple[float, float]:
    """Shares of studies that name the agent that is better by `effect`: on fixed tasks, and across tasks.

    On these environments, the agent is better by `effect` there: interaction and luck have mean 0 over them. On one
    environment or on fewer clusters than `intervals.FEWEST_CLUSTERS` nothing is said of others.
    """
    rng = np.random.default_rng(seed)
    hits = np.zeros(2)
    size = plan.agents * plan.clusters
    each = max(1, BATCH // (size * plan.seeds))
    for count in (min(each, studies - i) for i in range(0, studies, each)):
        lasting = plan.tau * rng.standard_normal((count, plan.agents, plan.clusters, 1))
        luck = plan.luck * rng.standard_normal((count, plan.agents, plan.clusters, plan.replications))
        lasting = lasting + np.repeat(luck, plan.seeds // plan.replications, axis=3)
        runs = rng.standard_normal((count, plan.agents, plan.clusters, plan.seeds))
        runs[:, 0] -= effect
        centred = lasting - lasting.mean(axis=(2, 3), keepdims=True)
        hits[0] += _named(runs + centred, intervals.fixed_tasks)
        if plan.clusters >= intervals.FEWEST_CLUSTERS:
            hits[1] += _named(runs + lasting, intervals.across_tasks)
    return float(hits[0] / studies), float(hits[1] / studies)


def _named(scores: intervals.Floats, estimate: Callable[..., intervals.Estimate]) -> int:
    """Studies in which the first agent is called the only best one."""
    e = estimate(scores[:, :1] - scores[:, 1:])
    return int(((e.p < intervals.ALPHA) & (e.mean < 0)).all(axis=1).sum())

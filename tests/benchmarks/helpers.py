"""Runs of agents in a separate process."""

from typing import Any

from hpo_envs.benchmarks.runs import Run, run

HOSTILE = "tests.benchmarks.hostile_agents"


def isolated(agent: str, seeds: list[int] | None = None, **hyperparameters: Any) -> list[Run]:
    return run(agent, "NMTHPO-zhen-v0", seeds or [0], budget=5, isolate=True, **hyperparameters)

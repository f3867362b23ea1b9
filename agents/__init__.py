"""Agents with `ask`, `tell` and `recommend`. They use spaces and arrays, never an environment or a table."""

from hpo_envs.agents.base import Agent, Planned
from hpo_envs.agents.models.source import Source
from hpo_envs.agents.problem import Problem
from hpo_envs.agents.registry import AGENTS, Registration, entry, factory, fits, make, make_each, names, slow

__all__ = [
    "AGENTS", "Agent", "Planned", "Problem", "Registration", "Source", "entry", "factory", "fits", "make", "make_each",
    "names", "slow",
]  # fmt: skip

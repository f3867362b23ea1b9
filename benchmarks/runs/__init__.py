"""`run`: the loop between agents, here or in a process of their own, and an environment, and what it records."""

from hpo_envs.benchmarks.runs.frame import Runs
from hpo_envs.benchmarks.runs.loop import Target, problem_of, run
from hpo_envs.benchmarks.runs.record import Run

__all__ = ["Run", "Runs", "Target", "problem_of", "run"]

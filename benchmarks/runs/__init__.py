"""`run`: the loop between agents, in this or a separate process, and an environment, and its records."""

from hpo_envs.benchmarks.runs.frame import Runs
from hpo_envs.benchmarks.runs.loop import Target, problem_of, run
from hpo_envs.benchmarks.runs.record import Run

__all__ = ["Run", "Runs", "Target", "problem_of", "run"]

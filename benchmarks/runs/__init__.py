"""Runs: the loop between agents and environments, its records, limits, processes and provenance."""

from hpo_envs.benchmarks.runs.frame import Runs
from hpo_envs.benchmarks.runs.loop import Target, problem_of, run
from hpo_envs.benchmarks.runs.record import Run

__all__ = ["Run", "Runs", "Target", "problem_of", "run"]

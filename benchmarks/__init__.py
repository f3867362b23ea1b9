"""Runs, results, scores and the reproductions of the papers."""

from hpo_envs.benchmarks.runs import Run, Runs, problem_of, run

__all__ = ["Run", "Runs", "problem_of", "run"]

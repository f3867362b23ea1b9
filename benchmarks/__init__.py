"""Runs, results, scores and the reproductions of the papers."""

from hpo_envs.benchmarks.runs import Run, problem_of, run

__all__ = ["Run", "problem_of", "run"]

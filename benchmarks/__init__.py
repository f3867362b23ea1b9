"""Runs, results, scores and the reproductions of the papers."""

from typing import Any

from hpo_envs.benchmarks.runs import Run, Runs, problem_of, run

__all__ = ["Comparison", "Run", "Runs", "problem_of", "run"]


def __getattr__(name: str) -> Any:
    """Imports `Comparison` where it is asked for: runs need none of its modules."""
    if name != "Comparison":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from hpo_envs.benchmarks.comparison.comparison import Comparison

    return Comparison

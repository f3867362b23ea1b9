"""Runs, studies and comparisons of agents, their statistics, and reproductions of papers."""

import importlib
from typing import Any

from hpo_envs.benchmarks.runs import Run, Runs, problem_of, run

_LATER = {"Comparison": "hpo_envs.benchmarks.comparison.comparison"}
"""Modules by the name that they define; they are imported on first access, because runs do not need them."""

__all__ = ["Comparison", "Run", "Runs", "problem_of", "run"]


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_LATER[name]), name)

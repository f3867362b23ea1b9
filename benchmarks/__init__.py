"""Runs, comparisons, scores and the reproductions of the papers."""

import importlib
from typing import Any

from hpo_envs.benchmarks.runs import Run, Runs, problem_of, run

_LATER = {"Comparison": "hpo_envs.benchmarks.comparison.comparison"}
"""Modules of the names that are imported on first access, because runs do not need them."""

__all__ = ["Comparison", "Run", "Runs", "problem_of", "run"]


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_LATER[name]), name)

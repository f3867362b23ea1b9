"""Runs, comparisons, scores and the reproductions of the papers."""

import importlib
from typing import Any

from hpo_envs.benchmarks.runs import Run, Runs, problem_of, run

_LATER = {"Comparison": "hpo_envs.benchmarks.comparison.comparison"}
"""Names that are imported on first use: runs need none of their modules."""

__all__ = ["Comparison", "Run", "Runs", "problem_of", "run"]


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_LATER[name]), name)

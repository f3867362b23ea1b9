"""Pictures for notebooks: functions of frames that return matplotlib's axes.

>>> from hpo_envs.benchmarks import plots, run
>>> runs = run("random", "NMTHPO-zhen-v0", range(4))
>>> axes = plots.incumbent(runs.to_frame())
"""

import importlib
from typing import Any

_PLACES = {"configurations": ("importance", "parallel_coordinates"), "runs": ("ecdf", "incumbent", "pareto", "ranking")}

__all__ = ["ecdf", "importance", "incumbent", "parallel_coordinates", "pareto", "ranking"]


def __getattr__(name: str) -> Any:
    """Imports a picture's module where it is asked for."""
    for module, names in _PLACES.items():
        if name in names:
            return getattr(importlib.import_module(f"{__name__}.{module}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

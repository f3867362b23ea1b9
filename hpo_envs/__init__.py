"""Gymnasium environments for hyperparameter optimisation, architecture search and model selection in NLP.

Importing this package registers the ids; `hpo-envs list` shows them. Nothing is read from disk until an environment
is made.
"""

import importlib
from typing import Any

from hpo_envs.families.registry import SPECS, register_all

__all__ = ["SPECS", "Objective", "__version__", "load", "register_all", "tune"]

_LAZY = {
    "__version__": "hpo_envs.tables.VERSION",
    "load": "hpo_envs.tuning.load",
    "Objective": "hpo_envs.tuning.objective.Objective",
    "tune": "hpo_envs.tuning.tune",
}
"""Lazy imports: name -> attribute of a module."""


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module, _, attribute = _LAZY[name].rpartition(".")
    return getattr(importlib.import_module(module), attribute)


register_all()

"""Gymnasium environments for hyperparameter optimisation, architecture search and model selection in NLP.

Importing this package registers the ids; `hpo-envs list` shows them. Nothing is read from disk until an environment
is made.
"""

import importlib
from typing import Any

from hpo_envs.families.registry import SPECS, register_all
from hpo_envs.tables import VERSION as __version__

__all__ = ["SPECS", "__version__", "load", "objective", "register_all", "tune"]

_LATER = {"load": "hpo_envs.tuning", "objective": "hpo_envs.tuning.objective", "tune": "hpo_envs.tuning"}
"""Lazy imports: name -> module."""


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_LATER[name]), name)


register_all()

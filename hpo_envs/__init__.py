"""Gymnasium environments for hyperparameter optimisation, architecture search and model selection in NLP.

Importing this package registers the ids, most of which `hpo-envs list` shows; it opens no table and imports no plugin.
The ids and the names in `__all__` are the stable interface; everything else may change.
"""

import importlib
from typing import Any

from hpo_envs.families.registry import SPECS, register_all

__all__ = [
    "SPECS", "Agent", "Comparison", "Family", "Objective", "Problem", "Search", "Table", "__version__", "load", "run",
    "tune",
]  # fmt: skip

_LAZY = {
    "Agent": "hpo_envs.agents.Agent",
    "Comparison": "hpo_envs.benchmarks.Comparison",
    "Family": "hpo_envs.core.family.Family",
    "Objective": "hpo_envs.tuning.objective.Objective",
    "Problem": "hpo_envs.agents.Problem",
    "Search": "hpo_envs.tuning.search.Search",
    "Table": "hpo_envs.tables.table.Table",
    "__version__": "hpo_envs.tables.VERSION",
    "load": "hpo_envs.tuning.load",
    "run": "hpo_envs.benchmarks.run",
    "tune": "hpo_envs.tuning.tune",
}
"""Lazy imports: public name -> module and attribute."""


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module, _, attribute = _LAZY[name].rpartition(".")
    return getattr(importlib.import_module(module), attribute)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


register_all()

"""Tables of the user's own: from a CSV file, a DataFrame or an Optuna study, kept as a file each, found by name."""

import importlib
from typing import TYPE_CHECKING, Any

from hpo_envs.tables.user.saved import EXAMPLE, PREFIX, exists, folder, load, names, remember, renamed, save

if TYPE_CHECKING:
    from hpo_envs.tables.user.optuna_reader import from_study
    from hpo_envs.tables.user.reader import from_csv, from_frame

__all__ = [
    "EXAMPLE",
    "PREFIX",
    "exists",
    "folder",
    "from_csv",
    "from_frame",
    "from_study",
    "load",
    "names",
    "remember",
    "renamed",
    "save",
]

# Every look-up of a table passes here, few read a file: the readers are imported when one is asked for.
_READERS = {"from_csv": "reader", "from_frame": "reader", "from_study": "optuna_reader"}


def __getattr__(name: str) -> Any:
    if name not in _READERS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_READERS[name]}"), name)

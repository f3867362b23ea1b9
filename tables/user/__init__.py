"""Tables of the user's own: from a CSV file, a DataFrame or an Optuna study, kept as a file each, found by name."""

from hpo_envs.tables.user.keep import EXAMPLE, PREFIX, exists, folder, load, names, remember, renamed, save
from hpo_envs.tables.user.sheet import from_csv, from_frame
from hpo_envs.tables.user.study import from_study

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
